import { epochMs } from '../model/time.ts';
import { stateAfter } from './failed-send.ts';
import { acceptedRequest, newNotification } from './new-row.ts';
import type { IntakeRequest } from './notification-request.ts';
import type { IntakeDeps, IntakeRecord } from './ports.ts';
import { publicState } from './public-state.ts';

/** How long a key stands for the same notification: retry-and-idempotency-design.md §2. */
export const KEY_LIFETIME_MS = 72 * 3_600_000;

/** Twice as long as a key is valid, so that the first record is still there while a later generation is valid. */
const FIRST_RECORD_LIFETIME_MS = 2 * KEY_LIFETIME_MS;

/** The record that a key stands for now, and whether this very request put it. */
export interface KeyUse {
  readonly record: IntakeRecord;
  readonly created: boolean;
}

/** Returns the key's valid record. If there is none, puts the content of this request and returns its new record. */
export async function reserveKey(
  request: IntakeRequest,
  { store, policy, newId }: IntakeDeps,
  now: Date,
): Promise<KeyUse> {
  // Every content item stores it, so it is short. It still tells apart concurrent requests with the same key.
  const accepted_by = newId().slice(0, 8);
  const put = async (generation: number): Promise<KeyUse> => {
    const { tenant_id, notification, request_hash } = request;
    const log_id = request.logId(generation);
    const { row, content, failed } = newNotification({ log_id, tenant_id, accepted_at: now }, notification, policy);
    const record: IntakeRecord = {
      log_id,
      request_hash,
      accepted_at: now.toISOString(),
      accepted_status: failed === undefined ? publicState(row, now) : stateAfter(failed),
      accepted_by,
      accepted_request: acceptedRequest(notification),
      expires_at: row.expires_at,
      ...(notification.traceparent && { traceparent: notification.traceparent }),
    };
    const found = await store.reserve({ record, tenant_id, content }, now);
    return { record: found ?? record, created: found === undefined || found.accepted_by === accepted_by };
  };
  const first = await put(0);
  let generation = first.record.latest_generation ?? 0;
  let current = generation === 0 ? first : await put(generation);
  while (!current.created && isExpired(current.record, now)) {
    const needed = Math.ceil((now.getTime() + FIRST_RECORD_LIFETIME_MS) / 1000);
    const expires_at = Math.max(first.record.expires_at, needed);
    await store.advance(first.record.log_id, generation, expires_at);
    generation += 1;
    current = await put(generation);
  }
  return current;
}

/** Returns the key's valid record without putting anything, for a request that can only be a repeat. */
export async function findKey(
  request: IntakeRequest,
  { store }: Pick<IntakeDeps, 'store'>,
  now: Date,
): Promise<KeyUse | undefined> {
  const first = await store.find(request.logId(0));
  const generation = first?.latest_generation ?? 0;
  const record = generation === 0 ? first : await store.find(request.logId(generation));
  return record === undefined || isExpired(record, now) ? undefined : { record, created: false };
}

function isExpired({ accepted_at }: IntakeRecord, now: Date): boolean {
  return epochMs(accepted_at) + KEY_LIFETIME_MS <= now.getTime();
}
