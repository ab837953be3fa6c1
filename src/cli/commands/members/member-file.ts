import { CsvError, parse } from 'csv-parse/sync';
import { jsonObject } from '../../../core/model/text.ts';
import type { LineFault, LineRecord } from '../../../operator-service/members/import-members.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { columnsOf } from './member-columns.ts';

const faultOf = (line: number, rule: string, message: string): LineFault => ({ line, column: '', rule, message });

type FileFormat = 'csv' | 'jsonl';

/** Lines that are read, stored and committed together. */
const WINDOW = 200;

/** The formats by the end of the file's name. @throws OperatorError */
export function formatOf(path: string): FileFormat {
  if (/\.csv$/i.test(path)) return 'csv';
  if (/\.(jsonl|ndjson)$/i.test(path)) return 'jsonl';
  throw new OperatorError(`${path} must end in .csv or .jsonl, which says how it is read.`, EXIT_USAGE);
}

interface ReadRules {
  /** Lines up to this number were imported before. */
  readonly after: number;
  /** All members subscribe to it. */
  readonly newsletter_id: string | undefined;
}

/** Reads a file window by window; empty lines are left out. */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  format: FileFormat,
  { after, newsletter_id }: ReadRules,
): AsyncGenerator<readonly LineRecord[]> {
  let parser: Parser | undefined = format === 'jsonl' ? { parse: parseJson, multiline: false } : undefined;
  let joiner = createJoiner({ multiline: false });
  let window: Line[] = [];
  for await (const line of readLines(bytes)) {
    if (parser === undefined) {
      if (/[\uFFFD\0]/.test(line.text)) {
        throw new OperatorError('The file is not UTF-8: save it as CSV in UTF-8.', EXIT_USAGE);
      }
      parser = createCsvParser(line, newsletter_id);
      joiner = createJoiner(parser);
      continue;
    }
    if (line.number === 1 && line.text.trimStart().startsWith('[')) {
      throw new OperatorError('The file is one JSON list: JSONL has one object per line.', EXIT_USAGE);
    }
    if (line.number <= after) continue;
    window.push(...joiner.take(line).filter(({ text, tooLong }) => text.trim() !== '' || tooLong));
    if (window.length < WINDOW) continue;
    yield recordsOf(window, parser.parse);
    window = [];
  }
  if (parser === undefined) throw new OperatorError('The file is empty: line 1 must name the columns.', EXIT_USAGE);
  window.push(...joiner.rest());
  if (window.length > 0) yield recordsOf(window, parser.parse);
}

function recordsOf(lines: readonly Line[], parse: (lines: readonly Line[]) => LineRecord[]): LineRecord[] {
  const faults = new Map<number, LineRecord>();
  for (const { number, text, tooLong } of lines) {
    if (tooLong) faults.set(number, faultOf(number, 'max_length', `must have at most ${MAX_LINE} characters`));
    // The decoder puts this character in place of bytes that are not UTF-8.
    else if (text.includes('\uFFFD')) faults.set(number, faultOf(number, 'utf8', 'must be UTF-8'));
  }
  const parsed = parse(lines.filter(({ number }) => !faults.has(number))).values();
  return lines.flatMap(({ number }) => faults.get(number) ?? parsed.next().value ?? []);
}

function parseJson(lines: readonly Line[]): LineRecord[] {
  return lines.map(({ number, text }) => {
    const fields = jsonObject(text);
    return fields ? { line: number, fields } : faultOf(number, 'json', 'must be a JSON object');
  });
}

/**
 * Reads the header, and returns what reads the lines below it. Each line of ours is one member: no value has line breaks,
 * so a quote that is not closed spoils its own line only.
 * @throws OperatorError when the header has unknown, repeated or missing columns, or is of a foreign export and no
 * newsletter is given
 */
function createCsvParser(header: Line, newsletter_id: string | undefined): Parser {
  const delimiter = delimiterOf(header.text);
  const [given = []] = parseAll(header.text, delimiter) ?? [];
  const names = given.map((name) => name.trim().toLowerCase());
  const columns = columnsOf(names);
  if (columns.of !== undefined && newsletter_id === undefined) {
    const why = `An export of ${columns.of} does not say from which newsletter a person has unsubscribed`;
    throw new OperatorError(`${why}, so who did would get mail again: add --newsletter.`, EXIT_USAGE);
  }

  const toRecord = ({ number }: Line, cells: readonly string[]): LineRecord => {
    if (cells.length !== names.length) {
      const count = (n: number, thing: string) => `${n} ${thing}${n === 1 ? '' : 's'}`;
      const message = `has ${count(cells.length, 'value')}; the header has ${count(names.length, 'column')}`;
      return faultOf(number, 'columns', message);
    }
    const filled = names.flatMap((name, i) => (cells[i]?.trim() ? [[name, cells[i]?.trim() ?? ''] as const] : []));
    const fields = columns.toFields(Object.fromEntries(filled));
    return 'skipped' in fields ? { line: number, skipped: String(fields.skipped) } : { line: number, fields };
  };

  const parseOne = (line: Line): LineRecord => {
    const [cells] = parseAll(line.text, delimiter) ?? [];
    return cells
      ? toRecord(line, cells)
      : faultOf(line.number, 'quotes', 'has a quote that is not closed or not doubled');
  };

  const parse = (lines: readonly Line[]) => {
    const rows = parseAll(lines.map(({ text }) => text).join('\n'), delimiter);
    // Only quotes can make other numbers of rows and lines: then each line is read alone.
    if (rows?.length !== lines.length) return lines.map(parseOne);
    return lines.map((line, i) => toRecord(line, rows[i] ?? []));
  };
  return { parse, multiline: columns.multiline };
}

interface Parser {
  readonly parse: (lines: readonly Line[]) => LineRecord[];
  /** A value may have line breaks. */
  readonly multiline: boolean;
}

/** Most lines of one value: a quote that is not closed spoils no more than these. */
const MOST_LINES = 100;

/** Joins the lines of a value with line breaks, under the number of its last line. */
function createJoiner({ multiline }: { readonly multiline: boolean }): {
  take(line: Line): readonly Line[];
  rest(): readonly Line[];
} {
  let open: Line[] = [];
  const rest = () => open.splice(0);
  return {
    rest,
    take(line) {
      if (!multiline) return [line];
      open.push(line);
      const text = open.map((one) => one.text).join('\n');
      if (text.split('"').length % 2 === 1) {
        open = [];
        return [{ ...line, text }];
      }
      return open.length >= MOST_LINES || text.length > MAX_LINE ? rest() : [];
    },
  };
}

/** Undefined when quotes are wrong. */
function parseAll(text: string, delimiter: string): string[][] | undefined {
  try {
    return parse(text, { delimiter, relax_column_count: true, record_delimiter: '\n' });
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
}

/** Spreadsheets of many countries separate by semicolons, some by tabs. */
function delimiterOf(header: string): string {
  const count = (delimiter: string) => header.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Longest line in characters. A member with 100 labels and 50 newsletters needs 15,000. */
const MAX_LINE = 65_536;

interface Line {
  /** From 1, as editors count. */
  readonly number: number;
  /** Without its end. At most the beginning of a line that is too long. */
  readonly text: string;
  readonly tooLong: boolean;
}

/** The lines of a file in UTF-8, with or without a byte order mark. Memory is bounded by the longest line allowed. */
async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let number = 0;
  let open = '';
  let tooLong = false;
  const toLine = (): Line => {
    number += 1;
    const line = { number, text: open.endsWith('\r') ? open.slice(0, -1) : open, tooLong };
    open = '';
    tooLong = false;
    return line;
  };
  const add = (text: string) => {
    tooLong ||= open.length + text.length > MAX_LINE;
    open = tooLong ? open.slice(0, 100) : open + text;
  };
  for await (const chunk of bytes) {
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n');
    add(first);
    for (const text of rest) {
      yield toLine();
      add(text);
    }
  }
  add(decoder.decode());
  if (open !== '' || tooLong) yield toLine();
}
