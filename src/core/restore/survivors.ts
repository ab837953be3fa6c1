import type { FallbackRouting } from '../delivery/failover.ts';
import { limitOf } from '../delivery/verdict.ts';
import { asArrived } from '../delivery-events/delivery-event.ts';
import type { IndexShards } from '../model/index-shards.ts';
import {
  arrived,
  type DeliveryByAttempt,
  EVIDENCE,
  type NotificationRow,
  type RetryRecord,
} from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import type { Operation } from '../operator/operations/operation.ts';

/** What operators did to a notification since the time of the copy, by the audit log or an operation that is stored. */
export interface OperatorAct {
  readonly what: 'cancel' | 'give_up' | 'retry' | 'redrive';
  readonly at: string;
  readonly until: string;
  /** It was done to all that it names. Otherwise some were refused, or its process crashed: nobody knows which. */
  readonly certain: boolean;
  /** Whom it names: notifications, those with a letter of a channel, or those that a bulk operation matched. */
  readonly of:
    | { readonly log_ids: readonly string[] }
    | { readonly channels: readonly string[] }
    | { readonly operation: Operation };
}

export interface SurvivingContent {
  readonly erased_at?: string;
  readonly life?: number;
  /** Copied from the restored table: it says nothing of the time since. */
  readonly is_copy: boolean;
  readonly fallback?: FallbackRouting;
}

export interface Survivors {
  readonly records: readonly RetryRecord[];
  readonly content?: SurvivingContent | undefined;
  /** Of the notification that may continue it; `row`: the deployed or the restored table has it. */
  readonly successor?: { readonly row?: NotificationRow | undefined; readonly survivors: Survivors } | undefined;
}

export interface RestoreTerms {
  readonly restored_to: string;
  readonly clocks_apart_ms: number;
  readonly now: Date;
  readonly policy: RetryPolicy;
  readonly shards: IndexShards;
  readonly random: () => number;
  readonly acts: readonly OperatorAct[];
  /** The deployed table has all records: what has none has had no attempt. */
  readonly records_survived: boolean;
  readonly forgotten: ReadonlySet<string>;
}

/** What the records of a notification say beyond a copy of its row from before them. */
export interface Recorded {
  /** Of the life of the row, in the order of the attempts. */
  readonly all: readonly RetryRecord[];
  readonly newer: readonly RetryRecord[];
  /** The last word: of the newest attempt, or what an event has made of the one that the row knows. */
  readonly newest?: RetryRecord;
  /** Of the newest attempt that was delivered, unless the row knows that it came back. */
  readonly proof?: RetryRecord;
}

/**
 * Content and records under the log_id of a row that was not taken in when it was copied. Its writer may have put it anew:
 * then they are of its former life, and would send former words, or say that they arrived.
 * @returns `former` also where nobody has tried the row: it may be taken in anew
 */
export function lifeOfSurvivors({ content, records }: Survivors, terms: RestoreTerms): 'this' | 'former' | 'unsure' {
  if (content?.erased_at !== undefined) return 'this';
  const life = content?.life ?? 0;
  const copied = epochMs(terms.restored_to);
  const its = records.filter(({ retry_attempt }) => retry_attempt >= life);
  const times = its.map(({ retry_at, retry_attempt }) => ({ retry_attempt, after_ms: epochMs(retry_at) - copied }));
  const isTriedSince = times.some(({ after_ms }) => after_ms > terms.clocks_apart_ms);
  // Attempt 0 may be its writer's own.
  const before = times.filter(({ retry_attempt, after_ms }) => retry_attempt > 0 && after_ms <= terms.clocks_apart_ms);
  const isCopy = content?.is_copy === true;
  if (before.some(({ after_ms }) => after_ms < -terms.clocks_apart_ms))
    return isCopy && (isTriedSince || !terms.records_survived) ? 'unsure' : 'former';
  if (before.length > 0) return 'unsure';
  return life > 0 || isTriedSince || !terms.records_survived ? 'this' : 'former';
}

export function recordedOf(row: NotificationRow, records: readonly RetryRecord[]): Recorded {
  const all = records
    .filter(({ retry_attempt }) => retry_attempt >= (row.life ?? 0))
    .sort((a, b) => a.retry_attempt - b.retry_attempt);
  const known = row.send_status === 'SENDING' ? row.last_attempt - 1 : row.last_attempt;
  const newer = all.filter(({ retry_attempt }) => retry_attempt > known);
  const newest = newer.at(-1) ?? all.find((record) => record.retry_attempt === known && isChangedSince(record, row));
  const proof = all.filter((one) => one.retry_status === 'SUCCESS' && !hasComeBack(one, row)).at(-1);
  return { all, newer, ...(newest && { newest }), ...(proof && { proof }) };
}

/** The record as events have changed it since, by the row. */
export function asShown(record: RetryRecord, row: NotificationRow): RetryRecord {
  const shown = row.delivery_by_attempt?.[record.retry_attempt];
  if (shown === undefined || knownSince(record, row) >= 0) return record;
  if (arrived({ [record.retry_attempt]: shown })) return asArrived(record, shown);
  const last = record.retry_attempt === row.last_attempt ? row.error_type : undefined;
  const error_type = last ?? record.error_type ?? 'UNKNOWN';
  return { ...record, retry_status: 'FAILED', evidence: shown, error_type };
}

/** An event has changed the record since. */
const isChangedSince = (record: RetryRecord, row: NotificationRow): boolean => knownSince(record, row) > 0;

/** An event has reached the row, and not the record yet. */
function hasComeBack(record: RetryRecord, row: NotificationRow): boolean {
  const known = row.delivery_by_attempt?.[record.retry_attempt];
  return (known === 'bounced' || known === 'soft_bounced') && knownSince(record, row) < 0;
}

/** Above zero where the record knows more of its attempt than the row, below it where an event has reached the row alone. */
function knownSince({ retry_attempt, evidence }: RetryRecord, row: NotificationRow): number {
  const [recorded, known] = [evidence, row.delivery_by_attempt?.[retry_attempt]].map((one) => {
    return one === undefined ? -1 : EVIDENCE.indexOf(one);
  });
  return Math.sign((recorded ?? -1) - (known ?? -1));
}

/** The row with the attempts that it does not know: their numbers, its budget, and what events have shown of them. */
export function withAttempts(row: NotificationRow, { all, newer }: Recorded, policy: RetryPolicy): NotificationRow {
  let next = row.send_status === 'SENDING' && newer.length > 0 ? withoutClaim(row) : row;
  let has_ended = row.failure_reason !== undefined;
  for (const record of newer) {
    // A redrive, and whatever else continues what had been given up, begins a budget of its own, once.
    const hasBegun = row.send_status === 'SENDING' && !has_ended && record.retry_attempt === row.last_attempt;
    if (!hasBegun && (has_ended || record.trigger === 'redrive')) next = anew(next, record, policy);
    has_ended = record.failure_reason !== undefined;
    next = counted(next, record);
  }
  const told = all.flatMap((one) =>
    one.evidence && knownSince(one, row) > 0 ? [[one.retry_attempt, one.evidence]] : [],
  );
  const shown: DeliveryByAttempt = { ...row.delivery_by_attempt, ...Object.fromEntries(told) };
  if (Object.keys(shown).length === 0) return next;
  const { delivered_at: _, ...rest } = next;
  const proof = all.find(({ evidence }) => evidence === 'delivered' || evidence === 'seen')?.retry_at;
  const delivered_at = arrived(shown) ? (row.delivered_at ?? proof) : undefined;
  return { ...rest, delivery_by_attempt: shown, ...(delivered_at !== undefined && { delivered_at }) };
}

/** The claim at the time of the copy counted its attempt, which has a record since. */
function withoutClaim(row: NotificationRow): NotificationRow {
  const counts = row.send_attempts > 0 ? 1 : 0;
  const send_attempts = row.send_attempts - counts;
  return { ...row, last_attempt: row.last_attempt - 1, send_attempts, attempts_left: row.attempts_left + counts };
}

function anew(row: NotificationRow, { retry_at, trigger }: RetryRecord, policy: RetryPolicy): NotificationRow {
  const redrive_count = (row.redrive_count ?? 0) + (trigger === 'redrive' ? 1 : 0);
  const budget = { send_attempts: 0, attempts_left: limitOf(row, policy) + 1, first_attempt_at: retry_at };
  return { ...row, ...budget, ...(redrive_count > 0 && { redrive_count }) };
}

function counted(row: NotificationRow, record: RetryRecord): NotificationRow {
  const counts = record.uncounted === true || record.retry_status === 'SKIPPED' ? 0 : 1;
  const send_attempts = row.send_attempts + counts;
  return {
    ...row,
    last_attempt: record.retry_attempt,
    send_attempts,
    attempts_left: Math.max(0, row.attempts_left - counts),
    retry_count: Math.max(0, send_attempts - 1),
    first_attempt_at: row.first_attempt_at ?? record.retry_at,
  };
}
