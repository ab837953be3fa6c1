import type { QueuedMessage } from '../model/lanes.ts';
import { Problem } from '../model/problem.ts';
import { queuedFor } from '../model/queue-message.ts';
import { epochMs } from '../model/time.ts';
import { messageDue } from './failed-send.ts';
import { findKey, reserveKey } from './idempotency-key.ts';
import { laneMessage } from './lane-message.ts';
import { type NewNotification, newNotification } from './new-row.ts';
import type { IntakeRequest } from './notification-request.ts';
import type { IntakeDeps, IntakeRecord, StoredRow } from './ports.ts';
import type { PublicState } from './public-state.ts';
import { scheduleFault } from './schedule-rule.ts';

/** A request that has not stored its row after so many milliseconds has died. The next request completes it. */
export const IN_FLIGHT_MS = 5_000;

export interface Acceptance {
  readonly log_id: string;
  readonly status: PublicState;
  /** The key was used for the same request before. */
  readonly repeat: boolean;
  /** For the lane. Absent when a sweep is to send the notification. */
  readonly message?: QueuedMessage;
}

/**
 * Accepts one notification, once per idempotency key (retry-and-idempotency-design.md §2). The content is put first: it
 * is both the lock and the idempotency record. Then the complete row is put in one write. If a request dies in between,
 * the next request with the same key completes it under the same log_id. If a request dies after the row, nothing is
 * lost: the row is due, and the next request with the same key sends its message
 * (docs/decisions/intake/idempotency.md#0066).
 * @throws Problem
 */
export async function accept(request: IntakeRequest, deps: IntakeDeps): Promise<Acceptance> {
  const now = deps.clock();
  const fault = scheduleFault(request.notification, now, deps.policy);
  const use = fault ? await findKey(request, deps, now) : await reserveKey(request, deps, now);
  if (use === undefined) {
    throw new Problem('invalid-request', 'The notification cannot be scheduled at this time.', {
      errors: fault ? [fault] : [],
    });
  }
  const { record, created } = use;
  if (record.request_hash !== request.request_hash) {
    throw new Problem(
      'idempotency-key-reused',
      'This Idempotency-Key was used for another request in the last 72 hours. Use a new key for each notification.',
    );
  }
  if (!created) {
    const row = await deps.store.findRow(record.log_id);
    const left = epochMs(record.accepted_at) + IN_FLIGHT_MS - deps.clock().getTime();
    if (row !== undefined) return repeatOf(record, row, left, deps);
    if (left > 0) {
      throw new Problem('request-in-progress', 'The first request with this Idempotency-Key is still in progress.', {
        retry_after_seconds: Math.ceil(left / 1000),
      });
    }
  }
  return complete(request, record, !created, deps);
}

/**
 * Gives the first answer again. If nothing has changed the row since it was put, its request may have died before it
 * sent the message, so the message is sent again. Where the first message was sent, the second one finds nothing to
 * claim.
 * @param left milliseconds during which the first request may still send the message
 */
function repeatOf(
  { log_id, accepted_status }: IntakeRecord,
  row: StoredRow,
  left: number,
  { newId, clock }: IntakeDeps,
): Acceptance {
  const untouched = row.send_status === 'PENDING' && row.last_attempt < 0 && row.work_queue !== undefined;
  const message = untouched && left <= 0 && row.work_at ? laneMessage(row, row.work_at, newId(), clock()) : undefined;
  return { log_id, status: accepted_status, repeat: true, ...(message && { message }) };
}

/**
 * Does everything after the content. It starts from the record's time, so that two requests that do it write the same.
 */
async function complete(
  { tenant_id, notification }: IntakeRequest,
  { log_id, accepted_at, accepted_status }: IntakeRecord,
  repeat: boolean,
  { store, records, policy, clock, newId, shards }: IntakeDeps,
): Promise<Acceptance> {
  const identity = { log_id, tenant_id, accepted_at: new Date(accepted_at) };
  const planned = newNotification(identity, notification, policy, await shards());
  const { content, failed } = planned;
  const due = dueFromNow(planned.row, clock());
  const sends = failed === undefined || messageDue(failed, due) !== undefined;
  const row = { ...due, ...(sends && due.work_at && queuedFor(due.work_at, due.priority, clock())) };
  if (failed !== undefined) await records.putIfAbsent(failed.record);
  const stored = await store.putRow(row, content.recipient, clock());
  // The request that put another row sends its message, and that row may have moved on since.
  const ours = stored === undefined || isSame(stored, row);
  const message = ours && sends && row.work_at ? laneMessage(row, row.work_at, newId(), clock()) : undefined;
  return { log_id, status: accepted_status, repeat, ...(message && { message }) };
}

/** When the answer of a put gets lost, the SDK repeats the put and finds the row that it put itself. */
function isSame(stored: StoredRow, put: StoredRow): boolean {
  return (['send_status', 'last_attempt', 'work_at'] as const).every((name) => stored[name] === put[name]);
}

/** A row that is completed late must not enter the work index at a past time that the sweeps have already covered. */
function dueFromNow(row: NewNotification['row'], now: Date): NewNotification['row'] {
  const work_at = now.toISOString();
  if (row.work_queue === undefined || row.work_at === undefined || row.work_at >= work_at) return row;
  return { ...row, work_at, ...(row.next_retry_at !== undefined && { next_retry_at: work_at }) };
}
