import { createHash, randomBytes } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isRunning, ownIdentity, type ProcessIdentity } from '../../processes/process-identity.ts';

/** The functions of node:fs/promises in use, so that a test can fail or die at each call. */
export type FileSystem = Pick<
  typeof import('node:fs/promises'),
  'mkdir' | 'open' | 'readdir' | 'readFile' | 'rename' | 'stat' | 'unlink' | 'utimes'
>;

/** A draft is left alone for this long if nobody can tell whether its writer still runs. */
const DRAFT_LIFETIME_MS = 3_600_000;

/** Makes a directory durably, for its owner only. */
export async function makeDirectory(fs: FileSystem, directory: string): Promise<void> {
  const first = await fs.mkdir(directory, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  // Each new directory is an entry of its parent.
  for (let made = resolve(directory); made.length >= first.length; made = dirname(made))
    await syncDirectory(fs, dirname(made));
}

/**
 * Writes or replaces a file. After a power failure at any moment the file is complete, or as it was before; after this
 * function has returned, it is complete.
 * @throws the error of the file system (ENOSPC, EACCES, …); the file is then complete, or as it was before.
 */
export async function writeDurably(
  fs: FileSystem,
  directory: string,
  name: string,
  content: string | Uint8Array,
): Promise<void> {
  const self = ownIdentity();
  const random = randomBytes(4).toString('hex');
  const draft = join(directory, `.draft-${self.pid}-${self.started}-${scopeHash(self)}-${random}-${name}`);
  try {
    const handle = await whenFree(() => fs.open(draft, 'wx', 0o600));
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await whenFree(() => fs.rename(draft, join(directory, name)));
  } catch (error) {
    await fs.unlink(draft).catch(() => {});
    throw error;
  }
  await syncDirectory(fs, directory);
}

/** Removes files durably. A missing file is no error. */
export async function removeDurably(fs: FileSystem, directory: string, ...names: readonly string[]): Promise<void> {
  for (const name of names) await whenFree(() => fs.unlink(join(directory, name))).catch(unlessAbsent);
  await syncDirectory(fs, directory);
}

/** Moves a file durably, also to another file system. */
export async function moveDurably(fs: FileSystem, from: string, to: string): Promise<void> {
  try {
    await whenFree(() => fs.rename(from, to));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await writeDurably(fs, dirname(to), basename(to), await fs.readFile(from));
    return removeDurably(fs, dirname(from), basename(from));
  }
  await syncDirectory(fs, dirname(to));
  await syncDirectory(fs, dirname(from));
}

/** Milliseconds between tries, 1.3 s in all. */
const PAUSES_MS = [10, 20, 40, 80, 160, 320, 640];

/** On Windows a virus scanner holds a new file, or one that was just removed, for moments, in which nobody else may. */
export async function whenFree<T>(act: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES_MS) {
    try {
      return await act();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Elsewhere EACCES means a right that is missing, and stays so.
      const isHeld = code === 'EPERM' || code === 'EBUSY' || (code === 'EACCES' && process.platform === 'win32');
      if (!isHeld) throw error;
    }
    await setTimeout(pause);
  }
  return act();
}

/** The names of the files in a directory except hidden ones; none if the directory does not exist. */
export async function filesIn(fs: FileSystem, directory: string): Promise<string[]> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(unlessAbsent);
  return (entries ?? []).filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
}

export interface Draft {
  readonly file: string;
  /** The final name of the file. */
  readonly name: string;
  readonly writer: { readonly pid: number; readonly started: string; readonly scopeHash: string };
}

/** The drafts of all writers; none if the directory does not exist. */
export async function draftsIn(fs: FileSystem, directory: string): Promise<Draft[]> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(unlessAbsent);
  return (entries ?? []).flatMap(({ name: file }) => {
    const [, pid, started = '', scopeHash = '', name] =
      /^\.draft-(\d+)-(\d*)-([0-9a-f]{8})-[0-9a-f]{8}-(.+)$/.exec(file) ?? [];
    return name === undefined ? [] : [{ file, name, writer: { pid: Number(pid), started, scopeHash } }];
  });
}

/** Whether the writer of a draft died before it finished. */
export async function isAbandoned(
  fs: FileSystem,
  directory: string,
  { file, writer }: Draft,
  now: Date,
): Promise<boolean> {
  const self = ownIdentity();
  const running = writer.scopeHash === scopeHash(self) ? isRunning({ ...self, ...writer }, self) : undefined;
  return running === undefined ? isOld(fs, join(directory, file), now) : !running;
}

async function isOld(fs: FileSystem, path: string, now: Date): Promise<boolean> {
  const modified = await fs.stat(path).catch(unlessAbsent);
  return modified !== undefined && Math.abs(now.getTime() - modified.mtimeMs) > DRAFT_LIFETIME_MS;
}

function scopeHash({ scope }: ProcessIdentity): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 8);
}

async function syncDirectory(fs: FileSystem, directory: string): Promise<void> {
  try {
    const handle = await fs.open(directory, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    // Windows and some network file systems cannot sync a directory. Nothing makes their renames more durable.
    if (!['EISDIR', 'EPERM', 'EINVAL', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

export function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

export function whyFailed(error: unknown): string {
  // Jest runs its tests beside the errors of Node, whose classes are others there.
  if (typeof error !== 'object' || error === null || !('message' in error)) return 'for an unknown reason';
  const { code, message, name } = error as NodeJS.ErrnoException;
  return isFull(error) ? 'the disk is full' : `${code ?? name}: ${message}`;
}

/** Whether a file is gone: another process may move or remove it at any time. */
export const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

export function unlessAbsent(error: unknown): undefined {
  if (!isGone(error)) throw error;
  return undefined;
}
