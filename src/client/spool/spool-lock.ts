import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isRunning, ownIdentity, parseIdentity } from '../../processes/process-identity.ts';
import { type FileSystem, isFull, makeDirectory } from './durable-files.ts';

export interface LockOptions {
  readonly fs: FileSystem;
  /** Milliseconds between two heartbeats. */
  readonly heartbeatMs?: number;
}

interface Seen {
  readonly text: string;
  readonly beat: number;
}

const HEARTBEAT_MS = 3_000;
/** After this many missed heartbeats a holder counts as crashed, where its process cannot be looked up. */
const MISSED_BEATS = 4;
/** Of processes that find an abandoned lock at the same moment, each needs a few rounds. */
const MOST_ROUNDS = 100;

/**
 * Locks the spool for this process alone. A dead holder is recognised by pid and start time. A holder on another host
 * or in another container is recognised by missing heartbeats: this function waits for them, and no common clock is
 * needed. The lock keeps two flushes from sending the same requests. That nothing is lost or doubled does not depend on
 * it.
 * @returns a function that releases the lock
 * @throws SpoolLockedError when another process holds the lock; the error of the file system
 */
export async function lockSpool(
  directory: string,
  { fs, heartbeatMs = HEARTBEAT_MS }: LockOptions,
): Promise<() => Promise<void>> {
  const path = join(directory, '.lock');
  await makeDirectory(fs, directory);
  const identity = JSON.stringify({ ...ownIdentity(), token: randomUUID() });
  let mine = await create(fs, path, identity);
  for (let round = 1; mine === undefined; round++, mine = await create(fs, path, identity)) {
    // A link that leads nowhere exists for one call and not for the other.
    if (round > MOST_ROUNDS) throw new Error(`The lock ${path} can be neither taken nor read: remove it.`);
    const seen = await look(fs, path);
    if (seen === undefined) continue;
    const holder = parseIdentity(seen.text);
    if (!(await isDead(fs, path, seen, heartbeatMs))) {
      throw new SpoolLockedError(directory, holder?.pid, holder?.scope.split(' ')[0]);
    }
    await takeAway(fs, path, seen);
  }
  if (mine === NO_ROOM) return async () => {};
  await removeLeftovers(fs, directory).catch(() => {});
  const heartbeat = setInterval(() => {
    const now = new Date();
    fs.utimes(path, now, now).catch(() => {});
  }, heartbeatMs).unref();
  return async () => {
    clearInterval(heartbeat);
    // A process that took this lock for abandoned holds it now.
    if ((await look(fs, path))?.text === mine) await fs.unlink(path).catch(() => {});
  };
}

/**
 * Creates the lock file. On a full disk the lock is held although its text is incomplete, or although there is no room
 * for the file at all: a flush makes room, and what would it wait for? Its holder is recognised by its heartbeats, and
 * one without a file not at all, so that two may then send the same, as repeats.
 * @returns the text in the file; undefined when the file exists already
 */
async function create(fs: FileSystem, path: string, text: string): Promise<string | typeof NO_ROOM | undefined> {
  try {
    const handle = await fs.open(path, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      return text;
    } catch (error) {
      if (isFull(error)) return await fs.readFile(path, 'utf8');
      await fs.unlink(path).catch(() => {});
      throw error;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    if (isFull(error)) return NO_ROOM;
    throw error;
  }
}

const NO_ROOM = Symbol('no room for a lock file');

async function isDead(fs: FileSystem, path: string, seen: Seen, heartbeatMs: number): Promise<boolean> {
  const holder = parseIdentity(seen.text);
  const running = holder && isRunning(holder);
  if (running !== undefined) return !running;
  for (let beat = 0; beat < MISSED_BEATS; beat++) {
    await new Promise((resolve) => setTimeout(resolve, heartbeatMs));
    const now = await look(fs, path);
    if (now?.text !== seen.text || now.beat !== seen.beat) return false;
  }
  return true;
}

/** Moves an abandoned lock away. Of several processes one succeeds; a process that moved a newer lock puts it back. */
async function takeAway(fs: FileSystem, path: string, seen: Seen): Promise<void> {
  const aside = `${path}-${randomUUID()}`;
  try {
    await fs.rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = await look(fs, aside);
  if (moved !== undefined && moved.text !== seen.text) await create(fs, path, moved.text);
  await fs.unlink(aside).catch(() => {});
}

/** Removes what a process left that crashed while it moved an abandoned lock; a live holder's is about to return. */
async function removeLeftovers(fs: FileSystem, directory: string): Promise<void> {
  for (const name of await fs.readdir(directory)) {
    if (!name.startsWith('.lock-')) continue;
    const path = join(directory, name);
    const holder = parseIdentity((await look(fs, path))?.text ?? '');
    if (holder !== undefined && isRunning(holder) === false) await fs.unlink(path);
  }
}

async function look(fs: FileSystem, path: string): Promise<Seen | undefined> {
  try {
    const text = await fs.readFile(path, 'utf8');
    return { text, beat: (await fs.stat(path)).mtimeMs };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Another process uses the spool. */
export class SpoolLockedError extends Error {
  override readonly name = 'SpoolLockedError';
  readonly pid: number | undefined;

  constructor(directory: string, pid: number | undefined, host: string | undefined) {
    const holder = pid === undefined ? 'another process' : `pid ${pid}${host ? ` on ${host}` : ''}`;
    super(`The spool ${directory} is locked by ${holder}, which is using it: wait for its end, then try again.`);
    this.pid = pid;
  }
}
