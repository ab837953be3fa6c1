import type { DeployedStack } from './deployed-stack.ts';
import { until } from './until.ts';

/** A row as the table document has it, without a column of ours (docs/reference/handing-over.md). */
export function foreignRow(changes: Readonly<Record<string, string>>): string {
  const columns = {
    tenant_id: 'TENANT001',
    notification_id: 'NOTIF001',
    recipient_type: 'USER',
    subject: 'Your report is ready',
    message_body: 'Hello,\n\nyour report is ready.',
    message_format: 'PLAIN',
    priority_level: 'HIGH',
    send_status: 'FAILED',
    created_at: new Date().toISOString(),
    ...changes,
  };
  const item = Object.entries(columns).map(([name, S]) => [name, { S }]);
  return JSON.stringify({ ...Object.fromEntries(item), send_attempts: { N: '1' } });
}

/** Puts such a row by the AWS CLI, and waits until the indexer has taken it in. */
export async function leaveRow(
  stack: DeployedStack,
  changes: Readonly<Record<string, string>> & { readonly log_id: string },
): Promise<void> {
  const { NotificationLogTable = '' } = await stack.outputs();
  await stack.aws(['dynamodb', 'put-item', '--table-name', NotificationLogTable, '--item', foreignRow(changes)]);
  const { log_id } = changes;
  await until(`${log_id} is indexed`, async () => (await stack.row(log_id))?.['work_queue'] !== undefined);
}
