import { join } from 'node:path';
import type { Command } from 'commander';
import { queueCounts } from '../../../adapters/sqs/queue-counts.ts';
import {
  type RedriveOptions,
  type RedriveResult,
  RedriveRunningError,
  redriveByCopy,
  redriveByTask,
} from '../../../adapters/sqs/redrive.ts';
import type { Channel } from '../../../core/model/channels.ts';
import { takePidLock } from '../../../processes/pid-lock.ts';
import { confirm } from '../../../terminal/confirm.ts';
import { parseRate } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { channelOption } from '../../session/filter-options.ts';
import { type CliContext, onDeployment, opsCommand, type Session, sayNext } from '../../session/session.ts';
import { letterCount } from './channel-letters.ts';

interface DlqRedriveOptions {
  readonly channel: Channel;
  readonly rate?: number;
  readonly yes?: boolean;
}

export function addDlqRedrive(program: Command, context: CliContext): void {
  const command = program
    .command('redrive')
    .description(
      'move the dead letters of a channel back to their lanes; each notification starts again with a full budget',
    )
    .addOption(channelOption().makeOptionMandatory())
    .option('--rate <N>', 'messages per second, 1 to 500; by default as fast as SQS can', parseRate)
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
Remove the cause first: a notification that fails again is dead again. SQS itself moves the messages, always all of the
queue, and goes on if this command is interrupted. SQS allows one redrive per queue at a time.

Examples:
  npm run ops -- dlq redrive --channel slack
  npm run ops -- dlq redrive --channel email --rate 10 --yes --json`,
    );
  onDeployment<DlqRedriveOptions>(command, context, redrive);
}

async function redrive(session: Session, options: DlqRedriveOptions): Promise<number> {
  const { channel } = options;
  const { deployment, sqs, json, terminal } = session;
  const { visible, in_flight } = await queueCounts(sqs, deployment.dead_letter_queues[channel]);
  const waiting = visible + in_flight;
  if (waiting === 0) {
    printResult(session, { moved: 0 }, () => '');
    terminal.say(`The dead-letter queue of ${channel} is empty: there is nothing to redrive.\n`);
    return 0;
  }
  if (!(await confirm(`Redrive about ${letterCount(waiting)} of ${channel}?`, options.yes, session))) return 0;
  const progress = showProgress(session);
  try {
    const { moved, unreadable, held } = await move(session, channel, {
      ...(options.rate !== undefined && { rate: options.rate }),
      pause: session.pause,
      onProgress: ({ moved: done, total }) => progress.update({ verb: 'moved', done, total }),
    });
    progress.end();
    printResult(session, { moved }, () => `${letterCount(moved)} of ${channel} moved to their lanes.\n`);
    if (unreadable > 0) {
      terminal.say(
        `Left in the queue, as not from this pipeline: ${letterCount(unreadable)}. See \`${opsCommand('dlq list', session)}\`, then drop them.\n`,
      );
    }
    if (held > 0)
      terminal.say(
        `Left in the queue, as another reader has received them: ${letterCount(held)}. Redrive again in a while.\n`,
      );
    if (!json) sayNext('What becomes of them', 'status', session);
    return 0;
  } finally {
    progress.end();
  }
}

async function move(session: Session, channel: Channel, options: RedriveOptions): Promise<RedriveResult> {
  const { deployment, sqs, local, stateDirectory } = session;
  const url = deployment.dead_letter_queues[channel];
  if (!local) return redriveByTask(sqs, url, options);
  const unlock = lockRedrive(stateDirectory, channel);
  try {
    return await redriveByCopy(sqs, url, deployment.lane_queues, options);
  } finally {
    unlock();
  }
}

/**
 * SQS allows one redrive per queue at a time. This lock does so where we move the messages ourselves.
 * @returns a function that releases the lock
 * @throws RedriveRunningError when another command redrives this channel
 */
function lockRedrive(directory: string, channel: Channel): () => void {
  return takePidLock(
    join(directory, `redrive-${channel}.pid`),
    (pid) =>
      new RedriveRunningError(
        `A redrive of ${channel} is already running (process ${pid ?? 'unknown'}): wait for its end, then redrive again.`,
      ),
  );
}
