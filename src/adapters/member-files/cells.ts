import { ExplainedError } from '../../core/model/problem.ts';
import { parseTime } from '../../core/model/time.ts';

/** Cells of a line by column, in lower case, without the empty ones: an empty cell decides nothing. */
export type Cells = Readonly<Record<string, string>>;

/** What spreadsheets and people of several languages write. */
const YES = 'true t yes y 1 x on ja oui si sí sim wahr vrai verdadero verdadeiro vero はい 済 済み ○ 〇 ◯ ✓ ✔'.split(
  ' ',
);
const NO = 'false f no n 0 off nein non não falsch faux falso いいえ 未'.split(' ');

/** Undefined where it is neither. */
export function flagIn(cell: string): boolean | undefined {
  const word = cell.toLowerCase();
  return YES.includes(word) ? true : NO.includes(word) ? false : undefined;
}

/** @returns undefined where the cell is empty. @throws CellFault where the spelling is unknown */
export function flagOf(cells: Cells, column: string): boolean | undefined {
  const cell = cells[column];
  const flag = cell === undefined ? undefined : flagIn(cell);
  if (cell !== undefined && flag === undefined) throw new CellFault(column, 'must be true, false or empty');
  return flag;
}

const TIME =
  /^(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[T ]+(\d{1,2}):(\d{2})(:\d{2})?(\.\d+)?)?\s*(Z|UTC|GMT|[+-]\d{2}:?(?:\d{2})?)?(?:(?<=[+-]\d{4}) (?:[A-Z]{3,5}|[+-]\d{2,4}))?$/i;

/**
 * Reads a time as exports and spreadsheets write it: `2024-05-01 10:20:30.5+00`, Go's `2024-05-01 10:20:30.5 +0900 JST`,
 * `2024/5/1 10:20`, `2024-05-01`. One without a zone is UTC. Undefined for others, such as `05/01/2024`, which is two days.
 */
export function timeIn(cell: string): string | undefined {
  const [, year = '', month = '', day = '', hour = '0', minute = '00', second = ':00', fraction = '', zone = 'Z'] =
    TIME.exec(cell) ?? [];
  const two = (digits: string) => digits.padStart(2, '0');
  const [, sign = '', hours = '00', minutes = ''] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  const offset = sign === '' ? 'Z' : `${sign}${hours}:${minutes === '' ? '00' : minutes}`;
  const iso = `${year}-${two(month)}-${two(day)}T${two(hour)}:${minute}${second}${fraction}${offset}`;
  return parseTime(iso)?.toISOString();
}

/** The time, or the cell as it is, which the schema then names. */
export const timeOr = (cell: string): string => timeIn(cell) ?? cell;

/** What separates values, also as people write it in Japanese. */
const SEPARATORS = ';,|；，、｜';
/** A value in quotes; a sign that stands for itself after a backslash; what separates; any other sign. */
const PARTS = new RegExp(String.raw`\\[\\"*[{${SEPARATORS}]|[\s\S]`, 'g');

/**
 * Values of one cell, as our export, people and others write them: separated by one of SEPARATORS, in quotes or not, as
 * a JSON list, as PostgreSQL's `{one,two}`, or as Google's `* one ::: * two`. After a backslash, a separator belongs to
 * the value.
 */
export function listIn(cell: string): string[] {
  const text = cell.trim();
  if (text.startsWith('[')) {
    const list = jsonList(text);
    if (list !== undefined) return list.map(plain).filter(Boolean);
  }
  if (text.startsWith('* ')) return text.split(':::').flatMap((one) => one.trim().replace(/^\* /, '') || []);
  const values = [''];
  let quoted = false;
  for (const [token] of text.replace(/^\{(.*)\}$/s, '$1').matchAll(PARTS)) {
    const value = values.at(-1) ?? '';
    const isFirst = value.trim() === '';
    if (token === '"' && (quoted || isFirst)) quoted = !quoted;
    else if (token.length === 1 && SEPARATORS.includes(token) && !quoted) values.push('');
    else values[values.length - 1] = value + (token.length === 2 ? token.slice(1) : token);
  }
  return values.map((one) => plain(one.trim())).filter(Boolean);
}

function jsonList(text: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((one) => typeof one === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}

const MARKS = new RegExp(String.raw`[\\${SEPARATORS}]|^["*[{]`, 'g');

/** As listIn reads them again. */
export const listOf = (values: readonly string[]): string =>
  values.map((value) => safe(value).replaceAll(MARKS, '\\$&')).join(';');

/**
 * What a spreadsheet would take for a formula is written with an apostrophe before it, at the start of a value and behind
 * a semicolon, where a spreadsheet that separates by semicolons begins a cell: it knows no quotes in the middle of one.
 * Spaces and quotes before the formula are skipped by some, and apostrophes are our own.
 */
const FORMULA = String.raw`[\s'"]*[=+\-@\t\uff1d\uff0b\uff0d\uff20]`;
const UNSAFE = new RegExp(`(^|;)(?=${FORMULA})`, 'g');
const SAFE = new RegExp(`(^|;)'(?=${FORMULA})`, 'g');

export const safe = (value: string): string => value.replaceAll(UNSAFE, "$1'");
export const plain = (cell: string): string => cell.replaceAll(SAFE, '$1');

/** As Ghost writes it: an apostrophe of the value's own has no other before it. */
export const plainOfGhost = (cell: string): string => cell.replace(/^'(?=[=+\-@\t])/, '');

export const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** A file of members that cannot be taken as a whole: what is wrong, and what would be right. */
export class MemberFileError extends ExplainedError {
  override readonly name = 'MemberFileError';
  override readonly exitCode = 2;
}

/** What is wrong with one value of a line. It quotes nothing of the line, which is about a person. */
export class CellFault extends Error {
  readonly column: string;

  constructor(column: string, message: string) {
    super(message);
    this.column = column;
  }
}
