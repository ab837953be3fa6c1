import { toForeignRow } from '../../src/adapters/dynamodb/table/item.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { HOSTILE_VALUES } from './hostile-values.ts';

/** What the ids of hostile rows begin with. */
const HOSTILE = 'hostile-';
/** Columns that a sweep and a worker read of a row in the work index. */
const COLUMNS = [
  ...['tenant_id', 'channel', 'priority', 'send_attempts', 'attempts_left', 'last_attempt', 'send_status'],
  ...['give_up', 'delivery_by_attempt', 'first_attempt_at', 'fallback_channel', 'record_due', 'claim_until'],
];
/** Values that DynamoDB gives a twin as they are. */
const VALUES = Object.keys(HOSTILE_VALUES).filter((name) => !name.includes('400 KB'));

/** How many there are. */
export const HOSTILE_KINDS = COLUMNS.length * VALUES.length;

/**
 * A row that its writer put into the work index itself, with one column that differs from those of a good row. It
 * has no content, so nothing of it may be sent.
 * @param kind below HOSTILE_KINDS
 */
export function hostileRow(kind: number, now: Date): ForeignRow & { readonly log_id: string } {
  const column = COLUMNS[kind % COLUMNS.length] ?? '';
  const value = HOSTILE_VALUES[VALUES[Math.floor(kind / COLUMNS.length)] as keyof typeof HOSTILE_VALUES];
  const log_id = `${HOSTILE}${kind}`;
  return {
    tenant_id: 'tenant-1',
    channel: 'webhook',
    priority: 'normal',
    send_status: 'FAILED',
    send_attempts: 1,
    attempts_left: 3,
    last_attempt: 0,
    work_queue: workQueueOf('due', 'normal', log_id),
    work_at: now.toISOString(),
    ...toForeignRow({ [column]: value }),
    log_id,
  };
}
