import { CsvError, parse } from 'csv-parse/sync';
import { type Line, MAX_LINE } from './lines.ts';

export interface Header {
  readonly delimiter: string;
  /** In lower case; empty for a column without a name. */
  readonly names: readonly string[];
}

export function headerOf(text: string, told: string | undefined): Header {
  const delimiter = told ?? delimiterOf(text);
  const [names = []] = rowsIn(text, delimiter) ?? [];
  return { delimiter, names: names.map((name) => name.trim().toLowerCase()) };
}

/** The delimiter that Excel writes on a line of its own, above the header. */
export const delimiterTold = (text: string): string | undefined => /^\s*"?sep=([,;\t|])"?\s*$/i.exec(text)?.[1];

/** Spreadsheets of many countries separate by semicolons, some by tabs; databases by bars. Names may have them in quotes. */
function delimiterOf(header: string): string {
  const count = (delimiter: string) => header.replaceAll(/"[^"]*"/g, '').split(delimiter).length;
  return [',', ';', '\t', '|'].reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Undefined when quotes are wrong. */
function rowsIn(text: string, delimiter: string): string[][] | undefined {
  try {
    return parse(text, { delimiter, relax_column_count: true, record_delimiter: '\n', trim: true });
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
}

/** The cells of a line; undefined when its quotes are wrong. */
export type Row = readonly [line: Line, cells: readonly string[] | undefined];

/**
 * The rows of lines, each on its own, so that a quote that is not closed spoils no other line. Lines that were joined for
 * a value with line breaks are one row if that has the columns of the header.
 */
export function rowsOf(lines: readonly Line[], { delimiter, names }: Header): Row[] {
  const together = rowsIn(lines.map(({ text }) => text).join('\n'), delimiter);
  // Only quotes can make other numbers of rows and lines: then each line is read alone.
  if (together?.length === lines.length && lines.every(({ parts }) => parts === undefined)) {
    return lines.map((line, i) => [line, together[i]] as const);
  }
  return lines.flatMap((line): readonly Row[] => {
    const rows = rowsIn(line.text, delimiter);
    if (line.parts === undefined) return [[line, rows?.[0]]];
    if (rows?.length === 1 && rows[0]?.length === names.length) return [[line, rows[0]]];
    return line.parts.map((part) => [part, rowsIn(part.text, delimiter)?.[0]] as const);
  });
}

/** Most lines of one value: a quote that is not closed holds up no more than these. */
const MOST_LINES = 100;

/** Joins the lines of a value with line breaks, under the number of its last line. */
export class LineJoiner {
  #open: Line[] = [];

  take(line: Line): readonly Line[] {
    this.#open.push(line);
    const text = this.#open.map((one) => one.text).join('\n');
    if (text.split('"').length % 2 === 1) {
      const parts = this.rest();
      return parts.length === 1 ? parts : [{ ...line, text, parts }];
    }
    return this.#open.length >= MOST_LINES || text.length > MAX_LINE ? this.rest() : [];
  }

  rest(): readonly Line[] {
    return this.#open.splice(0);
  }
}
