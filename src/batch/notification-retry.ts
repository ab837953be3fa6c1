import { DeploymentNotFoundError } from '../adapters/deployment/deployment.ts';
import { findDeployment } from '../adapters/deployment/find-deployment.ts';
import { showProgress } from '../terminal/progress.ts';
import { processTerminal } from '../terminal/terminal.ts';
import { type Interruption, watchForInterruption } from './interruption.ts';
import { JobUsageError, parseRetryJobOptions, USAGE } from './retry-job/retry-job-options.ts';
import { describeRetryJob } from './retry-job/retry-job-report.ts';
import { runRetryJob } from './retry-job/run-retry-job.ts';

/**
 * BATCH-952 as a command. Exit codes: 0 done, 1 the run failed or SQS refused messages, 2 wrong
 * arguments. An interrupted run prints what it
 * did before it exits with 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP).
 */
async function main(args: readonly string[], interruption: Interruption): Promise<number> {
  const options = parseRetryJobOptions(args);
  if (options === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  const progress = showProgress({ terminal, json: options.json });
  // The bar hides the cursor, so it must end however the process exits.
  process.once('exit', progress.end);
  void interruption.requested.then(() =>
    progress.note('Interrupted: the run ends with what is done so far. Press Ctrl-C again to end at once.'),
  );
  const deployment = await Promise.race([findDeployment(options.local), interruption.requested]);
  if (typeof deployment === 'number') return deployment;
  const { signal } = interruption;
  const { result, refused, failure } = await runRetryJob(options.request, deployment, {
    wait: options.wait,
    progress,
    signal,
  });
  terminal.print(options.json ? `${JSON.stringify(result)}\n` : describeRetryJob(result, terminal.colors));
  await written();
  if (failure !== undefined) {
    progress.note(
      `The outcomes are not known: ${failure}\nNothing is lost: the unsettled notifications go on without this run.`,
    );
  }
  const interrupted = interruption.exitCode();
  if (interrupted !== undefined) {
    progress.note('What was dispatched goes on by itself. The other notifications stay due for the next run.');
  }
  return interrupted ?? (failure === undefined && refused === 0 ? 0 : 1);
}

/** Waits until stdout has taken everything: an interrupted run ends the process. */
function written(): Promise<void> {
  return new Promise((resolve) => {
    process.stdout.write('', () => resolve());
  });
}

const terminal = processTerminal();
const interruption = watchForInterruption();
try {
  process.exitCode = await main(process.argv.slice(2), interruption);
} catch (error) {
  if (error instanceof JobUsageError) {
    terminal.say(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
  } else if (error instanceof DeploymentNotFoundError) {
    terminal.say(`${error.message}\n`);
    process.exitCode = 1;
  } else {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    terminal.say(
      `The run failed: ${reason}\nNothing is lost: notifications that were not dispatched stay due. Run the job again.\n`,
    );
    process.exitCode = interruption.exitCode() ?? 1;
  }
}
// An open request must not keep an interrupted run alive.
if (interruption.exitCode() !== undefined) process.exit();
