import { findDeployment } from '../adapters/deployment/aws-deployment.ts';
import { DeploymentNotFoundError } from '../adapters/deployment/deployment.ts';
import { CHANNELS, PRIORITIES } from '../core/model/channels.ts';
import { OperatorError } from '../terminal/errors.ts';
import { type Interruption, watchForInterruption } from '../terminal/interruption.ts';
import { printResult } from '../terminal/output.ts';
import { COLORS } from '../terminal/printable.ts';
import { showProgress } from '../terminal/progress.ts';
import { processTerminal } from '../terminal/terminal.ts';
import { parseRetryJobOptions, USAGE } from './retry-job/retry-job-options.ts';
import { type RetryJobResult, runRetryJob } from './retry-job/run-retry-job.ts';

/**
 * BATCH-952 as a command. Exit codes: 0 done, 1 the run failed or SQS refused messages, 2 wrong
 * arguments. An interrupted run prints what it
 * did before it exits with 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP).
 */
async function main(args: readonly string[], interruption: Interruption): Promise<number> {
  const options = parseRetryJobOptions(args);
  if (options === 'help') {
    terminal.print(USAGE);
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
  printResult({ terminal, json: options.json }, result, () => describeRetryJob(result));
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
  if (error instanceof OperatorError || error instanceof DeploymentNotFoundError) {
    terminal.say(`${error.message}\n`);
    process.exitCode = error.exitCode;
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

/** The result of the job for people: what was due by channel and priority, and the outcomes. */
function describeRetryJob(result: RetryJobResult): string {
  const lines = [
    `${COLORS.bold('BATCH-952')} ${COLORS.dim(result.run_id)}${result.dry_run ? COLORS.yellow('  dry run: nothing was written or sent') : ''}`,
    '',
    row(
      'channel',
      CHANNELS.map((channel) => [channel, result.by_channel[channel]]),
    ),
    row(
      'priority',
      PRIORITIES.map((priority) => [priority, result.by_priority[priority]]),
    ),
    '',
    row('', [
      ['due', result.due],
      ['dispatched', result.dispatched],
      ['skipped', result.skipped],
      ['queued ahead', result.ahead],
    ]),
  ];
  if (result.targets?.length) lines.push('', ...targetLines(result.targets, result.truncated === true));
  if (result.outcomes) lines.push(row('outcome', Object.entries(result.outcomes), paint));
  return `${lines.join('\n')}\n`;
}

function targetLines(targets: NonNullable<RetryJobResult['targets']>, truncated: boolean): string[] {
  const ids = Math.max(0, ...targets.map(({ log_id }) => log_id.length));
  const each = targets.map(({ log_id, channel, priority, would, why }) => {
    const words = would.replace('_', ' ').padEnd(why === undefined ? 0 : 7);
    const known = `${log_id.padEnd(ids)}   ${channel.padEnd(7)}   ${priority.padEnd(9)}`;
    const painted = would === 'send' ? COLORS.green(words) : COLORS.yellow(words);
    return `  ${known}   ${painted}${why === undefined ? '' : `   ${why}`}`;
  });
  const counts = Object.entries(Object.groupBy(targets, ({ would }) => would)).map(
    ([would, some]) => [would.replace('_', ' '), some?.length ?? 0] as const,
  );
  const more = truncated ? ['  There are more: --limit=N lists up to 10,000.'] : [];
  return [...each, ...more, '', row('listed', counts)];
}

function row(title: string, cells: readonly (readonly [string, number])[], paintName = (name: string) => name): string {
  const text = cells.map(([name, count]) => `${paintName(name)} ${String(count).padStart(5)}`).join('   ');
  return `  ${title.padEnd(9)} ${text}`;
}

/** An outcome by how good it is. */
function paint(name: string): string {
  if (name === 'SUCCESS') return COLORS.green(name);
  return name === 'RETRY' ? COLORS.yellow(name) : COLORS.red(name);
}
