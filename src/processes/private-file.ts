import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Files that only their owner may read, whoever else may write to the folder: what is there under the name is neither
 * followed, where it is a link, nor written into, where others may have opened it.
 */
const { O_APPEND, O_CREAT, O_EXCL, O_NONBLOCK, O_WRONLY } = constants;
/** Windows has none, and no links that anybody may make. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;
const MODE = 0o600;

/** Makes a new file in place of one that is there. @returns its descriptor @throws the error of the file system; ELOOP for a link */
export function createPrivateFile(path: string): number {
  removeRegular(path);
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL, MODE);
}

/** Opens a file to go on at its end; makes one where there is none. @returns its descriptor @throws as createPrivateFile */
export function continuePrivateFile(path: string): number {
  let file: number;
  try {
    file = openSync(path, O_WRONLY | O_APPEND | O_NONBLOCK | NO_LINK);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return createPrivateFile(path);
  }
  try {
    if (fstatSync(file).isFile()) fchmodSync(file, MODE);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Whether the path leads to a pipe, a terminal or a device: nothing is kept there, and nothing overwritten. */
export function isStream(path: string): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  return there !== undefined && !there.isFile() && !there.isDirectory();
}

/** Writes or replaces a file as a whole, in a folder that is made if there is none: a reader finds all of it or what was there before. */
export function writePrivateFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.new`;
  const file = createPrivateFile(draft);
  try {
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}

export function appendPrivately(path: string, text: string): void {
  const file = continuePrivateFile(path);
  try {
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

function removeRegular(path: string): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (there.isFile()) {
    unlinkSync(path);
    return;
  }
  const code = there.isSymbolicLink() ? 'ELOOP' : there.isDirectory() ? 'EISDIR' : 'EINVAL';
  throw Object.assign(new Error(`${path} is no file.`), { code });
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
