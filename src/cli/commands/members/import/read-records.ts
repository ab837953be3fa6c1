import { EXIT_USAGE, OperatorError } from '../../../../terminal/errors.ts';
import { faultOf, type LineRecord } from './line-fault.ts';
import { createCsvParser } from './parse-csv.ts';
import { type Line, MAX_LINE, readLines } from './read-lines.ts';

export type FileFormat = 'csv' | 'jsonl';

/** Lines that are read, stored and committed together. */
const WINDOW = 200;

/** The formats by the end of the file's name. @throws OperatorError */
export function formatOf(path: string): FileFormat {
  if (/\.csv$/i.test(path)) return 'csv';
  if (/\.(jsonl|ndjson)$/i.test(path)) return 'jsonl';
  throw new OperatorError(`${path} must end in .csv or .jsonl, which says how it is read.`, EXIT_USAGE);
}

/**
 * Reads a file window by window; empty lines are left out.
 * @param after lines up to this number were imported before
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  format: FileFormat,
  after = 0,
): AsyncGenerator<readonly LineRecord[]> {
  let parse = format === 'jsonl' ? parseJson : undefined;
  let window: Line[] = [];
  for await (const line of readLines(bytes)) {
    if (parse === undefined) {
      if (/[\uFFFD\0]/.test(line.text)) {
        throw new OperatorError('The file is not UTF-8: save it as CSV in UTF-8.', EXIT_USAGE);
      }
      parse = createCsvParser(line);
      continue;
    }
    if (line.number === 1 && line.text.trimStart().startsWith('[')) {
      throw new OperatorError('The file is one JSON list: JSONL has one object per line.', EXIT_USAGE);
    }
    if (line.number <= after || (line.text.trim() === '' && !line.tooLong)) continue;
    window.push(line);
    if (window.length < WINDOW) continue;
    yield recordsOf(window, parse);
    window = [];
  }
  if (parse === undefined) throw new OperatorError('The file is empty: line 1 must name the columns.', EXIT_USAGE);
  if (window.length > 0) yield recordsOf(window, parse);
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
    const fields = jsonOf(text);
    const isObject = typeof fields === 'object' && fields !== null && !Array.isArray(fields);
    return isObject ? { line: number, fields } : faultOf(number, 'json', 'must be a JSON object');
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
