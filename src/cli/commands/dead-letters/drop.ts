import type { Command } from 'commander';
import { deleteLetters, type HeldLetter, peekLetters } from '../../../adapters/sqs/dead-letters.ts';
import { CHANNELS, type Channel } from '../../../core/model/channels.ts';
import { dropDeadLetter } from '../../../core/operator/give-up.ts';
import { requireNotification } from '../../../operator-service/notifications.ts';
import { confirm } from '../../../terminal/confirm.ts';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { channelOption } from '../../session/filter-options.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { letterCount, readChannelLetters } from './channel-letters.ts';

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
  const channels = await channelsOf(log_ids, options, session);
  const { terminal } = session;
  const what =
    log_ids.length > 0
      ? `the dead letters of ${log_ids.join(', ')}`
      : `${options.stale ? 'the stale' : 'ALL'} dead letters of ${options.channel}`;
  if (!(await confirm(`Drop ${what}? Their rows and records stay.`, options.yes, session))) return 0;
  let dropped = 0;
  const found = new Set<string>();
  for (const channel of channels) {
    const url = session.deployment.dead_letter_queues[channel];
    const gone = new Set<string>();
    for await (const letters of peekLetters(session.sqs, url, gone)) {
      const chosen = await choose(channel, letters, log_ids, options, session);
      for (const letter of chosen) {
        await dropDeadLetter(letter, session.rows, session.clock());
        if (letter.message) found.add(letter.message.log_id);
      }
      await deleteLetters(session.sqs, url, chosen);
      for (const { message_id } of chosen) gone.add(message_id);
      dropped += chosen.length;
    }
  }
  printResult(session, { dropped }, () => `${letterCount(dropped)} dropped.\n`);
  const missing = log_ids.filter((log_id) => !found.has(log_id));
  for (const log_id of missing) terminal.say(`${log_id} has no dead letter: see \`npm run ops -- show ${log_id}\`.\n`);
  return missing.length > 0 ? EXIT_FAILED : 0;
}

/** The channels whose dead-letter queues hold the chosen letters. */
async function channelsOf(log_ids: readonly string[], options: DropOptions, session: Session): Promise<Channel[]> {
  const { channel, stale, all } = options;
  if (log_ids.length === 0) {
    if (channel !== undefined && stale !== all) return [channel];
    throw new OperatorError('Choose the dead letters: LOG_IDs, or --channel with --stale or --all.', EXIT_USAGE);
  }
  if (channel !== undefined || stale || all) {
    throw new OperatorError('LOG_IDs choose the dead letters: omit --channel, --stale and --all.', EXIT_USAGE);
  }
  const rows = await Promise.all(log_ids.map((log_id) => requireNotification(log_id, session)));
  const wanted = new Set(rows.map(({ channel: one }) => one));
  return CHANNELS.filter((name) => wanted.has(name));
}

async function choose(
  channel: Channel,
  letters: readonly HeldLetter[],
  log_ids: readonly string[],
  { stale }: DropOptions,
  session: Session,
): Promise<HeldLetter[]> {
  if (log_ids.length > 0) return letters.filter(({ message }) => message && log_ids.includes(message.log_id));
  if (!stale) return [...letters];
  const views = await readChannelLetters(channel, letters, session);
  return letters.filter((_, i) => views[i]?.state !== 'redrive');
}
