import type { Command } from 'commander';
import { peekLetters } from '../../../adapters/sqs/dead-letters.ts';
import { CHANNELS } from '../../../core/model/channels.ts';
import { remedyFor } from '../../../core/operator/views/notification-view.ts';
import { requireNotification } from '../../../operator-service/notifications.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import { printResult } from '../../../terminal/output.ts';
import { fields } from '../../../terminal/table.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { type ChannelLetter, readChannelLetters } from './channel-letters.ts';

export function addDlqShow(program: Command, context: CliContext): void {
  const command = program
    .command('show')
    .argument('<LOG_ID>', 'the notification')
    .description('show the dead letters of a notification, what a redrive would do with each, and what to do before')
    .addHelpText('after', '\nExample:\n  npm run ops -- dlq show NL103');
  onDeployment(command, context, (session, _, [log_id = '']) => show(session, log_id));
}

async function show(session: Session, log_id: string): Promise<number> {
  const row = await requireNotification(log_id, session);
  const channel = CHANNELS.find((one) => one === row.channel);
  if (channel === undefined) {
    throw new OperatorError(
      `${log_id} has no dead letter: its row is malformed, and names none of ${CHANNELS.join(', ')}.`,
    );
  }
  const letters: ChannelLetter[] = [];
  for await (const page of peekLetters(session.sqs, session.deployment.dead_letter_queues[channel])) {
    const own = page.filter(({ message }) => message?.log_id === log_id);
    letters.push(...(await readChannelLetters(channel, own, session)));
  }
  if (letters.length === 0) {
    throw new OperatorError(
      `${log_id} has no dead letter in the queue of ${channel}: see where it stands with \`npm run ops -- show ${log_id}\`.`,
    );
  }
  const remedy = remedyFor({ ...row });
  printResult(session, { dead_letters: letters, remedy }, () => describe(letters, remedy, session));
  return 0;
}

function describe(letters: readonly ChannelLetter[], remedy: string | null, { terminal }: Session): string {
  const { colors } = terminal;
  const blocks = letters.map((letter) => `${fields(Object.entries(letter), colors)}\n`);
  return `${blocks.join('')}${remedy === null ? '' : `${colors.yellow('What to do')}: ${remedy}\n`}`;
}
