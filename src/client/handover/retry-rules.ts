import type { Problem } from './notification.ts';

/** What an answer means for what was asked. */
export type HandoverOutcome =
  | { readonly state: 'accepted'; readonly log_id: string; readonly repeat: boolean }
  | { readonly state: 'refused'; readonly problem: Problem }
  | Later;

/** Neither taken nor refused: it is asked again, or spooled. Status 0 is no answer at all. */
export interface Later {
  readonly state: 'later';
  /** Whether asking again within seconds may help. */
  readonly again: boolean;
  readonly reason: string;
  readonly status: number;
  /** `Retry-After`, in milliseconds. */
  readonly wait?: number;
  /** It was not even asked: no attempt was made. */
  readonly unasked?: true;
}

const PROBLEM = 'urn:notification-retry:problem:';

/** Asked again: retry-and-idempotency-design.md §3. No answer (0) and 5xx are, too. */
const PASSING = new Set([0, 408, 429]);
/** The key: an operator puts it right, and the notification must still be there then. */
const OPERATORS = new Set([401, 403]);
/** The same, unless the API says that there is no such notification: a wrong URL. */
const WRONG_URL = new Set([404, 405]);

/** Judges an answer that is not an acceptance. */
export function outcomeOfAnswer(status: number, json: unknown, wait?: number): HandoverOutcome {
  const problem = problemOf(status, json);
  const ours = problem.type.startsWith(PROBLEM);
  const name = ours ? problem.type.slice(PROBLEM.length) : undefined;
  const later = (again: boolean, reason: string): Later => ({
    state: 'later',
    again,
    reason: name ?? reason,
    status,
    ...(wait !== undefined && { wait }),
  });
  if (PASSING.has(status) || status >= 500) return later(true, `status ${status}`);
  if (OPERATORS.has(status)) return later(false, `status ${status}`);
  if (WRONG_URL.has(status) && name !== 'not-found') return later(false, `status ${status}: is the API's URL right?`);
  if (name === 'request-in-progress') return later(false, name);
  if (status >= 400) return { state: 'refused', problem };
  return later(false, `unexpected answer ${status}`);
}

/** No answer: the name did not resolve, the connection failed, or it took too long. */
export function unanswered(code: string): Later {
  return { state: 'later', again: true, reason: `no answer (${code})`, status: 0 };
}

/** Whether a smaller batch may go through: one item fails on the API's side, or it is too much for the line. */
export function isForTheBatch(verdict: HandoverOutcome): boolean {
  return (
    verdict.state === 'later' &&
    (verdict.status >= 500 || verdict.status === 408 || verdict.reason === TIMED_OUT.reason)
  );
}

const TIMED_OUT = unanswered('timeout');

/** What was not asked, and why not. */
export function unasked(reason: string): Later {
  return { state: 'later', again: false, reason, status: 0, unasked: true };
}

/** Whether the API is not there for anybody: no answer, or 5xx. */
export function isAway(verdict: HandoverOutcome): boolean {
  return verdict.state === 'later' && (verdict.status === 0 || verdict.status >= 500);
}

/**
 * Milliseconds to wait before the next attempt: 1 s, 2 s, 4 s …, ±10 % (retry-and-idempotency-design.md §3).
 * @param attempt made so far, from 1
 * @param random 0…1
 */
export function backoff(attempt: number, random: number): number {
  return 1_000 * 2 ** (attempt - 1) * (0.9 + 0.2 * random);
}

/** Reads `Retry-After` (RFC 9110 §10.2.3), in milliseconds from now; undefined when it asks for no wait. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
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
