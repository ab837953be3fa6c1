import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { type FileFormat, fileFormat } from '../../../adapters/member-files/read-members.ts';
import { EXIT_USAGE, OperatorError, unreadableFile } from '../../../terminal/errors.ts';

/** The formats by the end of the file's name. @throws OperatorError */
export function formatOf(path: string): FileFormat {
  const format = fileFormat(path);
  if (format !== undefined) return format;
  throw new OperatorError(`${path} must end in .csv or .jsonl, which says how it is read.`, EXIT_USAGE);
}

/** What cannot be read is refused before anything is begun. It is not opened, because a pipe can be read only once. @throws OperatorError */
export function statOf(file: string): Stats {
  try {
    const stats = statSync(file);
    if (stats.isDirectory()) throw Object.assign(new Error(file), { code: 'EISDIR' });
    accessSync(file, constants.R_OK);
    return stats;
  } catch (cause) {
    throw new OperatorError(unreadableFile(file, cause), EXIT_USAGE);
  }
}
