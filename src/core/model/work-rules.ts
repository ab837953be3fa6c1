import { CHANNELS, type Channel, PRIORITIES } from './channels.ts';
import { ERROR_TYPES } from './error-types.ts';
import { MOST_SHARDS } from './index-shards.ts';
import {
  CONTENT_COLUMNS,
  EVIDENCE,
  FALLBACK_COLUMNS,
  type ForeignRow,
  RECIPIENT_TYPES,
  SEND_STATUSES,
} from './notification.ts';
import { epochMs, isUtcTime, parseTime } from './time.ts';
import { type DueItem, type MalformedEntry, parseWorkQueue, type RowFault } from './work-index.ts';

export interface ColumnRule extends RowFault {
  readonly holds: (value: unknown) => boolean;
}

export const isAbsent = (value: unknown) => value === undefined || value === null;

/** A rule for the values of a column that may be absent, or NULL. */
const rule = (column: string, name: string, expected: string, holds: ColumnRule['holds']): ColumnRule => ({
  column,
  rule: name,
  expected,
  holds: (value) => isAbsent(value) || holds(value),
});

/** The same for a column that holds text. */
const textRule = (column: string, name: string, expected: string, holds: (value: string) => boolean) =>
  rule(column, name, expected, (value) => typeof value === 'string' && holds(value));

export const oneOf = (column: string, name: string, values: readonly string[]) =>
  textRule(column, name, `one of ${values.join(', ')}`, (value) => values.includes(value));

/** A text has at most as many characters as UTF-16 units: most need not be counted. */
const isAtMost = (value: string, length: number) => value.length <= length || [...value].length <= length;

export const text = (column: string, length: number) =>
  textRule(column, `VARCHAR(${length})`, `text of at most ${length} characters`, (value) => isAtMost(value, length));

/** Control characters, and those that SQS refuses in a message. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the rule is about
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/u;

/** An id travels in messages, logs and tags, none of which takes every character. */
export const id = (column: string, length: number) =>
  textRule(
    column,
    `VARCHAR(${length})`,
    `text of at most ${length} characters, without control characters`,
    (value) => isAtMost(value, length) && !UNPRINTABLE.test(value),
  );

export const freeText = (column: string) => textRule(column, 'TEXT', 'text', () => true);

export const required = (column: string): ColumnRule => ({
  column,
  rule: 'NOT NULL',
  expected: 'a value that is not empty',
  holds: (value) => !isAbsent(value) && value !== '',
});

export const time = (column: string) =>
  textRule(
    column,
    'TIMESTAMP',
    'a time such as 2025-06-01T10:30:00.000Z or 2025-06-01 10:30:00',
    (value) => parseTime(value) !== undefined,
  );

/** A time that is computed with, not only shown or converted. */
const utcTime = (column: string) => textRule(column, 'TIMESTAMP', 'a time such as 2025-06-01T10:30:00.000Z', isUtcTime);

export const boolean = (column: string) =>
  rule(column, 'BOOLEAN', 'true or false', (value) => typeof value === 'boolean');

export const count = (column: string, name: string, least = 0) =>
  rule(
    column,
    name,
    `a whole number, ${least} or more`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least,
  );

/** The rules that the row's columns break. Values are never quoted, because they may be personal. */
export function brokenRules(rules: readonly ColumnRule[], row: ForeignRow, before: ForeignRow = {}): RowFault[] {
  return rules
    .filter(({ column, holds }) => !holds(before[column] ?? row[column]))
    .map(({ column, rule, expected }) => ({ column, rule, expected }));
}

/** The kind of rule for columns that only the pipeline writes. */
const OURS = 'column of the pipeline';
const MESSAGE_ID_LENGTH = 100;
/** Most characters of a text that the pipeline keeps in a row. */
const OWN_TEXT_LENGTH = 256;

const evidence: ColumnRule = {
  column: 'delivery_by_attempt',
  rule: OURS,
  expected: `a map of attempt numbers to ${EVIDENCE.join(', ')}`,
  holds: (value) =>
    isAbsent(value) ||
    (Object.prototype.toString.call(value) === '[object Object]' &&
      Object.entries(value as object).every(
        ([attempt, word]) => /^\d+$/.test(attempt) && EVIDENCE.some((known) => known === word),
      )),
};

/** Columns that only the pipeline writes, in so far as it reads them again. Any of them may be absent. */
export const OWN_COLUMN_RULES: readonly ColumnRule[] = [
  count('attempts_left', OURS),
  count('last_attempt', OURS, -1),
  ...['redrive_count', 'life', 'next_life'].map((column) => count(column, OURS)),
  ...['delivered_at', 'opened_at', 'bounced_at', 'complained_at'].map(time),
  oneOf('give_up', OURS, ERROR_TYPES),
  ...['claim_until', 'claim_id', 'queued_for', 'provider_host', 'error_type'].map((column) =>
    text(column, OWN_TEXT_LENGTH),
  ),
  ...[
    'dead_message_id',
    'dead_run_id',
    'dead_enqueued_at',
    'dead_sent_at',
    'replay_id',
    'successor_log_id',
    'predecessor_log_id',
  ].map((column) => text(column, OWN_TEXT_LENGTH)),
  text('record_due', 1_000),
  text('recipient_hash', OWN_TEXT_LENGTH),
  boolean('suppressed'),
  evidence,
];

const present = (rule: ColumnRule): ColumnRule => ({
  ...rule,
  holds: (value) => !isAbsent(value) && rule.holds(value),
});

/** What the work index shows of a row, and its message says (`due` is its `work_at`). */
const ENTRY_RULES: readonly ColumnRule[] = [
  required('log_id'),
  id('log_id', MESSAGE_ID_LENGTH),
  required('tenant_id'),
  id('tenant_id', MESSAGE_ID_LENGTH),
  present(oneOf('channel', 'chk_notification_log_type', CHANNELS)),
  present(oneOf('priority', 'priority', PRIORITIES)),
  present(utcTime('work_at')),
];

/** What delivery reads of a row in the work index. */
export const WORK_RULES: readonly ColumnRule[] = [
  ...ENTRY_RULES,
  present(oneOf('send_status', 'chk_notification_log_status', SEND_STATUSES)),
  present(count('send_attempts', 'chk_notification_log_attempts_positive')),
  count('max_retry_count', 'chk_notification_log_attempts_positive'),
  count('retry_count', 'INTEGER'),
  ...['attempts_left', 'last_attempt'].map((column) =>
    present(count(column, OURS, column === 'last_attempt' ? -1 : 0)),
  ),
  ...OWN_COLUMN_RULES,
  oneOf('failure_reason', OURS, ERROR_TYPES),
  oneOf('fallback_channel', 'fallback', CHANNELS),
  oneOf('recipient_type', 'chk_notification_log_recipient_type', RECIPIENT_TYPES),
  ...['integration_config_id', 'notification_id', 'created_by'].map((column) => text(column, OWN_TEXT_LENGTH)),
  ...['response_code', 'response_message', 'error_message', 'error_details'].map(freeText),
  // Only text can be moved out, by an indexer that the stream's filter wakes.
  ...[...CONTENT_COLUMNS, ...FALLBACK_COLUMNS].map(freeText),
  boolean('is_deleted'),
  time('next_retry_at'),
  // The deadline is computed from it.
  utcTime('first_attempt_at'),
];

const WRONG_QUEUE: RowFault = {
  column: 'work_queue',
  rule: OURS,
  expected: 'the queue of its priority; other writers leave it out',
};

/** The rules that a row in the work index breaks: whoever may write to the table may have written it. */
export function workFaults(row: object, before: object = {}): RowFault[] {
  const { work_queue, priority } = row as ForeignRow;
  const broken = brokenRules(WORK_RULES, row as ForeignRow, before as ForeignRow);
  return [...broken, ...partitionFaults(work_queue, priority)];
}

export function entryFaults(work_queue: string, entry: ForeignRow): RowFault[] {
  const elsewhere = parseWorkQueue(work_queue)?.priority !== entry['priority'];
  return [...brokenRules(ENTRY_RULES, entry), ...(elsewhere ? [WRONG_QUEUE] : [])];
}

function partitionFaults(work_queue: unknown, priority: unknown): RowFault[] {
  const queue = typeof work_queue === 'string' ? parseWorkQueue(work_queue) : undefined;
  if (queue !== undefined && queue.shard < MOST_SHARDS && queue.priority === priority) return [];
  return [WRONG_QUEUE];
}

/**
 * Whether a message can say what the column of an entry holds: the lanes read messages by the rules of the index, so that
 * no row is sent whose message nobody can read.
 */
export function fitsMessage(column: 'log_id' | 'tenant_id' | 'work_at', value: unknown): value is string {
  return typeof value === 'string' && ENTRY_RULES.every((rule) => rule.column !== column || rule.holds(value));
}

export const OF_THE_STAGE = 'channels of the stage';

/**
 * Longer than any deployment: while one adds a channel, an old dispatcher meets what the new functions have accepted on it.
 */
const DEPLOYED_MS = 86_400_000;

/** Of a channel that the stage does not have: every sweep would meet it for ever. @param named in lower case */
export function channelFaults(named: unknown, channels: readonly Channel[]): RowFault[] {
  if (!CHANNELS.some((channel) => channel === named) || channels.some((channel) => channel === named)) return [];
  return [{ column: 'channel', rule: OF_THE_STAGE, expected: `one of ${channels.join(', ')}` }];
}

/**
 * Sorts what a page of the work index holds. What only lacks its channel is neither until it was due for a day.
 * @param until of the page's query
 * @param channels those of the stage
 */
export function readEntries(
  work_queue: string,
  entries: readonly ForeignRow[],
  until: string,
  channels: readonly Channel[] = CHANNELS,
): { readonly items: DueItem[]; readonly malformed?: readonly MalformedEntry[] } {
  const items: DueItem[] = [];
  const malformed: MalformedEntry[] = [];
  for (const entry of entries) {
    // A dead row keeps its reason, and its place until the channel is back.
    const left = work_queue.startsWith('dead') ? [] : channelFaults(entry['channel'], channels);
    const own = entryFaults(work_queue, entry);
    const work_at = String(entry['work_at']);
    if (own.length === 0 && left.length === 0) items.push(entry as unknown as DueItem);
    else if (own.length > 0 || epochMs(until) - epochMs(work_at) > DEPLOYED_MS)
      malformed.push({ log_id: String(entry['log_id']), work_queue, work_at, faults: [...own, ...left] });
  }
  return { items, ...(malformed.length > 0 && { malformed }) };
}
