import { join } from 'node:path';
import { type RedriveProgress, RedriveRunningError } from '../../../adapters/sqs/redrive.ts';
import { shellCommand } from '../../../application/contract/choices.ts';
import {
  channelsOf,
  countLetters,
  dropLetters,
  type LetterChoice,
  lettersOf,
  listLetters,
  redriveLetters,
} from '../../../application/letters.ts';
import { type Channel, channelsIn } from '../../../core/model/channels.ts';
import { takePidLock } from '../../../processes/pid-lock.ts';
import { required, value } from '../../../terminal/command.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseRate } from '../../../terminal/option-values.ts';
import { confirm, printList, printResult } from '../../../terminal/output.ts';
import { COLORS } from '../../../terminal/printable.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { ago, fields } from '../../../terminal/table.ts';
import { CHANNEL_OPTION } from '../../session/filter-options.ts';
import { onDeployment, opsCommand, type Session, sayNext } from '../../session/session.ts';

export const addDlqList = onDeployment({
  name: 'list',
  says: 'list the dead letters, their causes, and what a redrive would do with each',
  options: { '--channel <C>': CHANNEL_OPTION, '--limit <N>': value('dead letters per channel', parseCount, 50) },
  help: `
State:
redrive     a redrive starts the notification again with a full budget
stale       the notification has moved on; a redrive drops the message
unreadable  the message is not from this pipeline

SQS counts each look as a receive. The messages are visible again at once.

Examples:
  npm run ops -- dlq list
  npm run ops -- dlq list --channel slack --json`,
  async run(session, { channel, limit }) {
    const channels = channel === undefined ? channelsIn(session.deployment.lane_queues) : [channel];
    // One more shows whether there are more.
    const found = await Promise.all(channels.map((name) => listLetters(name, limit + 1, session)));
    const letters = found.flatMap((one) => one.slice(0, limit));
    const now = session.clock();
    const which = channel === undefined ? 'Every dead-letter queue' : `The dead-letter queue of ${channel}`;
    const none = `${which} is empty: there is nothing to redrive.`;
    const isTable = printList(session, { dead_letters: letters }, letters, none, [
      'channel',
      'log_id',
      ['tenant', 'tenant_id', 'wide'],
      ['priority', 'priority', 'wide'],
      ['queued', ({ sent_at }) => ago(sent_at, now), 'wide'],
      'state',
      ['why', ({ because, failure_reason }) => because ?? failure_reason],
      ['last error', 'error_type'],
    ]);
    if (!isTable) return;
    const longer = channels.filter((_, i) => (found[i]?.length ?? 0) > limit);
    for (const name of longer)
      session.terminal.say(`The queue of ${name} has more: --limit ${limit * 10} lists more.\n`);
    sayNext('Why, and what to do', 'show LOG_ID', session);
  },
});

export const addDlqShow = onDeployment({
  name: 'show',
  says: 'show the dead letters of a notification, what a redrive would do with each, and what to fix first',
  args: { '<LOG_ID>': 'the notification' },
  help: '\nExample:\n  npm run ops -- dlq show NL103',
  async run(session, _, [log_id = '']) {
    const found = await lettersOf(log_id, session);
    printResult(session, found, () => {
      const blocks = found.dead_letters.map((letter) => `${fields(Object.entries(letter))}\n`);
      const toDo = found.remedy === null ? '' : `${COLORS.yellow('What to do')}: ${found.remedy}\n`;
      return `${blocks.join('')}${toDo}`;
    });
  },
});

export const addDlqRedrive = onDeployment({
  name: 'redrive',
  says: 'move the dead letters of a channel back to their lanes; each notification starts again with a full budget',
  options: {
    '--channel <C>': required(CHANNEL_OPTION),
    '--rate <N>': value('messages per second, 1 to 500; by default as fast as SQS can', parseRate),
    '--yes': 'skip the confirmation',
  },
  help: `
Remove the cause first: a notification that fails again is dead again. SQS itself moves the messages, always all of the
queue, and goes on if this command is interrupted. SQS allows one redrive per queue at a time.

Examples:
  npm run ops -- dlq redrive --channel slack
  npm run ops -- dlq redrive --channel email --rate 10 --yes --json`,
  async run(session, { channel, rate, yes }) {
    const { json, terminal, stateDirectory, pause } = session;
    const waiting = await countLetters(channel, session);
    if (waiting === 0) {
      printResult(session, { moved: 0 }, () => '');
      terminal.say(`The dead-letter queue of ${channel} is empty: there is nothing to redrive.\n`);
      return;
    }
    if (!(await confirm(`Redrive about ${letterCount(waiting)} of ${channel}?`, yes, session))) return;
    const progress = showProgress(session);
    try {
      const how = {
        ...(rate !== undefined && { rate }),
        pause,
        onProgress: ({ moved: done, total }: RedriveProgress) => progress.update({ verb: 'moved', done, total }),
        lock: () => lockRedrive(stateDirectory, channel),
      };
      const { moved, unreadable, held } = await session.decide(redriveLetters(channel, how, session));
      progress.end();
      printResult(session, { moved }, () => `${letterCount(moved)} of ${channel} moved to their lanes.\n`);
      if (unreadable > 0) {
        terminal.say(
          `Not from this pipeline, and left in the queue: ${letterCount(unreadable)}. See \`${opsCommand('dlq list', session)}\`, then drop them.\n`,
        );
      }
      if (held > 0)
        terminal.say(
          `Another reader has received ${letterCount(held)}, which stay in the queue. Redrive again in a minute.\n`,
        );
      if (!json) sayNext('What becomes of them', 'status', session);
    } finally {
      progress.end();
    }
  },
});

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

export const addDlqDrop = onDeployment({
  name: 'drop',
  says: 'delete dead letters; their notifications keep row and records, and are no longer dead',
  args: { '[LOG_ID...]': 'the notifications whose dead letters are deleted' },
  options: {
    '--channel <C>': CHANNEL_OPTION,
    '--stale': 'the stale and the unreadable dead letters of the channel (see `dlq list`)',
    '--all': 'all dead letters of the channel',
    '--yes': 'skip the confirmation',
  },
  help: `
A dropped notification stays FAILED with its reason. \`retry\` and \`replay --include-stopped\` can still send it.

Examples:
  npm run ops -- dlq drop NL103
  npm run ops -- dlq drop --channel slack --stale --yes`,
  async run(session, options, log_ids) {
    const choice = await choiceOf(log_ids, options, session);
    const { terminal } = session;
    const what =
      log_ids.length > 0
        ? `the dead letters of ${log_ids.join(', ')}`
        : `${options.stale ? 'the stale' : 'ALL'} dead letters of ${options.channel}`;
    if (!(await confirm(`Drop ${what}? Their rows and records stay.`, options.yes, session))) return;
    const { dropped, missing } = await session.decide(dropLetters(choice, session));
    printResult(session, { dropped }, () => `${letterCount(dropped)} dropped.\n`);
    for (const log_id of missing) {
      terminal.say(`${log_id} has no dead letter: see \`${shellCommand('show', session.local, [], [log_id])}\`.\n`);
    }
    return missing.length > 0 ? EXIT_FAILED : 0;
  },
});

interface DropOptions {
  readonly channel?: Channel;
  readonly stale?: boolean;
  readonly all?: boolean;
}

async function choiceOf(
  log_ids: readonly string[],
  { channel, stale = false, all = false }: DropOptions,
  session: Session,
): Promise<LetterChoice> {
  if (log_ids.length === 0) {
    if (channel !== undefined && stale !== all) return { channels: [channel], log_ids, stale };
    throw new OperatorError('Choose the dead letters: LOG_IDs, or --channel with --stale or --all.', EXIT_USAGE);
  }
  if (channel !== undefined || stale || all) {
    throw new OperatorError('LOG_IDs choose the dead letters: omit --channel, --stale and --all.', EXIT_USAGE);
  }
  return { channels: await channelsOf(log_ids, session), log_ids, stale };
}

function letterCount(letters: number): string {
  return `${letters} dead letter${letters === 1 ? '' : 's'}`;
}
