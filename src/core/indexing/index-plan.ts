import { type Channel, LEVEL_OF_PRIORITY, PRIORITIES, priorityOf, providerHost } from '../model/channels.ts';
import { type HistoryKeys, historyKeys } from '../model/history-index.ts';
import { BASE_SHARDS, type IndexShards } from '../model/index-shards.ts';
import {
  arrived,
  type ForeignRow,
  hasContent,
  mayArrive,
  NOTES,
  type NotificationContent,
  type NotificationRow,
  UPDATED_BY,
} from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { OF_AN_END, OF_FORMER_LIFE, OF_FORMER_RECIPIENT } from '../model/row-change.ts';
import { setAside } from '../model/row-state.ts';
import { isGivenUp, parseWorkQueue, workQueueOf } from '../model/work-index.ts';
import { isAbsent, workFaults } from '../model/work-rules.ts';
import { contentFaults, rowFaults } from './row-rules.ts';
import { columnTime, inUtc, isContent, keptFrom, moveContent, workKeys } from './work-keys.ts';

export interface IndexTerms {
  /** Of times without one; UTC unless given. */
  readonly time_zone?: string | undefined;
  /** Over how many partitions new entries are spread. */
  readonly shards?: IndexShards | undefined;
  /** Those of the stage; all unless given. */
  readonly channels?: readonly Channel[] | undefined;
  /** Content of the row is stored: what the row lacks of its content stays as it is. */
  readonly stored?: boolean | undefined;
  /** Number of the first attempt of a life behind older content; absent: nobody knows of any, or there is none. */
  readonly life?: number | undefined;
}

export type IndexPlan =
  | {
      /**
       * `index`: the row needs work. `history`: it is delivered, deleted or given up, so it only becomes findable, and
       * its content is encrypted and expires.
       * `set_aside`: the row is malformed, and FAILED with FORMAT_ERROR until its writer corrects it. `wait`: another
       * program sends it, and nobody knows since when: it gets the time from which that is counted.
       */
      readonly do: 'index' | 'history' | 'set_aside' | 'wait';
      readonly set: ForeignRow;
      /** Columns to remove, because their values are stored encrypted. */
      readonly remove: readonly string[];
      readonly content?: Partial<NotificationContent>;
      /** What the content lacks is kept from what is stored. */
      readonly amends?: true;
      /** `history`: another life begins with the content, should the delivery come back. */
      readonly begins?: true;
      readonly why?: string;
    }
  | { readonly do: 'ignore' };

/** Columns that a writer sets to NULL because they have no value yet, and that the plan does not set itself. */
const NULLABLE = ['sent_at', 'delivered_at', 'opened_at', 'response_code', ...NOTES] as const;

/**
 * Decides on a row that another writer wrote with the source documents' columns. The content always moves out of the
 * row, because the recipient must not stay in the clear (his-notification-log-table.md: 暗号化必須); only faulty content
 * stays, for its writer to correct. A delivered row is never set aside, because SUCCESS is final, and neither is a deleted
 * one, which its writer wants no more.
 */
export function planIndex(
  row: ForeignRow,
  now: Date,
  policy: RetryPolicy,
  { time_zone, shards = BASE_SHARDS, stored = false, channels, life }: IndexTerms = {},
): IndexPlan {
  const { log_id, tenant_id } = row;
  if (typeof log_id !== 'string') return { do: 'ignore' };
  const inline = hasContent(row);
  const deleted = row['is_deleted'] === true;
  const given_up = isGivenUp(row);
  if ((deleted || given_up) && !inline) return { do: 'ignore' };
  if (!inline && row['work_queue'] !== undefined) return planIndexed(row, now, shards);
  if (row['send_status'] === 'SENDING') {
    const since = sendingSince(row, time_zone);
    if (since === undefined) return { do: 'wait', set: { created_at: now.toISOString() }, remove: [] };
    if (now.getTime() - since < SENDING_GRACE_MS) return { do: 'ignore' };
  }
  const lacking = inline ? contentFaults(row) : [];
  const faults = [...rowFaults(row, channels), ...(stored ? [] : lacking)];
  const corrected = given_up && isSetAside(row) && faults.length === 0;
  const ended = deleted || row['send_status'] === 'SUCCESS' || (given_up && !corrected);
  // The history is kept by these two ids, and the recipient is encrypted for them.
  const nameless = faults.some(({ column }) => column === 'tenant_id' || column === 'log_id');
  if (typeof tenant_id !== 'string' || nameless) {
    return ended ? { do: 'ignore' } : { do: 'set_aside', ...setAside(faults, now, row) };
  }
  const taking = { now, policy, time_zone, shards, life };
  const created = columnTime(row, 'created_at', time_zone) ?? now;
  const history = {
    ...historyKeys({ ...row, log_id, tenant_id }, created, {
      kept_from: ended ? created : keptFrom(row, taking),
      shards,
    }),
    ...defaults(row, now),
    ...inUtc(row, time_zone),
  };
  const storable = inline && !faults.some(({ column }) => isContent(column));
  const amends = stored && lacking.length > 0;
  if (ended) return planEnded(row, history, { storable, given_up, amends });
  const moved = storable ? moveContent(row, { notes: true, amends }) : { remove: [] };
  if (faults.length > 0) {
    const { set, why, remove } = setAside(faults, now, row);
    // The other times of the row are rewritten in UTC; a row that is set aside has no next retry.
    const { next_retry_at: _, ...kept } = history as ForeignRow;
    return { do: 'set_aside', why, set: { ...kept, ...set }, ...moved, remove: [...moved.remove, ...remove] };
  }
  const written = { updated_at: now.toISOString(), updated_by: UPDATED_BY };
  const host = hostOf(row, inline);
  const keys = workKeys(row, log_id, taking);
  const isAnothers = life !== undefined && (row['recipient_address'] ?? '') !== '';
  const former = [...(life === undefined ? [] : OF_FORMER_LIFE), ...(isAnothers ? OF_FORMER_RECIPIENT : [])];
  // Also what the image lacks: an event that had read the row before its writer put it may have noted it since.
  const removed: readonly string[] = [...moved.remove, ...former.filter((column) => !(column in keys))];
  // DynamoDB refuses a change that sets and removes the same column.
  const kept = Object.fromEntries(Object.entries(history).filter(([column]) => !removed.includes(column)));
  return {
    do: 'index',
    set: { ...kept, ...keys, ...host.set, ...written },
    ...moved,
    remove: [
      ...removed,
      ...host.remove,
      ...OF_BEFORE.filter((column) => row[column] !== undefined && (column !== 'give_up' || mayArrive(row))),
      // NULL means absent, and takes bytes of the kilobyte that a write unit covers.
      ...NULLABLE.filter((column) => row[column] === null && !removed.includes(column)),
    ],
  };
}

/**
 * What a row that is to be sent again had: why it was given up, or is to be, its letter, and the note of a message for its
 * former time, which within the same second would pass for one of the new time.
 */
const OF_BEFORE: readonly string[] = [...OF_AN_END, 'queued_for'];

/** A writer that has not settled its own attempt within this time has crashed (docs/decisions/delivery/untrusted-rows.md). */
const SENDING_GRACE_MS = 3_600_000;

/**
 * Epoch milliseconds since when someone else may be sending the row; undefined if no column says so. What a worker of
 * ours has is under way for ever: its settlement is the next image, with the content in it.
 */
function sendingSince(row: ForeignRow, time_zone: string | undefined): number | undefined {
  if (row['work_queue'] !== undefined) return Number.POSITIVE_INFINITY;
  const times = SENDING_TIMES.flatMap((column) => columnTime(row, column, time_zone)?.getTime() ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

const SENDING_TIMES = ['updated_at', 'created_at', 'scheduled_at', 'next_retry_at', 'first_attempt_at'] as const;

/** The columns that the table document wants in every row, where their writer left them out. */
function defaults(row: ForeignRow, now: Date): ForeignRow {
  const { is_deleted, created_at, created_by, updated_at, updated_by, priority_level } = row;
  // Not our name: the stream passes what its writer changes later, without a name, only if it is not ours.
  const writer = [updated_by, created_by].find((name) => typeof name === 'string' && name !== '') ?? 'unknown';
  // What its writer changes later is `priority`, which comes before it.
  const level = LEVEL_OF_PRIORITY[priorityOf(row)];
  const levels: readonly unknown[] = Object.values(LEVEL_OF_PRIORITY);
  return {
    ...(isAbsent(is_deleted) && { is_deleted: false }),
    ...(isAbsent(created_at) && { created_at: now.toISOString() }),
    ...(isAbsent(created_by) && { created_by: writer }),
    ...(isAbsent(updated_at) && { updated_at: now.toISOString() }),
    ...(isAbsent(updated_by) && { updated_by: writer }),
    ...((isAbsent(priority_level) || levels.includes(priority_level)) &&
      priority_level !== level && { priority_level: level }),
  };
}

/**
 * The content of a row that needs no work leaves it, whoever put it there when (invariant 14). Of a row that has been
 * taken in before nothing else changes: why it was given up stands until its writer removes the reason, and the answers
 * in it are ours. A delivery stands, too; but it went to another recipient than the one that its writer names now, who
 * gets the notification if it comes back.
 */
function planEnded(
  row: ForeignRow,
  history: HistoryKeys,
  { storable, given_up, amends }: { readonly storable: boolean; readonly given_up: boolean; readonly amends: boolean },
): IndexPlan {
  const known = typeof row['history_bucket'] === 'string';
  const moved = storable ? moveContent(row, { notes: !known, amends }) : { remove: [] };
  const host = hostOf(row, storable);
  // A delivered row that owes its record is work for a worker, and so is one that has arrived and is not ended yet.
  const { send_status, record_due, delivery_by_attempt } = row as Partial<NotificationRow>;
  const owes = send_status === 'SUCCESS' ? typeof record_due === 'string' : arrived(delivery_by_attempt);
  const remove = [...moved.remove, ...host.remove, ...(given_up || owes ? [] : keysOf(row))];
  // A write of `updated_at` alone would bring the row here again, for ever.
  if ((known || given_up) && remove.length === 0) return { do: 'ignore' };
  const expires_at = known && typeof row['expires_at'] === 'number' ? row['expires_at'] : history.expires_at;
  const isCorrected = known && send_status === 'SUCCESS' && storable && (row['recipient_address'] ?? '') !== '';
  const begins = isCorrected && { begins: true as const };
  return { do: 'history', set: known ? { expires_at, ...host.set } : { ...history }, ...moved, ...begins, remove };
}

function keysOf(row: ForeignRow): string[] {
  return ['work_queue', 'work_at', 'give_up'].filter((key) => row[key] !== undefined);
}

/** FAILED before any attempt, until its writer corrects it: an attempt leaves the time when it was due. */
function isSetAside({ failure_reason, work_at }: ForeignRow): boolean {
  return failure_reason === 'FORMAT_ERROR' && work_at === undefined;
}

/**
 * A row without content that is in the work index: ours as a rule, changed by another writer since. If it is
 * malformed, it leaves the index; if its writer's keys lie where no sweep looks yet, it moves to where one does. What a
 * worker has, or had when it crashed, is left to the worker that finds it (src/core/delivery/take-over.ts), which
 * knows whether the attempt is over and has arrived.
 */
function planIndexed(row: ForeignRow, now: Date, shards: IndexShards): IndexPlan {
  if (row['send_status'] === 'SUCCESS') return { do: 'ignore' };
  const faults = workFaults(row);
  if (row['send_status'] === 'SENDING' && faults.length > 0) return planFound(row, now, shards);
  if (faults.length > 0) return { do: 'set_aside', ...setAside(faults, now, row) };
  const queue = parseWorkQueue(String(row['work_queue']));
  if (queue === undefined || queue.shard < shards.work) return { do: 'ignore' };
  const { log_id, priority } = row as unknown as NotificationRow;
  return { do: 'index', set: { work_queue: workQueueOf(queue.state, priority, log_id, shards.work) }, remove: [] };
}

/** In a place where a sweep meets it, also one whose keys its writer has spoilt. */
function planFound(row: ForeignRow, now: Date, shards: IndexShards): IndexPlan {
  const { work_queue, work_at, priority, log_id } = row;
  const queue = typeof work_queue === 'string' ? parseWorkQueue(work_queue) : undefined;
  const read = queue?.state === 'due' && queue.shard < shards.work;
  const met = read && typeof work_at === 'string' && work_at <= now.toISOString();
  if (met) return { do: 'ignore' };
  const known = PRIORITIES.find((one) => one === priority) ?? 'info';
  const place = { work_queue: workQueueOf('due', known, String(log_id), shards.work), work_at: now.toISOString() };
  return { do: 'index', set: place, remove: [] };
}

/** Identifies the provider to a breaker: read while the recipient is in the clear; an earlier recipient's goes. */
function hostOf({ integration_config_id, recipient_address, provider_host }: ForeignRow, inline: boolean) {
  if (!inline || typeof recipient_address !== 'string' || recipient_address === '') return { set: {}, remove: [] };
  const known = typeof integration_config_id === 'string' && integration_config_id !== '';
  const host = known ? undefined : providerHost(recipient_address);
  if (host !== undefined) return { set: { provider_host: host }, remove: [] };
  return { set: {}, remove: provider_host === undefined ? [] : ['provider_host'] };
}
