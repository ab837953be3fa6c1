import { join } from 'node:path';
import type { Command } from 'commander';
import { type RedriveProgress, RedriveRunningError } from '../../../adapters/sqs/redrive.ts';
import { type Channel, channelsIn } from '../../../core/model/channels.ts';
import { shellCommand } from '../../../operator-service/contract/choices.ts';
import {
  type ChannelLetter,
  channelsOf,
  countLetters,
  dropLetters,
  type LetterChoice,
  lettersOf,
  listLetters,
  redriveLetters,
} from '../../../operator-service/letters.ts';
import { takePidLock } from '../../../processes/pid-lock.ts';
import { confirm } from '../../../terminal/confirm.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount, parseRate } from '../../../terminal/option-values.ts';
import { printResult } from '../../../terminal/output.ts';
import { showProgress } from '../../../terminal/progress.ts';
import { ago, fields, table } from '../../../terminal/table.ts';
import { channelOption } from '../../session/filter-options.ts';
import { type CliContext, onDeployment, opsCommand, type Session, sayNext } from '../../session/session.ts';

interface ListOptions {
  readonly channel?: Channel;
  readonly limit: number;
}

export function addDlqList(program: Command, context: CliContext): void {
  const command = program
    .command('list')
    .description('list the dead letters, their causes, and what a redrive would do with each')
    .addOption(channelOption())
    .option('--limit <N>', 'dead letters per channel', parseCount, 50)
    .addHelpText(
      'after',
      `
State:
redrive     a redrive starts the notification again with a full budget
stale       the notification has moved on; a redrive drops the message
unreadable  the message is not from this pipeline

SQS counts each look as a receive. The messages are visible again at once.

Examples:
  npm run ops -- dlq list
  npm run ops -- dlq list --channel slack --json`,
    );
  onDeployment<ListOptions>(command, context, list);
}

async function list(session: Session, { channel, limit }: ListOptions): Promise<number> {
  const channels = channel === undefined ? channelsIn(session.deployment.lane_queues) : [channel];
  // One more shows whether there are more.
  const found = await Promise.all(channels.map((name) => listLetters(name, limit + 1, session)));
  const letters = found.flatMap((one) => one.slice(0, limit));
  const { json, terminal } = session;
  if (json) terminal.print(`${JSON.stringify({ dead_letters: letters })}\n`);
  else if (letters.length > 0) {
    terminal.print(describeLetters(letters, session));
    const longer = channels.filter((_, i) => (found[i]?.length ?? 0) > limit);
    for (const name of longer) terminal.say(`The queue of ${name} has more: --limit ${limit * 10} lists more.\n`);
    sayNext('Why, and what to do', 'show LOG_ID', session);
  } else {
    const which = channel === undefined ? 'Every dead-letter queue' : `The dead-letter queue of ${channel}`;
    terminal.say(`${which} is empty: there is nothing to redrive.\n`);
  }
  return 0;
}

function describeLetters(letters: readonly ChannelLetter[], { terminal: { colors }, clock }: Session): string {
  const now = clock();
  return table<ChannelLetter>(
    [
      { title: 'channel', of: ({ channel }) => channel },
      { title: 'log_id', of: ({ log_id }) => log_id },
      { title: 'tenant', of: ({ tenant_id }) => tenant_id },
      { title: 'priority', of: ({ priority }) => priority },
      { title: 'queued', of: ({ sent_at }) => ago(sent_at, now) },
      { title: 'state', of: ({ state }) => state },
      { title: 'why', of: ({ because, failure_reason }) => because ?? failure_reason },
      { title: 'last error', of: ({ error_type }) => error_type },
    ],
    letters,
    colors,
  );
}

export function addDlqShow(program: Command, context: CliContext): void {
  const command = program
    .command('show')
    .argument('<LOG_ID>', 'the notification')
    .description('show the dead letters of a notification, what a redrive would do with each, and what to do before')
    .addHelpText('after', '\nExample:\n  npm run ops -- dlq show NL103');
  onDeployment(command, context, (session, _, [log_id = '']) => show(session, log_id));
}

async function show(session: Session, log_id: string): Promise<number> {
  const found = await lettersOf(log_id, session);
  const { colors } = session.terminal;
  printResult(session, found, () => {
    const blocks = found.dead_letters.map((letter) => `${fields(Object.entries(letter), colors)}\n`);
    const toDo = found.remedy === null ? '' : `${colors.yellow('What to do')}: ${found.remedy}\n`;
    return `${blocks.join('')}${toDo}`;
  });
  return 0;
}

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
  const { json, terminal, stateDirectory, decide } = session;
  const waiting = await countLetters(channel, session);
  if (waiting === 0) {
    printResult(session, { moved: 0 }, () => '');
    terminal.say(`The dead-letter queue of ${channel} is empty: there is nothing to redrive.\n`);
    return 0;
  }
  if (!(await confirm(`Redrive about ${letterCount(waiting)} of ${channel}?`, options.yes, session))) return 0;
  const progress = showProgress(session);
  try {
    const how = {
      ...(options.rate !== undefined && { rate: options.rate }),
      pause: session.pause,
      onProgress: ({ moved: done, total }: RedriveProgress) => progress.update({ verb: 'moved', done, total }),
      lock: () => lockRedrive(stateDirectory, channel),
    };
    const { moved, unreadable, held } = await redriveLetters(channel, how, session, decide);
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

interface DropOptions {
  readonly channel?: Channel;
  readonly stale?: boolean;
  readonly all?: boolean;
  readonly yes?: boolean;
}

export function addDlqDrop(program: Command, context: CliContext): void {
  const command = program
    .command('drop')
    .argument('[LOG_ID...]', 'the notifications whose dead letters are deleted')
    .description('delete dead letters; their notifications keep row and records, and are no longer dead')
    .addOption(channelOption())
    .option('--stale', 'the stale and the unreadable dead letters of the channel (see `dlq list`)')
    .option('--all', 'all dead letters of the channel')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
A dropped notification stays FAILED with its reason. \`retry\` and \`replay --include-stopped\` can still send it.

Examples:
  npm run ops -- dlq drop NL103
  npm run ops -- dlq drop --channel slack --stale --yes`,
    );
  onDeployment<DropOptions>(command, context, drop);
}

async function drop(session: Session, options: DropOptions, log_ids: readonly string[]): Promise<number> {
  const choice = await choiceOf(log_ids, options, session);
  const { terminal } = session;
  const what =
    log_ids.length > 0
      ? `the dead letters of ${log_ids.join(', ')}`
      : `${options.stale ? 'the stale' : 'ALL'} dead letters of ${options.channel}`;
  if (!(await confirm(`Drop ${what}? Their rows and records stay.`, options.yes, session))) return 0;
  const { dropped, missing } = await dropLetters(choice, session, session.decide);
  printResult(session, { dropped }, () => `${letterCount(dropped)} dropped.\n`);
  for (const log_id of missing) {
    terminal.say(`${log_id} has no dead letter: see \`${shellCommand('show', session.local, [], [log_id])}\`.\n`);
  }
  return missing.length > 0 ? EXIT_FAILED : 0;
}

async function choiceOf(log_ids: readonly string[], options: DropOptions, session: Session): Promise<LetterChoice> {
  const { channel, stale = false, all = false } = options;
  if (log_ids.length === 0) {
    if (channel !== undefined && stale !== all) return { channels: [channel], log_ids, stale };
    throw new OperatorError('Choose the dead letters: LOG_IDs, or --channel with --stale or --all.', EXIT_USAGE);
  }
  if (channel !== undefined || stale || all) {
    throw new OperatorError('LOG_IDs choose the dead letters: omit --channel, --stale and --all.', EXIT_USAGE);
  }
  return { channels: await channelsOf(log_ids, session), log_ids, stale };
}

/** `1 dead letter`, `2 dead letters`. */
function letterCount(letters: number): string {
  return `${letters} dead letter${letters === 1 ? '' : 's'}`;
}
