import { UsageError } from '../terminal/command-line.ts';
import { watchForInterruption } from '../terminal/interruption.ts';
import { DEFAULT_WORK_DIR, endpointsFile } from './runtime/directories.ts';
import { parseCommand, USAGE } from './runtime/options.ts';
import { showEndpoints, showError, showStep } from './runtime/output.ts';
import type { LocalRuntime } from './runtime/runtime.ts';
import { STOP_CODES, startUnlessStopped } from './runtime/start-unless-stopped.ts';
import { firstRun } from './samples/first-run.ts';

/** `npm run local`: starts everything and runs until Ctrl-C. */
async function main(): Promise<number> {
  const command = parseCommand(process.argv.slice(2));
  if (command.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const { requested: signal } = watchForInterruption(STOP_CODES);
  const { empty, help: _, ...options } = command;
  const runtime = await startUnlessStopped({ ...options, onProgress: showStep, onNotice: showNotice }, signal);
  return typeof runtime === 'number' ? runtime : run(runtime, empty, signal);
}

function showNotice(subject: string): void {
  showStep(`notice: ${subject}; its text is in notices.log of the logs`);
}

async function run(runtime: LocalRuntime, empty: boolean, signal: Promise<number>): Promise<number> {
  showEndpoints(runtime.endpoints, endpointsFile(DEFAULT_WORK_DIR));
  process.stdout.write('ready\n');
  const broken = runtime.broken.then((why) => {
    showError(why);
    return 1;
  });
  let stopping = false;
  if (!empty) {
    firstRun(runtime).catch((error: unknown) => {
      if (!stopping) showError(error);
    });
  }
  const code = await Promise.race([signal, broken]);
  stopping = true;
  showStep('stopping');
  await runtime.stop();
  showStep('stopped');
  return code;
}

try {
  process.exitCode = await main();
} catch (error) {
  showError(error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
// A handle that a component left open must not keep a stopped runtime alive.
process.exit();
