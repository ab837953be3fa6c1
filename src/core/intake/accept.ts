import type { QueuedMessage } from '../model/lanes.ts';
import type { NotificationContent, NotificationRow, RetryRecord } from '../model/notification.ts';
import { MAX_DELAY_MS, messageFor, newRunId, queuedFor, type Routing } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { type Clock, epochMs } from '../model/time.ts';
import { messageDue, secondsUntil, stateAfter } from './failed-send.ts';
import { type NewNotification, newNotification } from './new-row.ts';
import type { NotificationRequest } from './notification-request.ts';
import { Problem } from './problem.ts';
import { type PublicState, publicState } from './public-state.ts';
import { scheduleFault } from './schedule-rule.ts';

/** How long a key is remembered: retry-and-idempotency-design.md §2. */
export const KEY_LIFETIME_MS = 72 * 3_600_000;

/** The first use of a key outlives what its later uses need of it, however late DynamoDB deletes. */
const ANCHOR_LIFETIME_MS = 2 * KEY_LIFETIME_MS;

/** A request that has not stored its row for so long has died: whoever asks again completes it. */
export const IN_FLIGHT_MS = 5_000;

/** What the content's item tells of the request that brought it: the idempotency record (design: docs/decisions/0051). */
export interface IntakeRecord {
  readonly log_id: string;
  readonly request_hash: string;
  /** ISO-8601 UTC with milliseconds. */
  readonly accepted_at: string;
  /** The answer's `status`, which a repeat gets again whatever became of the notification meanwhile. */
  readonly accepted_status: PublicState;
  /** Which request put it, so that one whose answer got lost on the way knows its own again; absent before there was it. */
  readonly accepted_by?: string;
  /** On the first use of a key only: how often it was used anew, after 72 hours each. */
  readonly latest_generation?: number;
  /** TTL, epoch seconds. */
  readonly expires_at: number;
}

export interface ReservedContent {
  readonly record: IntakeRecord;
  readonly tenant_id: string;
  readonly content: NotificationContent;
}

/** A row that is there, as far as it shows whether its message went out. */
export type StoredRow = Routing & Pick<NotificationRow, 'send_status' | 'last_attempt' | 'work_queue' | 'work_at'>;

/** NotificationContent and NotificationLog, as the intake needs them. */
export interface IntakeStore {
  /** Stores the content if the log_id is free; gives the record that is there if it is not. */
  reserve(entry: ReservedContent, now: Date): Promise<IntakeRecord | undefined>;
  find(log_id: string): Promise<IntakeRecord | undefined>;
  /** Turns a key's first record to its next generation; harmless when another request did. */
  advance(log_id: string, from_generation: number, expires_at: number): Promise<void>;
  /** Stores the row, with the recipient's hash, if there is none; gives the one that is there if there is. */
  putRow(row: NotificationRow, recipient: string, now: Date): Promise<StoredRow | undefined>;
  findRow(log_id: string): Promise<StoredRow | undefined>;
}

/** One request of one producer. */
export interface IntakeRequest {
  readonly tenant_id: string;
  readonly notification: NotificationRequest;
  /** SHA-256 of the canonical request. */
  readonly request_hash: string;
  /** The log_id that tenant, endpoint and key stand for. @param generation from 0 */
  readonly logId: (generation: number) => string;
}

export interface IntakeDeps {
  readonly store: IntakeStore;
  readonly records: { put(record: RetryRecord): Promise<void> };
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  /** A fresh id, for each request and for the run of each message. */
  readonly newId: () => string;
}

export interface Acceptance {
  readonly log_id: string;
  readonly status: PublicState;
  /** The key was used for the same request before. */
  readonly repeat: boolean;
  /** For the lane; without it a sweep sends the notification. */
  readonly message?: QueuedMessage;
}

/**
 * Takes one notification in, once for a key (retry-and-idempotency-design.md §2). The content is put first: it is lock
 * and record at once. Then the row, complete in one write. A request that dies in between is completed by the next one
 * with the same key, under the same log_id; one that dies after the row has lost nothing, for the row is due, and the
 * next one with the same key sends its message (docs/decisions/0066).
 * @throws Problem
 */
export async function accept(request: IntakeRequest, deps: IntakeDeps): Promise<Acceptance> {
  const now = deps.clock();
  const fault = scheduleFault(request.notification, now, deps.policy);
  const { record, created } = fault ? await earlier(request, deps, now) : await reserve(request, deps, now);
  if (record === undefined) {
    throw new Problem('invalid-request', 'The notification can no longer be scheduled so.', {
      errors: fault ? [fault] : [],
    });
  }
  if (record.request_hash !== request.request_hash) {
    throw new Problem(
      'idempotency-key-reused',
      'This Idempotency-Key was used for another request within the last 72 hours: give each notification its own key.',
    );
  }
  if (!created) {
    const row = await deps.store.findRow(record.log_id);
    const left = epochMs(record.accepted_at) + IN_FLIGHT_MS - deps.clock().getTime();
    if (row !== undefined) return repeatOf(record, row, left, deps);
    if (left > 0) {
      throw new Problem(
        'request-in-progress',
        'The first request with this Idempotency-Key is still being worked on.',
        {
          retry_after_seconds: Math.ceil(left / 1000),
        },
      );
    }
  }
  return complete(request, record, !created, deps);
}

/**
 * The first answer again. A row that nobody has touched since it was put waits for a message that may never have been
 * sent, if its request died; where one was, the second finds nothing left to claim.
 * @param left milliseconds for which the first request may still be about to send it
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

/** The key's record that is still valid; else a new one, which this request has then put. */
async function reserve(request: IntakeRequest, { store, policy, newId }: IntakeDeps, now: Date) {
  // It lies in every content: so short, it still tells apart who asks with one key at the same time.
  const accepted_by = newId().slice(0, 8);
  const put = async (generation: number) => {
    const log_id = request.logId(generation);
    const { row, content, failed } = newNotification(log_id, request.tenant_id, request.notification, now, policy);
    const record: IntakeRecord = {
      log_id,
      request_hash: request.request_hash,
      accepted_at: now.toISOString(),
      accepted_status: acceptedStatus(row, failed, now),
      accepted_by,
      expires_at: row.expires_at,
    };
    const { tenant_id } = request;
    const found = await store.reserve({ record, tenant_id, content }, now);
    return { record: found ?? record, created: found === undefined || found.accepted_by === accepted_by };
  };
  const first = await put(0);
  let generation = first.record.latest_generation ?? 0;
  let current = generation === 0 ? first : await put(generation);
  while (!current.created && isOver(current.record, now)) {
    const needed = Math.ceil((now.getTime() + ANCHOR_LIFETIME_MS) / 1000);
    const expires_at = Math.max(first.record.expires_at, needed);
    await store.advance(first.record.log_id, generation, expires_at);
    generation += 1;
    current = await put(generation);
  }
  return current;
}

/** The key's record that is still valid, for a request that could not be taken in as a new one. */
async function earlier(request: IntakeRequest, { store }: IntakeDeps, now: Date) {
  const first = await store.find(request.logId(0));
  const generation = first?.latest_generation ?? 0;
  const record = generation === 0 ? first : await store.find(request.logId(generation));
  const valid = record !== undefined && !isOver(record, now);
  return { record: valid ? record : undefined, created: false };
}

function isOver({ accepted_at }: IntakeRecord, now: Date): boolean {
  return epochMs(accepted_at) + KEY_LIFETIME_MS <= now.getTime();
}

function acceptedStatus(row: NotificationRow, failed: NewNotification['failed'], now: Date): PublicState {
  return failed === undefined ? publicState(row, now) : stateAfter(failed);
}

/** Everything after the content: from the record's own time, so that two who do it do the same. */
async function complete(
  { tenant_id, notification }: IntakeRequest,
  { log_id, accepted_at, accepted_status }: IntakeRecord,
  repeat: boolean,
  { store, records, policy, clock, newId }: IntakeDeps,
): Promise<Acceptance> {
  const planned = newNotification(log_id, tenant_id, notification, new Date(accepted_at), policy);
  const { content, failed } = planned;
  const due = dueFromNow(planned.row, clock());
  const sends = failed === undefined || messageDue(failed, due) !== undefined;
  const row = { ...due, ...(sends && due.work_at && queuedFor(due.work_at, clock())) };
  if (failed !== undefined) await records.put(failed.record);
  const there = await store.putRow(row, content.recipient, clock());
  // Whoever put another row sends its message, and that row may have moved on since.
  const ours = there === undefined || isSame(there, row);
  const message = ours && sends && row.work_at ? laneMessage(row, row.work_at, newId(), clock()) : undefined;
  return { log_id, status: accepted_status, repeat, ...(message && { message }) };
}

/** A put whose answer gets lost is made anew by the SDK, and then meets the row that it put itself. */
function isSame(there: StoredRow, put: StoredRow): boolean {
  return (['send_status', 'last_attempt', 'work_at'] as const).every((name) => there[name] === put[name]);
}

/** Completed late, it must not enter the work index in a past that the sweeps are done with. */
function dueFromNow(row: NewNotification['row'], now: Date): NewNotification['row'] {
  const work_at = now.toISOString();
  if (row.work_queue === undefined || row.work_at === undefined || row.work_at >= work_at) return row;
  return { ...row, work_at, ...(row.next_retry_at !== undefined && { next_retry_at: work_at }) };
}

/**
 * SQS delays by 15 minutes at most; what is due later is the sweep's.
 * @param id fresh: a second message of the same run, after the death of the notification, counts as a redrive
 */
export function laneMessage(row: Routing, due: string, id: string, now: Date): QueuedMessage | undefined {
  const delay_seconds = secondsUntil(due, now);
  if (delay_seconds * 1000 > MAX_DELAY_MS) return undefined;
  return { message: messageFor(row, due, newRunId('intake', id)), delay_seconds };
}
