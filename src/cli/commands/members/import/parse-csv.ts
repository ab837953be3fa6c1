import { CsvError, parse } from 'csv-parse/sync';
import { memberEntries } from '../../../../adapters/api/newsletter-schemas.ts';
import { EXIT_USAGE, OperatorError } from '../../../../terminal/errors.ts';
import { faultOf, type LineRecord } from './line-fault.ts';
import type { Line } from './read-lines.ts';

const COLUMNS = Object.keys(memberEntries);
/** Columns with several values in one cell, separated by semicolons. */
const LISTS: ReadonlySet<string> = new Set(['labels', 'newsletters']);

/**
 * Reads the header, and returns what reads the lines below it. Each line is one member: no value of a member has line
 * breaks, so a quote that is not closed spoils its own line only.
 * @throws OperatorError when the header has unknown, repeated or missing columns
 */
export function createCsvParser(header: Line): (lines: readonly Line[]) => LineRecord[] {
  const delimiter = delimiterOf(header.text);
  const [columns = []] = parseAll(header.text, delimiter) ?? [];
  const names = columns.map((name) => name.trim().toLowerCase());
  checkHeader(names);

  const toRecord = ({ number }: Line, cells: readonly string[]): LineRecord => {
    if (cells.length !== names.length) {
      const count = (n: number, thing: string) => `${n} ${thing}${n === 1 ? '' : 's'}`;
      const message = `has ${count(cells.length, 'value')}; the header has ${count(names.length, 'column')}`;
      return faultOf(number, 'columns', message);
    }
    const fields = names.flatMap((name, i) => {
      const cell = cells[i]?.trim() ?? '';
      if (cell === '') return [];
      return [
        [
          name,
          LISTS.has(name)
            ? cell
                .split(';')
                .map((one) => one.trim())
                .filter(Boolean)
            : cell,
        ],
      ];
    });
    return { line: number, fields: Object.fromEntries(fields) };
  };

  const parseOne = (line: Line): LineRecord => {
    const [cells] = parseAll(line.text, delimiter) ?? [];
    return cells
      ? toRecord(line, cells)
      : faultOf(line.number, 'quotes', 'has a quote that is not closed or not doubled');
  };

  return (lines) => {
    const rows = parseAll(lines.map(({ text }) => text).join('\n'), delimiter);
    // Only quotes can make other numbers of rows and lines: then each line is read alone.
    if (rows?.length !== lines.length) return lines.map(parseOne);
    return lines.map((line, i) => toRecord(line, rows[i] ?? []));
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

function checkHeader(names: readonly string[]): void {
  const known = `the columns are ${COLUMNS.join(', ')}`;
  // A person's address is not quoted.
  if (names.some((name) => name.includes('@'))) {
    throw new OperatorError(
      `Line 1 has an address, so it is no header: add a line above that names the columns; ${known}.`,
      EXIT_USAGE,
    );
  }
  const unknown = names.filter((name) => !COLUMNS.includes(name));
  if (unknown.length > 0) {
    throw new OperatorError(`Line 1 names unknown columns (${unknown.join(', ')}): ${known}.`, EXIT_USAGE);
  }
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated !== undefined)
    throw new OperatorError(`Line 1 names the column ${repeated} twice: each has its place once.`, EXIT_USAGE);
  if (!names.includes('email')) throw new OperatorError(`Line 1 lacks the column email: ${known}.`, EXIT_USAGE);
}
