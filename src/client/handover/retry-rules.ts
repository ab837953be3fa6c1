import type { Problem } from './notification.ts';

/** What an answer of the API means for one item. */
export type HandoverOutcome =
  | { readonly state: 'accepted'; readonly log_id: string; readonly repeat: boolean }
  | { readonly state: 'refused'; readonly problem: Problem }
  | Postponed;

/** The API has neither accepted nor refused the item: it is sent again, or spooled. */
export interface Postponed {
  readonly state: 'postponed';
  /** Whether another attempt within seconds may succeed. */
  readonly retryable: boolean;
  /** Whether a smaller batch may succeed: one item makes the API fail, or the batch takes too long to send. */
  readonly splittable: boolean;
  readonly reason: string;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
  /** No attempt was made. */
  readonly notAttempted?: true;
}

const PROBLEM = 'urn:notification-retry:problem:';

/** Besides 5xx and no answer at all: retry-and-idempotency-design.md §3. */
const RETRYABLE_STATUSES = new Set([0, 408, 429]);
/** The API key is wrong. An operator corrects it, and until then the notification must not be lost. */
const KEY_STATUSES = new Set([401, 403]);
/** The URL is wrong, unless the API itself answers that the notification does not exist. */
const URL_STATUSES = new Set([404, 405]);

/** Classifies an answer other than an acceptance. */
export function outcomeOfAnswer(status: number, json: unknown, retryAfterMs?: number): HandoverOutcome {
  const problem = problemOf(status, json);
  const name = problem.type.startsWith(PROBLEM) ? problem.type.slice(PROBLEM.length) : undefined;
  const postponed = (retryable: boolean, reason: string): Postponed => ({
    state: 'postponed',
    retryable,
    splittable: status >= 500 || status === 408,
    reason: name ?? reason,
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
  if (RETRYABLE_STATUSES.has(status) || status >= 500) return postponed(true, `status ${status}`);
  if (KEY_STATUSES.has(status)) return postponed(false, `status ${status}`);
  if (URL_STATUSES.has(status) && name !== 'not-found') {
    return postponed(false, `status ${status}: is the API's URL right?`);
  }
  if (name === 'request-in-progress') return postponed(false, name);
  if (status >= 400) return { state: 'refused', problem };
  return postponed(false, `unexpected answer ${status}`);
}

/** The code of a request that the API did not answer in time. */
export const TIMEOUT = 'timeout';

/** @param code why there is no answer: the name did not resolve, the connection failed, or TIMEOUT */
export function noAnswer(code: string): Postponed {
  const reason = `no answer (${code})`;
  return { state: 'postponed', retryable: true, splittable: code === TIMEOUT, reason, status: 0 };
}

/** @param reason why the client made no attempt */
export function notAttempted(reason: string): Postponed {
  return { state: 'postponed', retryable: false, splittable: false, reason, status: 0, notAttempted: true };
}

/** Whether the API fails for every client: no answer, or 5xx. */
export function isApiDown(outcome: HandoverOutcome): boolean {
  return outcome.state === 'postponed' && (outcome.status === 0 || outcome.status >= 500);
}

/**
 * Milliseconds to wait before the next attempt: 1 s, 2 s, 4 s …, ±10 % (retry-and-idempotency-design.md §3).
 * @param attempt number of the attempt before, from 1
 * @param random 0…1
 */
export function backoff(attempt: number, random: number): number {
  return 1_000 * 2 ** (attempt - 1) * (0.9 + 0.2 * random);
}

/** Reads `Retry-After` (RFC 9110 §10.2.3), in milliseconds from now; undefined if no wait is needed. */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (!header) return undefined;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime();
  return ms > 0 ? ms : undefined;
}

function problemOf(status: number, json: unknown): Problem {
  const given = typeof json === 'object' && json !== null ? (json as Partial<Problem>) : {};
  const { type = 'about:blank', title = `The API answered ${status}`, detail, errors } = given;
  return {
    type: String(type),
    title: String(title),
    status,
    ...(typeof detail === 'string' && { detail }),
    ...(Array.isArray(errors) && { errors }),
  };
}
