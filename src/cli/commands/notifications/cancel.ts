import type { Command } from 'commander';
import { createRecordStore } from '../../../adapters/dynamodb/delivery/record-store.ts';
import { newRunId } from '../../../core/model/queue-message.ts';
import { cancel } from '../../../core/operator/cancel.ts';
import { EXIT_FAILED } from '../../../terminal/errors.ts';
import { type CliContext, onDeployment, type Session } from '../../session/session.ts';
import { printResults } from './notification-results.ts';

export function addCancel(program: Command, context: CliContext): void {
  const command = program
    .command('cancel')
    .argument('<LOG_ID...>', 'the notifications')
    .description('end the retries: FAILED with failure_reason CANCELLED; row and records stay')
    .addHelpText(
      'after',
      `
A cancelled notification is no longer dead. Its dead letter stays in the queue, and a redrive of it does nothing.
\`retry\` starts a cancelled notification again.

Example:
  npm run ops -- cancel NL103 NL104`,
    );
  onDeployment(command, context, (session, _, log_ids) => cancelAll(session, log_ids));
}

async function cancelAll(session: Session, log_ids: readonly string[]): Promise<number> {
  const { deployment, dynamodb, rows, clock, json, terminal } = session;
  const records = createRecordStore(dynamodb, deployment.tables.notification_retry_log);
  const results = await cancel(log_ids, newRunId('manual', session.newId()), { rows, records, clock });
  if (json) terminal.print(`${JSON.stringify({ results })}\n`);
  else printResults(results, session);
  return results.every(({ result }) => result === 'cancelled' || result === 'ended') ? 0 : EXIT_FAILED;
}
