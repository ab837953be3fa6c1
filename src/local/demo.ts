import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pc from 'picocolors';
import { readReport, stillWaiting } from './demo-report.ts';
import { describeDemo } from './demo-summary.ts';
import { SAMPLE_COUNT } from './first-run.ts';
import { PROJECT_ROOT } from './paths.ts';
import { pinnedNode } from './processes/pinned-node.ts';
import { putSamples } from './put-samples.ts';
import { type LocalRuntime, startLocalRuntime } from './runtime.ts';
import { untilSignal } from './signals.ts';
import { showError, showStep } from './terminal.ts';

/** So short that the retries after the first are over within the time that one watches a demo: on AWS it is five minutes. */
const BASE_INTERVAL_SECONDS = 0.5;
const WATCH_RETRIES_MS = 60_000;

const USAGE = `Usage: npm start -- [--keep|--exit]

  --keep   stay up after the summary until Ctrl-C; the default on a terminal
  --exit   stop after the summary; the default elsewhere
`;

/** `npm start`: the local runtime with sample failures, one run of the job, and what became of them (design §8). */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { keep: { type: 'boolean' }, exit: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help === true) {
    process.stdout.write(USAGE);
    return 0;
  }
  const signal = untilSignal();
  const runtime = await startLocalRuntime({
    baseIntervalSeconds: BASE_INTERVAL_SECONDS,
    // The demo is one sweep: another one at half past would be confusing.
    schedule: 'off',
    onProgress: showStep,
  });
  const broken = runtime.broken.then((why) => Promise.reject(new Error(why)));
  try {
    const code = await Promise.race([signal, broken, demonstrate(runtime)]);
    const keep = values.keep ?? (values.exit !== true && process.stdout.isTTY);
    if (code !== undefined || !keep) return code ?? 0;
    showStep('everything stays up; stop it with Ctrl-C');
    await Promise.race([signal, broken]);
    return 0;
  } finally {
    await runtime.stop();
  }
}

/** @returns an exit code when there is nothing to show; undefined when all went well */
async function demonstrate(runtime: LocalRuntime): Promise<number | undefined> {
  await putSamples(runtime.endpoints, SAMPLE_COUNT);
  showStep(`${SAMPLE_COUNT} failed notifications in NotificationLog, as the sender BATCH-951 leaves them`);
  await runtime.caughtUp(30_000);
  showStep('npm run batch:notification-retry -- --local --wait');
  const code = await runJob();
  if (code !== 0) return code;
  await watchRetries(runtime);
  const report = await readReport(runtime.endpoints);
  process.stdout.write(`\n${describeDemo(report, runtime.endpoints, pc)}`);
  return undefined;
}

/** The command itself, in a process of its own, as an operator starts it. */
function runJob(): Promise<number> {
  const command = ['--import', 'tsx', join(PROJECT_ROOT, 'src', 'batch', 'notification-retry.ts'), '--local', '--wait'];
  const child = spawn(pinnedNode(), command, { cwd: PROJECT_ROOT, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

async function watchRetries({ endpoints }: LocalRuntime): Promise<void> {
  const end = Date.now() + WATCH_RETRIES_MS;
  let shown: number | undefined;
  while (Date.now() < end) {
    const waiting = stillWaiting(await readReport(endpoints));
    if (waiting !== shown) showStep(`${waiting} wait for their next retry`);
    shown = waiting;
    if (waiting === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  showError(error);
  process.exitCode = 1;
}
process.exit();
