import { jsonObject } from '../../core/model/text.ts';
import type { FileStanding } from '../../core/newsletter/model/member.ts';
import { CellFault, type Cells, MemberFileError, timeOr } from './cells.ts';
import { delimiterTold, type Header, headerOf, LineJoiner, type Row, rowsOf } from './csv.ts';
import type { ForeignFormat, Reading } from './foreign-format.ts';
import { type Line, MAX_LINE, readLines } from './lines.ts';
import { HOW_TO_SAY_IT, isOptOutColumn, saysLeft, saysOptOut } from './opt-outs.ts';
import { columnNamed, OWN_COLUMNS, readOwn } from './own-format.ts';
import { FOREIGN_FORMATS } from './service-exports.ts';

/** What is wrong with a line. It quotes nothing of the line, which is about a person. */
export interface LineFault {
  readonly line: number;
  /** Empty for the whole line. */
  readonly column: string;
  readonly rule: string;
  readonly message: string;
}

/** A line as it was read: the member's fields, why it is left out, or what is wrong. */
export type LineRecord =
  | { readonly line: number; readonly fields: unknown }
  | { readonly line: number; readonly skipped: string }
  | LineFault;

export interface ReadRules {
  readonly file_name: string;
  readonly format: FileFormat;
  /** Lines up to this number were imported before. */
  readonly after: number;
  /** All members subscribe to it. */
  readonly newsletter_id: string | undefined;
  readonly as: FileStanding | undefined;
}

export type FileFormat = 'csv' | 'jsonl';

/** By the end of the file's name. */
export function fileFormat(name: string): FileFormat | undefined {
  if (/\.csv$/i.test(name)) return 'csv';
  return /\.(?:jsonl|ndjson)$/i.test(name) ? 'jsonl' : undefined;
}

/** Lines that are read, stored and committed together. */
const WINDOW = 200;

const faultOf = (line: number, rule: string, message: string, column = ''): LineFault => ({
  line,
  column,
  rule,
  message,
});

/** Reads a file window by window; empty lines are left out. @throws MemberFileError when it cannot be taken as a whole */
export async function* readMembers(
  bytes: AsyncIterable<Uint8Array>,
  rules: ReadRules,
): AsyncGenerator<readonly LineRecord[]> {
  let toRecords: ((lines: readonly Line[]) => LineRecord[]) | undefined =
    rules.format === 'jsonl' ? jsonRecords : undefined;
  if (rules.format === 'jsonl') refuseUndecided(rules);
  const joiner = rules.format === 'csv' ? new LineJoiner() : undefined;
  let delimiter: string | undefined;
  let header: Line | undefined;
  let window: Line[] = [];
  for await (const line of readLines(bytes)) {
    if (toRecords === undefined && header === undefined) {
      delimiter ??= line.number === 1 ? delimiterTold(line.text) : undefined;
      if (line.text.trim() !== '' && (line.number > 1 || delimiter === undefined)) header = line;
      continue;
    }
    if (line.number === 1 && line.text.trimStart().startsWith('[')) {
      throw new MemberFileError('The file is one JSON list: JSONL has one object per line.');
    }
    if (line.number <= rules.after) continue;
    window.push(...(joiner?.take(line) ?? [line]).filter(({ text, tooLong }) => text.trim() !== '' || tooLong));
    if (window.length < WINDOW) continue;
    toRecords ??= csvRecords(header, delimiter, window, rules);
    yield recordsOf(window, toRecords);
    window = [];
  }
  window.push(...(joiner?.rest() ?? []).filter(({ text }) => text.trim() !== ''));
  toRecords ??= csvRecords(header, delimiter, window, rules);
  if (window.length > 0) yield recordsOf(window, toRecords);
}

function recordsOf(lines: readonly Line[], toRecords: (lines: readonly Line[]) => LineRecord[]): LineRecord[] {
  const unreadable = (line: Line) => (line.parts ?? [line]).flatMap((part) => lineFault(part) ?? []);
  const [bad, good] = [
    lines.filter((line) => unreadable(line).length > 0),
    lines.filter((line) => unreadable(line).length === 0),
  ];
  // Of joined lines, those that are UTF-8 are read alone.
  const single = bad.flatMap(({ parts = [] }) => parts.filter((part) => lineFault(part) === undefined));
  const records = [...toRecords(good), ...toRecords(single), ...bad.flatMap(unreadable)];
  return records.sort((a, b) => a.line - b.line);
}

function lineFault({ number, tooLong, encoding }: Line): LineFault | undefined {
  if (tooLong) return faultOf(number, 'max_length', `must have at most ${MAX_LINE} characters`);
  return encoding === undefined ? undefined : faultOf(number, 'utf8', `must be UTF-8; it is probably ${encoding}`);
}

function jsonRecords(lines: readonly Line[]): LineRecord[] {
  return lines.map(({ number, text }) => {
    const fields = jsonObject(text);
    if (!fields) return faultOf(number, 'json', 'must be a JSON object');
    const { created_at } = fields;
    return {
      line: number,
      fields: typeof created_at === 'string' ? { ...fields, created_at: timeOr(created_at) } : fields,
    };
  });
}

/** @param first the lines below the header @throws MemberFileError when the header cannot be taken */
function csvRecords(
  line: Line | undefined,
  delimiter: string | undefined,
  first: readonly Line[],
  rules: ReadRules,
): (lines: readonly Line[]) => LineRecord[] {
  if (line === undefined) throw new MemberFileError('The file is empty: line 1 must name the columns.');
  if (line.encoding !== undefined || line.text.includes('\0')) {
    const encoding = line.encoding ?? 'UTF-16 without a byte order mark';
    throw new MemberFileError(`The file is not UTF-8: save it as CSV in UTF-8. It is probably ${encoding}.`);
  }
  const header = headerOf(line.text, delimiter);
  const { names, read } = formatOf(line.number, header, () => rowsOf(first, header), rules);
  return (lines) =>
    rowsOf(lines, header).flatMap(([{ number }, cells]) => recordOf(number, cells, names, read, rules) ?? []);
}

type Read = (cells: Cells, columns: readonly string[]) => Reading;

function recordOf(
  line: number,
  row: readonly string[] | undefined,
  names: readonly string[],
  read: Read,
  { newsletter_id, as }: ReadRules,
): LineRecord | undefined {
  if (row === undefined) return faultOf(line, 'quotes', 'has a quote that is not closed or not doubled');
  // What spreadsheets leave of an emptied row.
  if (row.every((cell) => cell.trim() === '')) return undefined;
  if (row.length !== names.length) {
    const count = (n: number, thing: string) => `${n} ${thing}${n === 1 ? '' : 's'}`;
    const says = `has ${count(row.length, 'value')}; the header has ${count(names.length, 'column')}`;
    return faultOf(line, 'columns', says);
  }
  const filled = names.flatMap((name, i) => (row[i]?.trim() ? [[name, row[i] ?? ''] as const] : []));
  if (filled.some(([name]) => name === '')) {
    return faultOf(line, 'columns', 'has a value in a column that the header gives no name');
  }
  try {
    const reading = read(Object.fromEntries(filled), names);
    if ('skipped' in reading) return { line, skipped: String(reading.skipped) };
    return { line, fields: decided(reading, newsletter_id, as) };
  } catch (error) {
    if (!(error instanceof CellFault)) throw error;
    return faultOf(line, 'spelling', error.message, error.column);
  }
}

/** The fields with what is said of the whole file, and of --newsletter. @throws CellFault */
function decided(reading: Reading, newsletter_id: string | undefined, as: FileStanding | undefined): object {
  const { undecided, left_at, ...fields }: Record<string, unknown> = { ...reading };
  if (undecided === true && as === undefined) {
    throw new CellFault('', 'does not say whether this person gets mail: import these people with --as');
  }
  if (left_at === undefined) return fields;
  if (newsletter_id !== undefined) return { ...fields, unsubscribed: { [newsletter_id]: left_at } };
  throw new CellFault(
    'unsubscribed',
    'must name newsletters with times, or the import needs --newsletter: a time does not say from which',
  );
}

/** The columns, and what reads the cells below them. @throws MemberFileError */
function formatOf(
  line: number,
  { names }: Header,
  below: () => readonly Row[],
  rules: ReadRules,
): { readonly names: readonly string[]; readonly read: Read } {
  const foreign = FOREIGN_FORMATS.find(({ signs }) =>
    signs.some((columns) => columns.every((one) => names.includes(one))),
  );
  const columns = foreign === undefined ? names.map(columnNamed) : names;
  const repeated = columns.find((name, i) => name !== '' && columns.indexOf(name) !== i);
  if (foreign === undefined) refuseUnknown(line, columns, below, rules);
  else if (rules.newsletter_id === undefined) {
    const why = `An export of ${foreign.of} does not say from which newsletter a person has unsubscribed`;
    throw new MemberFileError(`${why}, so who did would get mail again: add --newsletter.`);
  }
  if (repeated !== undefined && (foreign === undefined || isRead(foreign, repeated))) {
    throw new MemberFileError(`Line ${line} names the column ${repeated} twice: each has its place once.`);
  }
  const decides = foreign?.decides(columns) ?? ['unsubscribed', 'suppressed'].some((one) => columns.includes(one));
  if (!decides) refuseUndecided(rules, foreign);
  if (foreign === undefined) return { names: columns, read: readOwn };
  const trimmed = (cells: Cells) =>
    Object.fromEntries(Object.entries(cells).map(([name, cell]) => [name, cell.trim()]));
  return { names: columns, read: (cells, all) => foreign.read(trimmed(cells), all) };
}

const isRead = ({ signs }: ForeignFormat, column: string): boolean => signs.some((columns) => columns.includes(column));

/** @throws MemberFileError where neither the file nor the operator says who gets mail, and somebody may have left */
function refuseUndecided({ as, file_name }: ReadRules, foreign?: ForeignFormat): void {
  if (as !== undefined) return;
  if (foreign?.advice !== undefined) throw new MemberFileError(`${foreign.advice}.`);
  if (!saysOptOut(file_name)) return;
  const says = `The name of ${file_name} says that these people get no mail, and its columns do not say it`;
  throw new MemberFileError(
    `${says}: import it with --as unsubscribed or --as suppressed, or, if they do get mail, --as subscribed.`,
  );
}

/** @throws MemberFileError where the header has columns that are nobody's */
function refuseUnknown(
  line: number,
  columns: readonly string[],
  below: () => readonly Row[],
  { file_name, as }: ReadRules,
): void {
  const systems = [...new Set(FOREIGN_FORMATS.map(({ of }) => of))].join(', ');
  const known = `the columns are ${OWN_COLUMNS.join(', ')}, or those of an export of ${systems}`;
  const isSaid = saysOptOut(file_name) && as === undefined;
  const left = isSaid ? ` The file's name says that its people get no mail: ${HOW_TO_SAY_IT}.` : '';
  // A person's address is not quoted.
  if (columns.some((name) => name.includes('@'))) {
    throw new MemberFileError(
      `Line ${line} has an address, so it is no header: add a line above that names the columns; ${known}.${left}`,
    );
  }
  const isUnknown = (name: string) => name !== '' && !OWN_COLUMNS.includes(name);
  const unknown = columns.filter(isUnknown);
  if (unknown.length > 0) {
    const rows = below();
    const saySo = (at: number) => rows.some(([, cells]) => saysLeft(cells?.[at]?.trim() ?? ''));
    const risky = columns.filter((name, at) => isUnknown(name) && (isOptOutColumn(name) || saySo(at)));
    const says = risky.length > 0 ? ` ${risky.join(', ')} may say who must get no mail: ${HOW_TO_SAY_IT}.` : left;
    throw new MemberFileError(`Line ${line} names unknown columns (${unknown.join(', ')}): ${known}.${says}`);
  }
  if (!columns.includes('email')) throw new MemberFileError(`Line ${line} lacks the column email: ${known}.`);
}
