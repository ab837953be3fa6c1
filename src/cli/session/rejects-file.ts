import { fstatSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { continuePrivateFile, createPrivateFile, isStream } from '../../processes/private-file.ts';
import { isSameFile } from '../../processes/same-file.ts';
import { EXIT_USAGE, OperatorError, unwritableFile } from '../../terminal/errors.ts';

/** @throws OperatorError if the rejects of an import would overwrite what it reads */
export function refuseSameFile(file: string, rejects: string | undefined): void {
  if (rejects === undefined || !isSameFile(file, rejects)) return;
  throw new OperatorError(`--rejects names the file that is imported, ${file}: choose another file.`, EXIT_USAGE);
}

/** Appends faults to a file. A continued import first removes what was written and not committed. */
export function openRejects(path: string, committed: number) {
  const file = opened(path, committed === 0 ? createPrivateFile : continuePrivateFile);
  // Somebody may have moved it away, or emptied it: to lengthen it would fill it with zeros.
  const length = Math.min(committed, fstatSync(file).size);
  if (length > 0) ftruncateSync(file, length);
  return {
    length,
    /** @returns the bytes that were written */
    write(faults: readonly object[]): number {
      const text = faults.map((one) => `${JSON.stringify(one)}\n`).join('');
      writeFileSync(file, text);
      return Buffer.byteLength(text);
    },
  };
}

function opened(path: string, open: (path: string) => number): number {
  try {
    return isStream(path) ? openSync(path, 'a') : open(path);
  } catch (cause) {
    throw new OperatorError(`--rejects: ${unwritableFile(path, cause)}`, EXIT_USAGE);
  }
}
