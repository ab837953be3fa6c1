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
  /** Whether a smaller batch may succeed: one item makes the API fail, is blocked on the way, or takes too long to send. */
  readonly splittable: boolean;
  readonly reason: string;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
  readonly notAttempted?: true;
}

/** Besides 5xx and no answer at all: retry-and-idempotency-design.md §3. */
const RETRYABLE_STATUSES = new Set([0, 408, 429]);
/** The API key is wrong. An operator corrects it, and until then the notification must not be lost. */
const KEY_STATUSES = new Set([401, 403]);
/** The URL is wrong, unless the API itself answers that the notification does not exist. */
const URL_STATUSES = new Set([404, 405]);
/** It is too large for whatever stands in front of the API, too: for ever, once it is alone in its request. */
const TOO_LARGE = 413;
/** Statuses that concern one item at most, if a firewall or proxy gives them: the key, the URL and the way are others. */
const NOT_OF_AN_ITEM = new Set([401, 404, 405, 407]);

/** An answer other than an acceptance. @param isOfApi the API said it; else a firewall, proxy or gateway may have */
export function outcomeOfAnswer(
  status: number,
  json: unknown,
  retryAfterMs?: number,
  { isOfApi = false } = {},
): HandoverOutcome {
  const problem = problemOf(status, json);
  const name = problemName(problem);
  // That says nothing of whether the API would refuse it.
  const isForeign = !isOfApi && name === undefined && status >= 400 && status < 500;
  const isBlocked = isForeign && !NOT_OF_AN_ITEM.has(status) && !RETRYABLE_STATUSES.has(status);
  const postponed = (retryable: boolean, reason: string): Postponed => ({
    state: 'postponed',
    retryable,
    splittable: status >= 500 || status === 408 || isBlocked,
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
  if (isForeign && status !== TOO_LARGE) return postponed(false, `status ${status}`);
  if (status >= 400) return { state: 'refused', problem };
  return postponed(false, `unexpected answer ${status}`);
}

/** What the types of the API's problems begin with. */
export const PROBLEM_TYPE = 'urn:notification-retry:problem:';

/** The name of a problem of the API. Anybody else may have answered anything, and the name is written in the clear. */
export function problemName(problem: Pick<Problem, 'type'> | undefined): string | undefined {
  return /^urn:notification-retry:problem:([a-z-]{1,60})$/.exec(problem?.type ?? '')?.[1];
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

export function isTimeout(outcome: HandoverOutcome): boolean {
  return outcome.state === 'postponed' && outcome.status === 0 && outcome.splittable;
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

/** Milliseconds. The longest wait by a date that only the clock of this machine can be compared with. */
const LONGEST_BY_CLOCK_MS = 3_600_000;

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3), in milliseconds from now; undefined if no wait is needed. A date is compared
 * with that of the answer: by a clock that is 40 days behind, a minute would be 40 days. Browsers hide that date.
 */
function retryAfterOf(headers: Pick<Headers, 'get'>, now: Date): number | undefined {
  const header = headers.get('retry-after');
  if (!header) return undefined;
  const answered = Date.parse(headers.get('date') ?? '');
  const isBySeconds = /^\s*\d+(\.\d+)?\s*$/.test(header);
  const ms = isBySeconds ? Number(header) * 1_000 : Date.parse(header) - (answered || now.getTime());
  const most = isBySeconds || answered ? ms : LONGEST_BY_CLOCK_MS;
  return ms > 0 ? Math.min(ms, most) : undefined;
}

export interface Answer {
  readonly status: number;
  readonly json: unknown;
  /** The API has answered this idempotency key before. */
  readonly repeat: boolean;
  readonly retryAfterMs?: number;
}

export async function answerOf(response: Response, now: Date): Promise<Answer> {
  const text = await response.text();
  const retryAfterMs = retryAfterOf(response.headers, now);
  return {
    status: response.status,
    json: parsed(text),
    repeat: response.headers.get('idempotent-replayed') === 'true',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** Undefined for what is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is kept of a problem, in characters and in fields: it may be the answer of anybody. */
const LONGEST_TEXT = 1_000;
const MOST_ERRORS = 100;

function problemOf(status: number, json: unknown): Problem {
  const given = typeof json === 'object' && json !== null ? (json as Partial<Problem>) : {};
  const { type = 'about:blank', title = `The API answered ${status}`, detail, errors } = given;
  return {
    type: String(type).slice(0, LONGEST_TEXT),
    title: String(title).slice(0, LONGEST_TEXT),
    status,
    ...(typeof detail === 'string' && { detail: detail.slice(0, LONGEST_TEXT) }),
    ...(Array.isArray(errors) && { errors: errors.slice(0, MOST_ERRORS) }),
  };
}

/**
 * An id as a segment of a path. API Gateway decodes paths twice and splits them in between: an id with one of these
 * characters goes as `~` and its base64url, as no escape of it comes through.
 */
export function pathSegment(id: string): string {
  if (!/[/\\?#%+;~\p{Cc}]|^\.*$/u.test(id)) return encodeURIComponent(id);
  const bytes = String.fromCharCode(...new TextEncoder().encode(id));
  return `~${btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}
