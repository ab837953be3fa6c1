import { createHash, randomBytes } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { isRunning, ownIdentity, type ProcessIdentity } from '../../processes/process-identity.ts';

/** What of node:fs/promises is used, so that a test can fail or die at each call. */
export type FileSystem = Pick<
  typeof import('node:fs/promises'),
  'mkdir' | 'open' | 'readdir' | 'readFile' | 'rename' | 'stat' | 'unlink' | 'utimes'
>;

/** A draft of a process that cannot be asked about is left alone for so long. */
const DRAFT_LIFETIME_MS = 3_600_000;

/** Makes a directory that only its owner may look into, durably. */
export async function makeDirectory(fs: FileSystem, directory: string): Promise<void> {
  const first = await fs.mkdir(directory, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  // Each that was made is an entry of its parent.
  for (let made = resolve(directory); made.length >= first.length; made = dirname(made))
    await syncDirectory(fs, dirname(made));
}

/**
 * Writes a file so that it is there whole, or not at all, whenever the power goes; when this returns, it is there.
 * It replaces a file of that name.
 * @throws what the file system throws (ENOSPC, EACCES, …); the file of that name is as it was, or whole.
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
    const handle = await fs.open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(draft, join(directory, name));
  } catch (error) {
    await fs.unlink(draft).catch(() => {});
    throw error;
  }
  await syncDirectory(fs, directory);
}

/** Removes a file durably; that it is gone already is fine. */
export async function removeDurably(fs: FileSystem, directory: string, name: string): Promise<void> {
  await fs.unlink(join(directory, name)).catch(unlessAbsent);
  await syncDirectory(fs, directory);
}

/** Moves a file durably, over a border of file systems too. */
export async function moveDurably(fs: FileSystem, from: string, to: string): Promise<void> {
  try {
    await fs.rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await writeDurably(fs, dirname(to), basename(to), await fs.readFile(from));
    return removeDurably(fs, dirname(from), basename(from));
  }
  await syncDirectory(fs, dirname(to));
  await syncDirectory(fs, dirname(from));
}

/** The names of the files in a directory, without hidden ones; none when there is no such directory. */
export async function filesIn(fs: FileSystem, directory: string): Promise<string[]> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(unlessAbsent);
  return (entries ?? []).filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
}

export interface Draft {
  readonly file: string;
  /** Of the file that it was to become. */
  readonly name: string;
  readonly writer: { readonly pid: number; readonly started: string; readonly scopeHash: string };
}

/** Drafts of whatever writer; none when there is no such directory. */
export async function draftsIn(fs: FileSystem, directory: string): Promise<Draft[]> {
  const entries = await fs.readdir(directory, { withFileTypes: true }).catch(unlessAbsent);
  return (entries ?? []).flatMap(({ name: file }) => {
    const [, pid, started = '', scopeHash = '', name] =
      /^\.draft-(\d+)-(\d*)-([0-9a-f]{8})-[0-9a-f]{8}-(.+)$/.exec(file) ?? [];
    return name === undefined ? [] : [{ file, name, writer: { pid: Number(pid), started, scopeHash } }];
  });
}

/** Whether a draft's writer has died before it was done. */
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
    // Windows and some network file systems cannot; their renames are as durable as they get.
    if (!['EISDIR', 'EPERM', 'EINVAL', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Of the disk, or of what its user may have of it. */
export function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Why the file system failed, for people. */
export function whyFailed(error: unknown): string {
  if (!(error instanceof Error)) return 'for no reason that is known';
  const { code, message, name } = error as NodeJS.ErrnoException;
  return isFull(error) ? 'the disk is full' : `${code ?? name}: ${message}`;
}

/** Another process may move or remove a file at any time. */
export function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

export function unlessAbsent(error: unknown): undefined {
  if (!isGone(error)) throw error;
  return undefined;
}
