import type { NotificationRow } from '../model/notification.ts';
import type { QueueMessage, RunOptions } from '../model/queue-message.ts';

/** Of a row, what its message names. */
export type Routing = Pick<NotificationRow, 'log_id' | 'tenant_id' | 'channel' | 'priority'>;

/** The lanes' message for a row that is to be attempted as of `due`. */
export function messageFor(
  { log_id, tenant_id, channel, priority }: Routing,
  due: string,
  run_id: string,
  options?: RunOptions,
): QueueMessage {
  return { version: 1, log_id, tenant_id, channel, priority, due, run_id, ...(options && { options }) };
}
