import type { Command } from 'commander';
import { peekLetters } from '../../../adapters/sqs/dead-letters.ts';
import { remedyFor } from '../../../core/operator/views/notification-view.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { unknownId } from '../notifications/show.ts';
import { type ChannelLetter, withRows } from './dead-letter-rows.ts';

export function addDlqShow(program: Command, context: CliContext): void {
  const command = program
    .command('show')
    .argument('<LOG_ID>', 'the notification')
    .description("a notification's dead letters, what a redrive would do for each, and what to do before")
    .addHelpText('after', '\nExample:\n  npm run ops -- dlq show NL103');
  onDeployment(command, context, (session, _, [log_id = '']) => show(session, log_id));
}

async function show(session: Session, log_id: string): Promise<number> {
  const row = await session.rows.read(log_id);
  if (row === undefined) throw unknownId(log_id);
  const letters: ChannelLetter[] = [];
  for await (const page of peekLetters(session.sqs, session.deployment.dead_letter_queues[row.channel])) {
    const own = page.filter(({ message }) => message?.log_id === log_id);
    letters.push(...(await withRows(row.channel, own, session)));
  }
  if (letters.length === 0) {
    throw new OperatorError(
      `${log_id} has no dead letter in the queue of ${row.channel}: see where it stands with \`npm run ops -- show ${log_id}\`.`,
    );
  }
  const { json, terminal } = session;
  const remedy = remedyFor({ ...row });
  if (json) terminal.print(`${JSON.stringify({ dead_letters: letters, remedy })}\n`);
  else {
    for (const letter of letters) terminal.print(describe(letter, session));
    if (remedy !== null) terminal.print(`${terminal.colors.yellow('What to do')}: ${remedy}\n`);
  }
  return 0;
}

function describe(letter: ChannelLetter, { terminal: { colors } }: Session): string {
  const entries = Object.entries(letter);
  const width = Math.max(...entries.map(([name]) => name.length));
  return `${entries.map(([name, value]) => `  ${colors.dim(name.padEnd(width))}  ${String(value)}`).join('\n')}\n\n`;
}
