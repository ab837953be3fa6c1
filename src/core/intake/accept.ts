import { CHANNELS } from '../model/channels.ts';
import { type FieldFault, Problem, unavailable } from '../model/problem.ts';
import {
  messageFor,
  newRunId,
  type QueuedMessage,
  queuedFor,
  queuedUntil,
  type Routing,
} from '../model/queue-message.ts';
import { epochMs } from '../model/time.ts';
import { messageDue } from './failed-send.ts';
import { findKey, reserveKey } from './idempotency-key.ts';
import { type NewNotification, newNotification } from './new-row.ts';
import { type IntakeRequest, scheduleFault } from './notification-request.ts';
import type { IntakeDeps, IntakeRecord, StoredRow } from './ports.ts';
import type { PublicState } from './public-state.ts';

/** A request that has not stored its row within this time, in ms, has crashed. The next request completes it. */
export const IN_FLIGHT_MS = 5_000;

export interface Acceptance {
  readonly log_id: string;
  readonly status: PublicState;
  /** The key was used for the same request before. */
  readonly repeat: boolean;
  /** For the lane. Absent when a sweep is to send the notification. */
  readonly message?: QueuedMessage;
}

/** A row of a channel that the stage does not have would never be sent. */
function channelFault(
  { channel, fallback }: IntakeRequest['notification'],
  { channels = CHANNELS }: IntakeDeps,
): FieldFault | undefined {
  const message = `must be one of ${channels.join(', ')}, which this stage has`;
  if (!channels.includes(channel)) return { path: 'channel', rule: 'channels', message };
  if (fallback === undefined || channels.includes(fallback.channel)) return undefined;
  return { path: 'fallback.channel', rule: 'channels', message };
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
  const fault = channelFault(request.notification, deps) ?? scheduleFault(request.notification, now, deps.policy);
  const use = fault ? await findKey(request, deps, now) : await reserveKey(request, deps, now);
  if (use === undefined) {
    const why =
      fault?.rule === 'channels'
        ? 'This stage does not deliver on the channel of the notification.'
        : 'The notification cannot be scheduled at this time.';
    throw new Problem('invalid-request', why, { errors: fault ? [fault] : [] });
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
    // Its recipient was erased before it had a row: as after the end of any other notification, nothing is sent.
    if (record.erased_at !== undefined) return { log_id: record.log_id, status: record.accepted_status, repeat: true };
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
  const put = accepted_status === 'retrying' || accepted_status === 'failed' ? 0 : -1;
  const message = left <= 0 ? missedMessage(row, put, newId(), clock()) : undefined;
  return { log_id, status: accepted_status, repeat: true, ...(message && { message }) };
}

/**
 * The message of a row that has had no attempt since, whose request may have died before it sent one.
 * @param put the number of the newest attempt that the request knew of
 */
export function missedMessage(row: StoredRow, put: number, id: string, now: Date): QueuedMessage | undefined {
  const { send_status, last_attempt, work_queue, work_at } = row;
  const ended = send_status === 'SUCCESS' || send_status === 'FAILED' || work_queue === undefined;
  return ended || last_attempt > put || !work_at ? undefined : laneMessage(row, work_at, id, now);
}

/**
 * Does everything after the content. It starts from the record's time, so that two requests that do it write the same.
 */
async function complete(
  { tenant_id, notification }: IntakeRequest,
  { log_id, accepted_at, accepted_status, traceparent }: IntakeRecord,
  repeat: boolean,
  { store, records, policy, clock, newId, shards }: IntakeDeps,
): Promise<Acceptance> {
  const identity = { log_id, tenant_id, accepted_at: new Date(accepted_at) };
  const { traceparent: _, ...same } = notification;
  const request = { ...same, ...(traceparent && { traceparent }) };
  const planned = newNotification(identity, request, policy, await shards());
  const { content, failed } = planned;
  const due = dueFromNow(planned.row, clock());
  const sends = failed === undefined || messageDue(failed, due.work_at) !== undefined;
  const row = { ...due, ...(sends && due.work_at && queuedFor(due.work_at, due, clock())) };
  if (failed !== undefined) await records.putIfAbsent(failed.record);
  const stored = await store.putRow(row, content.recipient, clock());
  // When the answer of a put gets lost, the SDK repeats the put and finds the row that it put itself. The request that put
  // another row sends its message, and that row may have moved on since.
  const isSame = (name: 'send_status' | 'last_attempt' | 'work_at') => stored?.[name] === row[name];
  const ours = stored === undefined || (['send_status', 'last_attempt', 'work_at'] as const).every(isSame);
  const message = ours && sends && row.work_at ? laneMessage(row, row.work_at, newId(), clock()) : undefined;
  return { log_id, status: accepted_status, repeat, ...(message && { message }) };
}

/** A row that is completed late must not enter the work index at a past time that the sweeps have already covered. */
function dueFromNow(row: NewNotification['row'], now: Date): NewNotification['row'] {
  const work_at = now.toISOString();
  if (row.work_queue === undefined || row.work_at === undefined || row.work_at >= work_at) return row;
  return { ...row, work_at, ...(row.next_retry_at !== undefined && { next_retry_at: work_at }) };
}

/** An item of a batch that passed validation. */
export interface BatchItem extends IntakeRequest {
  /** Items with the same key stand for the same notification. */
  readonly idempotency_key: string;
}

export interface BatchDeps extends IntakeDeps {
  /** Sends a message to its lane. Never rejects: a message that cannot be sent now is left to a sweep. */
  readonly send: (message: QueuedMessage) => Promise<void>;
  /** Called once with the errors of the items that failed on our side, if there are any. */
  readonly onFaults: (errors: readonly Error[]) => void;
}

/**
 * Accepts the items of a batch, each on its own: a bad item stops no other item, and the message of an item does not
 * wait for items that storage delays. Items with different keys run concurrently. Items with the same key run one after
 * the other, so that the second one is a repeat and not a request in progress.
 * @param items in the order of the request; an Error stands for an item that could not be read
 * @returns one outcome per item, in the same order
 * @throws Problem unavailable, when every item failed on our side
 */
export async function acceptBatch(
  items: readonly (BatchItem | Error)[],
  deps: BatchDeps,
): Promise<readonly (Acceptance | Problem)[]> {
  const outcomes: (Acceptance | Problem)[] = [];
  const faults: Error[] = [];
  const toProblem = (error: unknown): Problem => {
    if (error instanceof Problem) return error;
    faults.push(error instanceof Error ? error : new Error(String(error)));
    return unavailable();
  };
  const byKey = Map.groupBy(items.entries(), ([index, item]) => (item instanceof Error ? index : item.idempotency_key));
  await Promise.all(
    [...byKey.values()].map(async (same) => {
      for (const [index, item] of same) {
        outcomes[index] = item instanceof Error ? toProblem(item) : await acceptItem(item, deps).catch(toProblem);
      }
    }),
  );
  if (faults.length > 0) deps.onFaults(faults);
  if (faults.length > 0 && faults.length === outcomes.length) throw unavailable();
  return outcomes;
}

async function acceptItem(item: BatchItem, deps: BatchDeps): Promise<Acceptance> {
  const acceptance = await accept(item, deps);
  if (acceptance.message !== undefined) await deps.send(acceptance.message);
  return acceptance;
}

/**
 * The message that the intake sends to the lane; undefined: a sweep sends it.
 * @param id must be new: a second message of the same run, sent after the notification died, counts as a redrive
 */
export function laneMessage(row: Routing, due: string, id: string, now: Date): QueuedMessage | undefined {
  return queuedUntil(messageFor(row, due, newRunId('intake', id)), now);
}
