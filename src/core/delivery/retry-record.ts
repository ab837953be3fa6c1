import { policyOf, remedyOf } from '../model/error-types.ts';
import { type NotificationRow, REQUESTED_BY, type RetryRecord, type Trigger } from '../model/notification.ts';
import { originOf, type QueueMessage, type ReceivedMessage, runOf } from '../model/queue-message.ts';
import { clip, jsonObject, roomLeft, rowBytes, utf8Bytes } from '../model/text.ts';
import { parseTime } from '../model/time.ts';
import { traceOf } from '../model/trace.ts';
import type { Attempt } from './attempt.ts';
import type { RecordStore, SendResult } from './ports.ts';
import type { Verdict } from './verdict.ts';

/** Longest text, in characters; the details of a failure take what all texts leave of the write unit. */
const RECORD_TEXT = 120;

const ARRIVED = 'Nothing was sent: an event had shown that an earlier attempt arrived.';

/** Deterministic: a record that is written twice is written once. */
export const retryLogId = (log_id: string, attempt: number): string => `${log_id}#${attempt}`;

/**
 * Whether the stored record is this one: a storage client repeats a put whose answer was lost, and meets its own record.
 */
export function isStored(record: RetryRecord, stored: RetryRecord | undefined): boolean {
  const found: Readonly<Record<string, unknown>> = { ...stored };
  return Object.entries(record).every(([name, value]) => found[name] === value);
}

/** What tells a record from others of its attempt: each of them that replaces another changes one of these. */
export const RECORD_GUARD = ['claim_id', 'retry_at', 'evidence'] as const satisfies readonly (keyof RetryRecord)[];

/**
 * Whether the record is of the row's claim. A number is used once per log_id; rows of an earlier version were numbered
 * anew when their writer put them anew. A send that a producer reports has no claim.
 */
export function isOfClaim({ claim_id = '' }: RetryRecord, { claim_id: claimed = '' }: Pick<RetryRecord, 'claim_id'>) {
  return claim_id === claimed;
}

/** Records an attempt. A record of the same claim stays, as an event may have corrected it. */
export async function recordOnce(record: RetryRecord, records: RecordStore): Promise<void> {
  if (await records.putIfAbsent(record)) return;
  const stored = await records.find(record.original_log_id, record.retry_attempt);
  if (stored !== undefined && !isOfClaim(stored, record)) await records.replace(record, stored);
}

export function recordOf(attempt: Omit<Attempt<'judged'>, 'first_attempt_at' | 'counted'>): RetryRecord {
  const { row, verdict, result } = attempt;
  const failure = verdict.status === 'SUCCESS' ? undefined : verdict;
  const refused = result?.ok === false ? result : undefined;
  const cause = refused?.error_type ?? failure?.error_type;
  const given_up = verdict.status === 'FAILED' ? verdict.failure_reason : undefined;
  const last = { error_type: cause, error_message: refused?.message };
  const record: RetryRecord = {
    retry_log_id: retryLogId(row.log_id, row.last_attempt),
    original_log_id: row.log_id,
    retry_attempt: row.last_attempt,
    tenant_id: row.tenant_id,
    channel: row.channel,
    retry_at: attempt.started.toISOString(),
    retry_status: result === undefined ? 'SKIPPED' : verdict.status === 'SUCCESS' ? 'SUCCESS' : 'FAILED',
    duration_ms: attempt.ended.getTime() - attempt.started.getTime(),
    trigger: attempt.trigger,
    requested_by: attempt.requested_by,
    run_id: runOf(attempt.run_id),
    ...(failure && cause && { error_type: cause, remedy: remedyOf(given_up ?? cause, last, row.channel) }),
    ...(result && answerOf(result)),
    ...(attempt.held_by && { error_details: JSON.stringify(attempt.held_by) }),
    ...(result === undefined && verdict.status === 'SUCCESS' && { response_message: ARRIVED }),
    ...(verdict.status === 'RETRY' && { next_retry_at: verdict.next_retry_at }),
    ...(verdict.status === 'RETRY' && !verdict.counted && { uncounted: true }),
    ...(given_up && { failure_reason: given_up }),
    ...(row.claim_id && { claim_id: row.claim_id }),
    ...traceOfRecord(row, row.last_attempt),
    ...keptAs(row),
  };
  return refused ? { ...record, error_details: detailsThatFit(record, refused.details) } : record;
}

/**
 * The record of an attempt whose worker crashed before it wrote one. Nobody knows whether the provider took the message,
 * so the recipient may get a duplicate (invariant 3).
 * @param ending what became of the attempt; `remark` ends the sentence that begins with the worker's crash
 */
export function recordOfCrash(
  row: NotificationRow,
  ending: Pick<QueueMessage, 'run_id' | 'requested_by'> & {
    readonly now: Date;
    readonly verdict: Verdict;
    readonly remark: string;
  },
): RetryRecord {
  const { run_id, now, verdict, remark } = ending;
  const message = `The worker died before it recorded an outcome; ${remark}.`;
  const result = { ok: false, error_type: 'UNKNOWN', message } as const;
  return recordOf({ row, ...originOf(ending), run_id, started: now, ended: now, result, verdict });
}

/** The ending of an attempt that crashed when an earlier one had arrived: it has no reason to be given up. */
export function crashedAfterArrival(now: Date) {
  const next_retry_at = now.toISOString();
  return {
    verdict: { status: 'RETRY', error_type: 'UNKNOWN', next_retry_at, counted: true },
    remark: 'the provider may or may not have taken the message, and an attempt before it had arrived',
  } as const;
}

function traceOfRecord(row: NotificationRow, attempt: number): Pick<RetryRecord, 'traceparent'> {
  const trace = traceOf(row, attempt);
  return trace === undefined ? {} : { traceparent: trace.traceparent };
}

/** A record is kept as long as its row, which may be older or younger than the attempt. */
export function keptAs({ expires_at }: NotificationRow): Pick<RetryRecord, 'expires_at'> {
  return typeof expires_at === 'number' ? { expires_at } : {};
}

function answerOf(result: SendResult): Partial<RetryRecord> {
  const text = result.ok ? result.response_message : result.message;
  return {
    ...(result.response_code !== undefined && { response_code: clip(result.response_code, 20) }),
    ...(text !== undefined && { response_message: clip(text, RECORD_TEXT) }),
    ...(result.ok && result.provider_message_id && { provider_message_id: clip(result.provider_message_id, 100) }),
  };
}

/** What the store adds: epoch seconds. */
const STORED_TOO = { expires_at: 9_999_999_999 };

/**
 * The provider's whole answer, as far as the write unit that the record needs without it has room; JSON that stays JSON
 * when it is shortened (his-notification-log-table.md: error details are JSON).
 */
function detailsThatFit(record: RetryRecord, details: Readonly<Record<string, unknown>> = {}): string {
  const room = roomLeft(rowBytes({ ...record, ...STORED_TOO, error_details: '' }));
  const whole = JSON.stringify(details);
  let fitting = whole;
  // What is escaped or takes several bytes per character is only known once it is cut.
  for (let length = Math.min(whole.length, room); utf8Bytes(fitting) > room && length > 0; ) {
    fitting = JSON.stringify({ shortened: clip(whole, length) });
    length -= Math.ceil(Math.max(1, (utf8Bytes(fitting) - room) / MOST_BYTES));
  }
  return utf8Bytes(fitting) > room ? '{}' : fitting;
}

/** Of a character of JSON within JSON: an escaped quotation mark takes two bytes more, a character in Japanese three. */
const MOST_BYTES = 4;

const TRIGGERS: readonly unknown[] = ['sweep', 'manual', 'redrive'] satisfies Trigger[];

const DUE = [
  ...['retry_attempt', 'retry_at', 'duration_ms', 'trigger', 'requested_by', 'run_id'],
  ...['response_code', 'response_message', 'provider_message_id', 'claim_id'],
];

/** `record_due` of the row whose accepted attempt the record describes. */
export const recordDue = (record: RetryRecord): string => JSON.stringify(record, DUE);

/** The record that the row owes. Undefined if it owes none, or names none: whoever may write to the table wrote it. */
export function owedRecord(row: NotificationRow): RetryRecord | undefined {
  const { log_id, tenant_id, channel, record_due } = row;
  const due = record_due === undefined ? undefined : jsonObject(record_due);
  if (due === undefined) return undefined;
  const { retry_attempt, retry_at, duration_ms, trigger, run_id } = due;
  const requested_by = REQUESTED_BY.find((known) => known === due['requested_by']);
  const well_formed =
    Number.isSafeInteger(retry_attempt) &&
    typeof retry_at === 'string' &&
    parseTime(retry_at) !== undefined &&
    typeof duration_ms === 'number' &&
    TRIGGERS.includes(trigger) &&
    typeof run_id === 'string';
  if (!well_formed) return undefined;
  return {
    retry_log_id: retryLogId(log_id, Number(retry_attempt)),
    original_log_id: log_id,
    retry_attempt: Number(retry_attempt),
    tenant_id,
    channel,
    retry_at,
    retry_status: 'SUCCESS',
    duration_ms,
    trigger: trigger as Trigger,
    ...(requested_by && { requested_by }),
    run_id,
    ...textsOf(due),
    ...traceOfRecord(row, Number(retry_attempt)),
    ...keptAs(row),
  };
}

const TEXTS = ['response_code', 'response_message', 'provider_message_id', 'claim_id'] as const;

function textsOf(due: Readonly<Record<string, unknown>>): Pick<RetryRecord, (typeof TEXTS)[number]> {
  return Object.fromEntries(TEXTS.flatMap((name) => (typeof due[name] === 'string' ? [[name, due[name]]] : [])));
}

/** An attempt that its worker recorded before it crashed. The message at hand takes the place of the worker's. */
export function recordedAttempt(
  row: NotificationRow,
  record: RetryRecord,
  received: ReceivedMessage,
  now: Date,
): Attempt<'judged'> {
  const started = new Date(record.retry_at);
  return {
    row,
    first_attempt_at: row.first_attempt_at ?? record.retry_at,
    counted: row.send_attempts > 0,
    trigger: record.trigger,
    requested_by: record.requested_by ?? 'schedule',
    run_id: received.message.run_id,
    received,
    started,
    ended: record.retry_status === 'SUCCESS' ? started : now,
    verdict: verdictOf(record),
    ...(record.retry_status !== 'SKIPPED' && { result: resultOf(record) }),
  };
}

/** The provider's answer, as far as the record keeps it. */
export function resultOf({ retry_status, error_type, response_code, response_message }: RetryRecord): SendResult {
  const code = response_code !== undefined && { response_code };
  if (retry_status === 'SUCCESS') return { ok: true, response_code: '', ...code };
  const type =
    error_type === 'MAX_RETRIES' || error_type === 'EXPIRED' || error_type === 'CANCELLED' ? 'UNKNOWN' : error_type;
  return { ok: false, error_type: type ?? 'UNKNOWN', message: response_message ?? '', ...code };
}

function verdictOf(record: RetryRecord): Verdict {
  const error_type = record.error_type ?? 'UNKNOWN';
  if (record.retry_status === 'SUCCESS') return { status: 'SUCCESS' };
  if (record.failure_reason !== undefined) {
    const { dead_letter } = policyOf(record.failure_reason);
    return { status: 'FAILED', error_type, failure_reason: record.failure_reason, dead_letter };
  }
  const { next_retry_at } = record;
  // Skipped because an event showed an arrival, which a later event revoked: no attempt was made.
  const taken_back = record.retry_status === 'SKIPPED' && next_retry_at === undefined;
  const counted = record.uncounted !== true && !taken_back;
  return { status: 'RETRY', error_type, next_retry_at: next_retry_at ?? record.retry_at, counted };
}
