import type { NotificationContent, NotificationRow } from '../../src/core/model/notification.ts';
import type { QueueMessage, ReceivedMessage } from '../../src/core/model/queue-message.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';

export const T0 = new Date('2026-03-01T10:30:00.000Z');

export const at = (ms: number): Date => new Date(T0.getTime() + ms);

/** The same as rows store it. */
export const iso = (ms = 0): string => at(ms).toISOString();

/** A row after its first send failed, due now. */
export function dueRow(changes: Partial<NotificationRow> = {}): NotificationRow {
  const log_id = changes.log_id ?? 'log-1';
  const priority = changes.priority ?? 'normal';
  return {
    log_id,
    tenant_id: 'tenant-1',
    channel: 'webhook',
    priority,
    send_status: 'FAILED',
    send_attempts: 1,
    attempts_left: 5,
    retry_count: 0,
    last_attempt: 0,
    first_attempt_at: iso(),
    work_queue: workQueueOf('due', priority, log_id),
    work_at: iso(),
    ...changes,
  };
}

export function messageFor(row: NotificationRow, changes: Partial<QueueMessage> = {}): QueueMessage {
  return {
    version: 1,
    log_id: row.log_id,
    tenant_id: row.tenant_id,
    channel: row.channel,
    priority: row.priority,
    due: row.work_at ?? iso(),
    run_id: 'sweep-1',
    ...changes,
  };
}

export function received(message: QueueMessage, changes: Partial<ReceivedMessage> = {}): ReceivedMessage {
  return { message, message_id: 'message-1', sent_at: T0, receive_count: 1, ...changes };
}

export const CONTENT: NotificationContent = {
  recipient: 'https://example.com/hook',
  subject: '件名',
  body: 'Hello',
  format: 'PLAIN',
};

/** What no run asks but a dry run that lists. */
export const unasked = (): never => {
  throw new Error('only a dry run that lists foresees');
};
