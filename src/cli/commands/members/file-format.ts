import type { FileFormat } from '../../../adapters/member-files/read-members.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';

/** The formats by the end of the file's name. @throws OperatorError */
export function formatOf(path: string): FileFormat {
  if (/\.csv$/i.test(path)) return 'csv';
  if (/\.(jsonl|ndjson)$/i.test(path)) return 'jsonl';
  throw new OperatorError(`${path} must end in .csv or .jsonl, which says how it is read.`, EXIT_USAGE);
}
