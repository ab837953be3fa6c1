import { CHANNELS, type Channel, priorityOf } from '../model/channels.ts';
import type { IndexShards } from '../model/index-shards.ts';
import {
  CONTENT_COLUMNS,
  FALLBACK_COLUMNS,
  type ForeignRow,
  type MessageFormat,
  NOTES,
  type NotificationContent,
  type NotificationRow,
} from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { parseTime } from '../model/time.ts';
import { workQueueOf } from '../model/work-index.ts';

/** Times that others read again: the stage's zone is known here only. */
const WRITTEN_TIMES = ['created_at', 'scheduled_at', 'sent_at', 'delivered_at', 'opened_at', 'next_retry_at'] as const;

/** The row's times that have no zone, in UTC; none in a stage whose writers write UTC. */
export function inUtc(row: ForeignRow, time_zone: string | undefined): ForeignRow {
  const read = (zone: string | undefined) =>
    WRITTEN_TIMES.map((column) => [column, columnTime(row, column, zone)?.toISOString()] as const);
  const asUtc = new Map(read(undefined));
  return Object.fromEntries(read(time_zone).filter(([column, time]) => time !== asUtc.get(column)));
}

export interface Taking {
  readonly now: Date;
  readonly policy: RetryPolicy;
  readonly time_zone: string | undefined;
  readonly shards: IndexShards;
  /** See IndexTerms. */
  readonly life?: number | undefined;
}

/** The routing, counters and time of a row that needs work, from what its writer says. */
export function workKeys(row: ForeignRow, log_id: string, taking: Taking): Partial<NotificationRow> {
  const priority = priorityOf(row);
  const { life } = taking;
  // The counters are ours, and count the attempts of a former life.
  const isAnew = life !== undefined && numberOf(row, 'last_attempt') !== undefined;
  const send_attempts = isAnew ? 0 : attemptsMade(row);
  const limit = numberOf(row, 'max_retry_count') ?? taking.policy.priorities[priority].max_retries;
  const begun = send_attempts > 0;
  const window = isAnew ? scheduledLater(row, taking) : windowStart(row, begun, taking);
  const first_attempt_at = window?.toISOString();
  return {
    channel: channelOf(row),
    priority,
    send_attempts,
    attempts_left: Math.max(0, limit + 1 - send_attempts),
    retry_count: Math.max(0, send_attempts - 1),
    last_attempt: Math.max((life ?? 0) + send_attempts - 1, numberOf(row, 'last_attempt') ?? -1),
    ...(life !== undefined && { life }),
    ...(first_attempt_at !== undefined && { first_attempt_at }),
    work_queue: workQueueOf('due', priority, log_id, taking.shards.work),
    work_at: dueTime(row, begun, taking).toISOString(),
  };
}

/** A row that waits for its time, or for its writer, is kept for two years from then on. */
export function keptFrom(row: ForeignRow, { now, time_zone }: Taking): Date {
  const times = [now, ...['next_retry_at', 'scheduled_at'].map((column) => columnTime(row, column, time_zone) ?? now)];
  return new Date(Math.max(...times.map((time) => time.getTime())));
}

/**
 * The retention window starts with the first attempt; if the row does not say when that was, the window starts now. A
 * row that was never attempted expires a window after its scheduled time
 * (docs/decisions/delivery/attempts-windows-and-limits.md#0083).
 */
function windowStart(row: ForeignRow, begun: boolean, { now, time_zone }: Taking): Date | undefined {
  return columnTime(row, 'first_attempt_at', time_zone) ?? (begun ? now : columnTime(row, 'scheduled_at', time_zone));
}

/** A window that is to begin; one that has begun was that of a former life. */
function scheduledLater(row: ForeignRow, { now, time_zone }: Taking): Date | undefined {
  const scheduled = columnTime(row, 'scheduled_at', time_zone);
  return scheduled !== undefined && scheduled > now ? scheduled : undefined;
}

/** Never in the past: a sweep decides by the due time whether a row is new since the last sweep. */
function dueTime(row: ForeignRow, begun: boolean, { now, time_zone }: Taking): Date {
  const scheduled = begun ? undefined : columnTime(row, 'scheduled_at', time_zone);
  const wanted = columnTime(row, 'next_retry_at', time_zone) ?? scheduled ?? now;
  return wanted > now ? wanted : now;
}

/**
 * Counted attempts so far. A FAILED row was sent at least once; a PENDING row only if it has retries, and neither was one
 * of ours that waits after an attempt that did not count.
 */
function attemptsMade(row: ForeignRow): number {
  const retries = numberOf(row, 'retry_count') ?? 0;
  const held = row['send_status'] === 'RETRY' && row['last_attempt'] !== undefined;
  const implied = retries > 0 ? retries + 1 : held || row['send_status'] === 'PENDING' ? 0 : 1;
  return Math.max(numberOf(row, 'send_attempts') ?? 0, implied);
}

function channelOf(row: ForeignRow): Channel {
  const named = row['channel'] ?? String(row['notification_type']).toLowerCase();
  const channel = CHANNELS.find((candidate) => candidate === named);
  if (channel === undefined) throw new Error('A row passed its rules without a channel.');
  return channel;
}

export function columnTime(row: ForeignRow, column: string, time_zone: string | undefined): Date | undefined {
  const value = row[column];
  return typeof value === 'string' ? parseTime(value, time_zone) : undefined;
}

function numberOf(row: ForeignRow, column: string): number | undefined {
  const value = row[column];
  return typeof value === 'number' ? value : undefined;
}

export function isContent(column: string): boolean {
  return [...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].some((candidate) => candidate === column);
}

/**
 * The content of a row, and the columns that it leaves.
 * @param how.notes whether the answers in the row are its writer's
 * @param how.amends the row has only a part of the content
 */
export function moveContent(row: ForeignRow, how: { readonly notes: boolean; readonly amends: boolean }) {
  const fallback = FALLBACK_COLUMNS.filter((column) => row[column] !== undefined);
  const noted = how.notes ? NOTES : [];
  const remove = [...CONTENT_COLUMNS, ...fallback, ...noted];
  const content = contentOf(row);
  if (how.amends) return { content, amends: true as const, remove };
  const notes = noted.filter((name) => typeof row[name] === 'string').map((name) => [name, row[name]]);
  return { content: { format: 'PLAIN' as const, ...content, ...Object.fromEntries(notes) }, remove };
}

function contentOf(row: ForeignRow): Partial<NotificationContent> {
  const given = (column: string) => (row[column] ?? '') !== '';
  return {
    ...(given('recipient_address') && { recipient: String(row['recipient_address']) }),
    ...(given('subject') && { subject: String(row['subject']) }),
    ...(given('message_body') && { body: String(row['message_body']) }),
    ...(given('message_format') && { format: row['message_format'] as MessageFormat }),
    ...fallbackOf(row),
  };
}

function fallbackOf(row: ForeignRow): Pick<NotificationContent, 'fallback'> {
  const { fallback_channel, fallback_recipient: recipient, fallback_integration_config_id: integration } = row;
  if (typeof fallback_channel !== 'string' || typeof recipient !== 'string') return {};
  return { fallback: { recipient, ...(typeof integration === 'string' && { integration_config_id: integration }) } };
}
