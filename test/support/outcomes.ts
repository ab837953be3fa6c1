import { createHash } from 'node:crypto';
import { ENDED_NOTIFICATIONS } from '../../lib/constructs/outcomes/outcome-stream-filters.ts';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import { notificationOutcomes } from '../../src/core/outcomes/notification-outcomes.ts';
import type { Outcome } from '../../src/core/outcomes/outcome.ts';
import { matchesAny } from '../../src/local/emulator/events/event-filter.ts';
import type { JsonObject } from '../../src/local/support/json.ts';

export const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32);
export const CONTEXT = { hash, seen_at: '2026-03-02T00:00:00.000Z' };

const PATTERNS = ENDED_NOTIFICATIONS.map((filter) => JSON.parse(filter['pattern']) as JsonObject);

/** What an image tells, as deployed: by the mapping's filter, then by the function. */
export function toldOf(image: ForeignRow): Outcome[] {
  const NewImage = JSON.parse(JSON.stringify(toItem(image))) as JsonObject;
  const record = { eventName: 'MODIFY', dynamodb: { NewImage } };
  return matchesAny(PATTERNS, record) ? notificationOutcomes(image, CONTEXT) : [];
}

/**
 * How a row stands by the words of the table document, and by nothing of the code: SUCCESS is delivered, FAILED with a
 * reason and without further work is given up.
 */
export function endOf(row: ForeignRow): 'Notification Delivered' | 'Notification Given Up' | undefined {
  const { send_status, failure_reason, work_queue, work_at, updated_by } = row;
  if (send_status === 'SUCCESS') return 'Notification Delivered';
  // Its writer has changed what was set aside: the indexer judges it anew.
  if (work_queue === undefined && work_at === undefined && updated_by !== 'notification-retry') return undefined;
  const waits = typeof work_queue === 'string' && work_queue.startsWith('due#');
  return send_status === 'FAILED' && failure_reason !== undefined && !waits ? 'Notification Given Up' : undefined;
}
