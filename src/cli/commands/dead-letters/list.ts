import type { Command } from 'commander';
import { peekLetters } from '../../../adapters/sqs/dead-letters.ts';
import { CHANNELS, type Channel } from '../../../core/model/channels.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { ago, table } from '../../../terminal/table.ts';
import { channelOption } from '../../session/filter-options.ts';
import { type CliContext, onDeployment, type Session, sayNext } from '../../session/session.ts';
import { type ChannelLetter, readChannelLetters } from './channel-letters.ts';

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
  const channels = CHANNELS.filter((name) => channel === undefined || name === channel);
  const letters = (await Promise.all(channels.map((name) => peek(name, limit, session)))).flat();
  const { json, terminal } = session;
  if (json) terminal.print(`${JSON.stringify({ dead_letters: letters })}\n`);
  else if (letters.length > 0) {
    terminal.print(describe(letters, session));
    sayNext('Why, and what to do', 'show LOG_ID', session);
  } else {
    const which = channel === undefined ? 'Every dead-letter queue' : `The dead-letter queue of ${channel}`;
    terminal.say(`${which} is empty: there is nothing to redrive.\n`);
  }
  return 0;
}

async function peek(channel: Channel, limit: number, session: Session): Promise<ChannelLetter[]> {
  const found: ChannelLetter[] = [];
  for await (const letters of peekLetters(session.sqs, session.deployment.dead_letter_queues[channel])) {
    found.push(...(await readChannelLetters(channel, letters, session)));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

function describe(letters: readonly ChannelLetter[], { terminal: { colors }, clock }: Session): string {
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
