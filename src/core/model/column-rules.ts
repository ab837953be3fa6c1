import { type ForeignRow, type NotificationRow, UPDATED_BY } from './notification.ts';
import { clip } from './text.ts';
import { isUtcTime, parseTime } from './time.ts';

/** A broken rule, under the name that a person would look up. */
export interface RowFault {
  readonly column: string;
  /** The constraint's name where the table document has one, else the kind of rule. */
  readonly rule: string;
  readonly expected: string;
}

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
export const utcTime = (column: string) =>
  textRule(column, 'TIMESTAMP', 'a time such as 2025-06-01T10:30:00.000Z', isUtcTime);

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

/** Longest description of faults, in characters: it is one of several columns of a small row. */
const FAULT_TEXT = 400;

/**
 * What a row has that waits for an attempt. A malformed one must not stay in the work index, where a writer's own time would
 * make it look like ours; who reads a next time takes it for one that is retried; and a bounce that was to end it
 * (`give_up`) may be of the recipient that its writer corrects next.
 */
const OF_WORK = ['work_queue', 'work_at', 'next_retry_at', 'give_up'] as const;

/** The change of a malformed row: FAILED with FORMAT_ERROR, until its writer corrects it. A faulty time stays for that. */
export function setAside(faults: readonly RowFault[], now: Date, row: object) {
  const remove = OF_WORK.filter(
    (name) =>
      (row as ForeignRow)[name] !== undefined &&
      !(name === 'next_retry_at' && faults.some(({ column }) => column === name)),
  );
  const why = describeFaults(faults);
  const set = {
    send_status: 'FAILED',
    error_type: 'FORMAT_ERROR',
    failure_reason: 'FORMAT_ERROR',
    error_message: clip(why, FAULT_TEXT),
    updated_at: now.toISOString(),
    updated_by: UPDATED_BY,
  } as const satisfies Partial<NotificationRow>;
  return { set, why, remove };
}

/** One sentence for error_message. */
export function describeFaults(faults: readonly RowFault[]): string {
  return faults.map(({ column, rule, expected }) => `${column} breaks ${rule}: expected ${expected}`).join('; ');
}
