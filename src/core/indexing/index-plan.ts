import { CHANNELS, type Channel } from '../model/channels.ts';
import { ERROR_TYPES } from '../model/error-types.ts';
import { type ForeignRow, priorityOf } from '../model/foreign-row.ts';
import { type NotificationContent, type NotificationRow, UPDATED_BY } from '../model/notification.ts';
import { providerHost } from '../model/provider-key.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { parseTime } from '../model/time.ts';
import { historyKeys } from '../model/work/history-index.ts';
import { BASE_SHARDS, type IndexShards } from '../model/work/index-shards.ts';
import { setAside } from '../model/work/set-aside.ts';
import { workFaults } from '../model/work/work-rules.ts';
import { parseWorkQueue, workQueueOf } from '../model/work-index.ts';
import { hasContent, isContent, moveContent, NOTES } from './inline-content.ts';
import { contentFaults, rowFaults } from './row-rules.ts';

/** What a stage adds to the rules. */
export interface IndexTerms {
  /** Of times without one; UTC unless given. */
  readonly time_zone?: string | undefined;
  /** Over how many partitions new entries are spread. */
  readonly shards?: IndexShards | undefined;
}

/** What the indexer does with a row. */
export type IndexPlan =
  | {
      /**
       * `index`: the row needs work. `history`: its writer has delivered or deleted it, so it only becomes findable, and
       * its content is encrypted and expires.
       * `set_aside`: the row is malformed, and FAILED with FORMAT_ERROR until its writer corrects it.
       */
      readonly do: 'index' | 'history' | 'set_aside';
      readonly set: ForeignRow;
      /** Columns to remove, because their values are stored encrypted. */
      readonly remove: readonly string[];
      readonly content?: NotificationContent;
      readonly why?: string;
    }
  | { readonly do: 'ignore' };

/** Columns that a writer sets to NULL because they have no value yet, and that the plan does not set itself. */
const NULLABLE = ['sent_at', 'delivered_at', 'opened_at', 'response_code', ...NOTES] as const;

/**
 * Decides on a row that another writer wrote with the source documents' columns (design §4, "Rows written by
 * others"). The content always moves out of the row, because the recipient must not stay in the clear
 * (his-notification-log-table.md: 暗号化必須); only faulty content stays, for its writer to correct. A delivered row is
 * never set aside: SUCCESS is final. Neither is a deleted one, which its writer wants no more.
 */
export function planIndex(
  row: ForeignRow,
  now: Date,
  policy: RetryPolicy,
  { time_zone, shards = BASE_SHARDS }: IndexTerms = {},
): IndexPlan {
  const { log_id, tenant_id } = row;
  if (typeof log_id !== 'string' || isGivenUp(row)) return { do: 'ignore' };
  const inline = hasContent(row);
  const deleted = row['is_deleted'] === true;
  if (deleted && !inline) return { do: 'ignore' };
  if (!inline && row['work_queue'] !== undefined) return planIndexed(row, now, shards);
  // Someone else sends it.
  if (row['send_status'] === 'SENDING') return { do: 'ignore' };
  const ended = deleted || row['send_status'] === 'SUCCESS';
  const faults = [...rowFaults(row), ...(inline ? contentFaults(row) : [])];
  // Without an id of its own kind the row has no place in the history, and nothing to bind its recipient to.
  const nameless = faults.some(({ column }) => column === 'tenant_id' || column === 'log_id');
  if (typeof tenant_id !== 'string' || nameless) {
    return ended ? { do: 'ignore' } : { do: 'set_aside', ...setAside(faults, now), remove: keysOf(row) };
  }
  const taking = { now, policy, time_zone, shards };
  const created = timeOf(row, 'created_at', time_zone) ?? now;
  const history = {
    ...historyKeys({ ...row, log_id, tenant_id }, created, {
      kept_from: ended ? created : keptFrom(row, taking),
      shards,
    }),
    ...inUtc(row, time_zone),
  };
  const moved = inline && !faults.some(({ column }) => isContent(column)) ? moveContent(row) : { remove: [] };
  if (ended) return { do: 'history', set: { ...history }, ...moved, remove: [...moved.remove, ...keysOf(row)] };
  if (faults.length > 0) {
    const { set, why } = setAside(faults, now);
    return { do: 'set_aside', why, set: { ...set, ...history }, ...moved, remove: [...moved.remove, ...keysOf(row)] };
  }
  const written = { updated_at: now.toISOString(), updated_by: UPDATED_BY };
  return {
    do: 'index',
    set: { ...history, ...workKeys(row, log_id, taking), ...hostOf(row), ...written },
    ...moved,
    remove: [
      ...moved.remove,
      ...(row['failure_reason'] === undefined ? [] : ['failure_reason']),
      ...emptyColumns(row, moved.remove),
    ],
  };
}

/** A malformed row must not stay in the work index, and a writer's own time there would make it look like ours. */
function keysOf(row: ForeignRow): string[] {
  return ['work_queue', 'work_at'].filter((key) => row[key] !== undefined);
}

/**
 * The pipeline has given the row up. Anyone may write a failure_reason; one of ours has a reason that we know, and
 * either our name on the row, or the time when it was last due.
 */
function isGivenUp({ failure_reason, updated_by, work_at, work_queue }: ForeignRow): boolean {
  const known = ERROR_TYPES.some((reason) => reason === failure_reason);
  return known && work_queue === undefined && (updated_by === UPDATED_BY || work_at !== undefined);
}

/**
 * A row without content that is in the work index: ours as a rule, changed by another writer since. If it is
 * malformed, it leaves the index; if its writer's keys lie where no sweep looks yet, it moves to where one does.
 */
function planIndexed(row: ForeignRow, now: Date, shards: IndexShards): IndexPlan {
  if (row['send_status'] === 'SUCCESS') return { do: 'ignore' };
  const faults = workFaults(row);
  if (faults.length > 0) return { do: 'set_aside', ...setAside(faults, now), remove: keysOf(row) };
  const queue = parseWorkQueue(String(row['work_queue']));
  if (queue === undefined || queue.shard < shards.work) return { do: 'ignore' };
  const { log_id, priority } = row as unknown as NotificationRow;
  return { do: 'index', set: { work_queue: workQueueOf(queue.state, priority, log_id, shards.work) }, remove: [] };
}

/** Times that others read again: the stage's zone is known here only. */
const WRITTEN_TIMES = ['created_at', 'scheduled_at', 'sent_at', 'next_retry_at'] as const;

/** The row's times that have no zone, in UTC; none in a stage whose writers write UTC. */
function inUtc(row: ForeignRow, time_zone: string | undefined): ForeignRow {
  const read = (zone: string | undefined) =>
    WRITTEN_TIMES.map((column) => [column, timeOf(row, column, zone)?.toISOString()] as const);
  const asUtc = new Map(read(undefined));
  return Object.fromEntries(read(time_zone).filter(([column, time]) => time !== asUtc.get(column)));
}

/** When a row is taken in, and by which rules. */
interface Taking {
  readonly now: Date;
  readonly policy: RetryPolicy;
  readonly time_zone: string | undefined;
  readonly shards: IndexShards;
}

function workKeys(row: ForeignRow, log_id: string, taking: Taking): Partial<NotificationRow> {
  const priority = priorityOf(row);
  const send_attempts = attemptsMade(row);
  const limit = numberOf(row, 'max_retry_count') ?? taking.policy.priorities[priority].max_retries;
  const begun = send_attempts > 0;
  const first_attempt_at = windowStart(row, begun, taking)?.toISOString();
  return {
    channel: channelOf(row),
    priority,
    send_attempts,
    attempts_left: Math.max(0, limit + 1 - send_attempts),
    retry_count: Math.max(0, send_attempts - 1),
    last_attempt: Math.max(send_attempts - 1, numberOf(row, 'last_attempt') ?? -1),
    ...(first_attempt_at !== undefined && { first_attempt_at }),
    work_queue: workQueueOf('due', priority, log_id, taking.shards.work),
    work_at: dueTime(row, begun, taking).toISOString(),
  };
}

/** NULL means absent, and takes bytes of the kilobyte that a write unit covers. */
function emptyColumns(row: ForeignRow, removed: readonly string[]): string[] {
  return NULLABLE.filter((column) => row[column] === null && !removed.includes(column));
}

/** A row that waits for its time, or for its writer, is kept for two years from then on. */
function keptFrom(row: ForeignRow, { now, time_zone }: Taking): Date {
  const times = [now, ...['next_retry_at', 'scheduled_at'].map((column) => timeOf(row, column, time_zone) ?? now)];
  return new Date(Math.max(...times.map((time) => time.getTime())));
}

/**
 * The retention window starts with the first attempt; if the row does not say when that was, the window starts now. A
 * row that was never attempted expires a window after its scheduled time (docs/decisions/0083).
 */
function windowStart(row: ForeignRow, begun: boolean, { now, time_zone }: Taking): Date | undefined {
  return timeOf(row, 'first_attempt_at', time_zone) ?? (begun ? now : timeOf(row, 'scheduled_at', time_zone));
}

/** A breaker identifies the provider by this host. It is read here, while the recipient is still in the clear. */
function hostOf({ integration_config_id, recipient_address }: ForeignRow): Pick<NotificationRow, 'provider_host'> {
  const known = typeof integration_config_id === 'string' && integration_config_id !== '';
  const host = known || typeof recipient_address !== 'string' ? undefined : providerHost(recipient_address);
  return host === undefined ? {} : { provider_host: host };
}

/** Never in the past: a sweep decides by the due time whether a row is new since the last sweep. */
function dueTime(row: ForeignRow, begun: boolean, { now, time_zone }: Taking): Date {
  const scheduled = begun ? undefined : timeOf(row, 'scheduled_at', time_zone);
  const wanted = timeOf(row, 'next_retry_at', time_zone) ?? scheduled ?? now;
  return wanted > now ? wanted : now;
}

/** Counted attempts so far. A FAILED row was sent at least once; a PENDING row only if it has retries. */
function attemptsMade(row: ForeignRow): number {
  const retries = numberOf(row, 'retry_count') ?? 0;
  const implied = retries > 0 ? retries + 1 : row['send_status'] === 'PENDING' ? 0 : 1;
  return Math.max(numberOf(row, 'send_attempts') ?? 0, implied);
}

function channelOf(row: ForeignRow): Channel {
  const named = row['channel'] ?? String(row['notification_type']).toLowerCase();
  const channel = CHANNELS.find((candidate) => candidate === named);
  if (channel === undefined) throw new Error('A row passed its rules without a channel.');
  return channel;
}

function timeOf(row: ForeignRow, column: string, time_zone: string | undefined): Date | undefined {
  const value = row[column];
  return typeof value === 'string' ? parseTime(value, time_zone) : undefined;
}

function numberOf(row: ForeignRow, column: string): number | undefined {
  const value = row[column];
  return typeof value === 'number' ? value : undefined;
}
