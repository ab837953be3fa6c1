import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { BatchNotification, FailedAttempt, Notification, Problem, Result } from './notification.ts';
import { PROBLEM_TYPE } from './retry-rules.ts';

/** What is sent and spooled: a notification, or the failure of one that the API already has. */
export type Item = {
  readonly idempotency_key: string;
  /** Why the API refused the item; only in data/failed. */
  readonly problem?: Problem;
} & (
  | { readonly kind: 'notification'; readonly body: Notification }
  | { readonly kind: 'failure'; readonly log_id: string; readonly body: FailedAttempt }
);

type Refusal = Extract<Result, { readonly state: 'refused' }>;

/** @throws TypeError if the notification is no object that JSON can say, or the key is not valid. */
export function notificationItem(given: BatchNotification, idempotencyKey?: string): Item {
  if (typeof given !== 'object' || given === null) throw new TypeError('The notification is not an object.');
  const { idempotency_key, ...content } = given;
  const body: Notification = plain(content);
  // The producer's own failed attempt and its trace differ from run to run, but the notification is the same.
  const { failed_attempt: _, traceparent: __, ...identifying } = body;
  const key = idempotencyKey ?? idempotency_key;
  return { idempotency_key: key === undefined ? keyOf(identifying) : checkedKey(key), kind: 'notification', body };
}

/** One of many: what is wrong with it is its own result, as when the API finds it, and stops no other. */
export function itemOrRefusal(given: BatchNotification): Item | Refusal {
  try {
    return notificationItem(given);
  } catch (error) {
    const problem = {
      type: `${PROBLEM_TYPE}invalid-request`,
      title: 'The request breaks rules of the API',
      status: 400,
    };
    const detail = error instanceof Error ? error.message : 'The notification cannot be read.';
    return { state: 'refused', problem: { ...problem, detail } };
  }
}

/**
 * The report of a failed attempt. It states when the attempt was made, by default now, so that the API recognises the
 * same report when it is sent again.
 * @throws TypeError if the failure is not JSON, or the log_id is empty.
 */
export function failureItem(log_id: string, failure: FailedAttempt, now: Date): Item {
  if (log_id === '') throw new TypeError('The log_id of the notification that failed is missing.');
  const body: FailedAttempt = plain({ ...failure, attempted_at: failure.attempted_at ?? now.toISOString() });
  return { idempotency_key: keyOf({ log_id, failure: body }), kind: 'failure', log_id, body };
}

/** A key that the API takes: 1–128 visible ASCII characters. */
const KEY = /^[!-~]{1,128}$/;

/**
 * The key of a content is the SHA-256 of its canonical JSON (RFC 8785). The same content has the same key in every
 * process, in any order of its members (retry-and-idempotency-design.md §2).
 */
function keyOf(content: object): string {
  // The version at the start lets the derivation change: no old key can then stand for another content.
  return `c1-${createHash('sha256').update(canonical(content)).digest('base64url')}`;
}

/** @throws TypeError if the content is not JSON; its message shows none of it */
function plain<T extends object>(content: T): T {
  const text = canonical(content);
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError('The notification cannot be written as JSON: it contains a function.');
  }
}

/** @throws TypeError if the content is not JSON: a cycle, NaN, half a surrogate pair. */
function canonical(content: object): string {
  try {
    return canonicalize(content) ?? '';
  } catch (cause) {
    throw new TypeError(`The notification cannot be written as JSON: ${(cause as Error).message}.`, { cause });
  }
}

/** @throws TypeError if the key is not valid. */
function checkedKey(key: string): string {
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new TypeError('An idempotency key must be 1 to 128 visible ASCII characters, without spaces.');
  }
  return key;
}
