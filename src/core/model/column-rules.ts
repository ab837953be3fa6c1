import { type ForeignRow, type NotificationRow, UPDATED_BY } from './notification.ts';
import { clip } from './text.ts';
import { isUtcTime, parseTime } from './time.ts';

/** A broken rule, under the name that a person would look up. */
export interface RowFault {
  readonly column: string;
  /** The constraint's name where the table document has one, else the kind of rule. */
  readonly rule: string;
  /** The values that the rule allows. */
  readonly expected: string;
}

export interface ColumnRule extends RowFault {
  readonly holds: (value: unknown) => boolean;
}

export const isAbsent = (value: unknown) => value === undefined || value === null;

export const oneOf = (column: string, rule: string, values: readonly string[]): ColumnRule => ({
  column,
  rule,
  expected: `one of ${values.join(', ')}`,
  holds: (value) => isAbsent(value) || (typeof value === 'string' && values.includes(value)),
});

/** A text has at most as many characters as UTF-16 units: most need not be counted. */
const isAtMost = (value: string, length: number) => value.length <= length || [...value].length <= length;

export const text = (column: string, length: number): ColumnRule => ({
  column,
  rule: `VARCHAR(${length})`,
  expected: `text of at most ${length} characters`,
  holds: (value) => isAbsent(value) || (typeof value === 'string' && isAtMost(value, length)),
});

/** Control characters, and those that SQS refuses in a message. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the rule is about
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/u;

/** An id travels in messages, logs and tags, none of which takes every character. */
export const id = (column: string, length: number): ColumnRule => ({
  column,
  rule: `VARCHAR(${length})`,
  expected: `text of at most ${length} characters, without control characters`,
  holds: (value) =>
    isAbsent(value) || (typeof value === 'string' && isAtMost(value, length) && !UNPRINTABLE.test(value)),
});

export const freeText = (column: string): ColumnRule => ({
  column,
  rule: 'TEXT',
  expected: 'text',
  holds: (value) => isAbsent(value) || typeof value === 'string',
});

export const required = (column: string): ColumnRule => ({
  column,
  rule: 'NOT NULL',
  expected: 'a value that is not empty',
  holds: (value) => !isAbsent(value) && value !== '',
});

export const time = (column: string): ColumnRule => ({
  column,
  rule: 'TIMESTAMP',
  expected: 'a time such as 2025-06-01T10:30:00.000Z or 2025-06-01 10:30:00',
  holds: (value) => isAbsent(value) || (typeof value === 'string' && parseTime(value) !== undefined),
});

/** A time that is computed with, not only shown or converted. */
export const utcTime = (column: string): ColumnRule => ({
  column,
  rule: 'TIMESTAMP',
  expected: 'a time such as 2025-06-01T10:30:00.000Z',
  holds: (value) => isAbsent(value) || (typeof value === 'string' && isUtcTime(value)),
});

export const boolean = (column: string): ColumnRule => ({
  column,
  rule: 'BOOLEAN',
  expected: 'true or false',
  holds: (value) => isAbsent(value) || typeof value === 'boolean',
});

export const count = (column: string, rule: string, least = 0): ColumnRule => ({
  column,
  rule,
  expected: `a whole number, ${least} or more`,
  holds: (value) => isAbsent(value) || (Number.isSafeInteger(value) && Number(value) >= least),
});

/** The rules that the row's columns break. Values are never quoted, because they may be personal. */
export function brokenRules(rules: readonly ColumnRule[], row: ForeignRow): RowFault[] {
  return rules
    .filter(({ column, holds }) => !holds(row[column]))
    .map(({ column, rule, expected }) => ({ column, rule, expected }));
}

/** Longest description of faults, in characters: it is one of several columns of a small row. */
const FAULT_TEXT = 400;

/** The change of a malformed row: FAILED with FORMAT_ERROR, until its writer corrects it. */
export function setAside(
  faults: readonly RowFault[],
  now: Date,
): { readonly set: Partial<NotificationRow>; readonly why: string } {
  const why = describeFaults(faults);
  const set = {
    send_status: 'FAILED',
    error_type: 'FORMAT_ERROR',
    failure_reason: 'FORMAT_ERROR',
    error_message: clip(why, FAULT_TEXT),
    updated_at: now.toISOString(),
    updated_by: UPDATED_BY,
  } as const;
  return { set, why };
}

/** One sentence for error_message. */
export function describeFaults(faults: readonly RowFault[]): string {
  return faults.map(({ column, rule, expected }) => `${column} breaks ${rule}: expected ${expected}`).join('; ');
}
