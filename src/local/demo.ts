import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { read, UsageError } from '../terminal/command-line.ts';
import { watchForInterruption } from '../terminal/interruption.ts';
import { processTerminal } from '../terminal/terminal.ts';
import { publishSampleNewsletter } from './demo/demo-newsletter.ts';
import { describeDemo, lettersUnderWay, readReport, stillWaiting } from './demo/demo-summary.ts';
import { pinnedNode } from './processes/start-child.ts';
import { PROJECT_ROOT } from './runtime/directories.ts';
import { showError, showStep } from './runtime/output.ts';
import type { LocalRuntime } from './runtime/runtime.ts';
import { STOP_CODES, startUnlessStopped } from './runtime/start-unless-stopped.ts';
import { putSamples, SAMPLE_COUNT } from './samples/first-run.ts';

/** Short, so that all retries end while the user watches the demo. On AWS it is five minutes. */
const BASE_INTERVAL_SECONDS = 0.5;
const WATCH_RETRIES_MS = 60_000;
/** Longest wait for the job's last output. */
const LAST_OUTPUT_MS = 5_000;

const USAGE = `Usage: npm start -- [--keep|--exit]

  --keep   stay up after the summary until Ctrl-C; the default on a terminal
  --exit   stop after the summary; the default elsewhere
`;

/** `npm start`: starts the local runtime with sample failures, runs the job once and shows the outcome. */
async function main(): Promise<number> {
  const values = read(process.argv.slice(2), {
    keep: { type: 'boolean' },
    exit: { type: 'boolean' },
    help: { type: 'boolean' },
  });
  if (values.help === true) {
    process.stdout.write(USAGE);
    return 0;
  }
  const { requested: signal } = watchForInterruption(STOP_CODES);
  const runtime = await startUnlessStopped(
    {
      baseIntervalSeconds: BASE_INTERVAL_SECONDS,
      // The demo is one sweep. A second one at minute 30 would confuse the user.
      schedule: 'off',
      onProgress: showStep,
    },
    signal,
  );
  if (typeof runtime === 'number') return runtime;
  const stop = new AbortController();
  void signal.then(() => stop.abort());
  const broken = runtime.broken.then((why) => Promise.reject(new Error(why)));
  const demonstration = demonstrate(runtime, stop.signal);
  try {
    const code = await Promise.race([signal, broken, demonstration]);
    const keep = values.keep ?? (values.exit !== true && process.stdout.isTTY);
    if (code === undefined && !keep && values.exit !== true)
      showStep('no terminal: with --keep everything would stay up');
    if (code !== undefined || !keep) return code ?? 0;
    showStep('everything stays up; stop it with Ctrl-C');
    await Promise.race([signal, broken]);
    return 0;
  } finally {
    showStep('stopping');
    stop.abort();
    // Lets the job print what it did so far. Errors that the stop causes are not shown.
    await Promise.race([demonstration.catch(() => {}), setTimeout(LAST_OUTPUT_MS, undefined, { ref: false })]);
    await runtime.stop();
    showStep('stopped');
  }
}

/** @returns undefined on success, else the exit code of the job */
async function demonstrate(runtime: LocalRuntime, signal: AbortSignal): Promise<number | undefined> {
  await putSamples(runtime.endpoints, SAMPLE_COUNT);
  signal.throwIfAborted();
  showStep(`${SAMPLE_COUNT} failed notifications in NotificationLog, as the sender BATCH-951 leaves them`);
  const newsletter = await publishSampleNewsletter();
  signal.throwIfAborted();
  showStep(`a newsletter published to ${newsletter.members} members`);
  await newsletter.follow('sent', showStep, signal);
  await runtime.caughtUp(30_000);
  signal.throwIfAborted();
  showStep(`backoff begins at ${BASE_INTERVAL_SECONDS} s for this demo; on AWS at 5 minutes, and it doubles`);
  showStep('npm run batch:notification-retry -- --local --wait');
  const code = await runJob(signal);
  if (code !== 0) return code;
  const [told] = await Promise.all([newsletter.follow('told', showStep, signal), watchRetries(runtime, signal)]);
  newsletter.close();
  const report = { ...(await readReport(runtime.endpoints)), newsletter: told };
  signal.throwIfAborted();
  const terminal = processTerminal();
  const width = Math.max(80, process.stdout.columns ?? 100);
  terminal.print(`\n${describeDemo(report, runtime.endpoints, terminal.colors, width)}`);
  return undefined;
}

/** Runs the job as an operator does, as a command in its own process. */
function runJob(signal: AbortSignal): Promise<number> {
  const command = [join(PROJECT_ROOT, 'src', 'batch', 'notification-retry.ts'), '--local', '--wait'];
  const child = spawn(pinnedNode(), command, {
    cwd: PROJECT_ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    // In its own process group Ctrl-C does not reach the job, so it is interrupted only once: by this process.
    detached: true,
  });
  const interrupt = () => child.kill('SIGINT');
  signal.addEventListener('abort', interrupt, { once: true });
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  }).finally(() => signal.removeEventListener('abort', interrupt));
}

async function watchRetries({ endpoints }: LocalRuntime, signal: AbortSignal): Promise<void> {
  const end = Date.now() + WATCH_RETRIES_MS;
  let isShown = false;
  while (Date.now() < end) {
    const report = await readReport(endpoints);
    const waiting = stillWaiting(report);
    if (waiting > 0 && !isShown)
      showStep(`${waiting} still wait for their next retry: at most a minute, as backoff is shrunk`);
    isShown = true;
    if (waiting === 0 && lettersUnderWay(report) === 0) return showStep('each is delivered, stopped or dead');
    await setTimeout(1_000, undefined, { signal });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  showError(error);
  process.exitCode = error instanceof UsageError ? error.exitCode : 1;
}
process.exit();
