import { createHash, randomUUID } from 'node:crypto';
import { basename, join } from 'node:path';
import { isRunning, ownIdentity, parseIdentity } from '../../processes/process-identity.ts';
import { type FileSystem, isFull, makeDirectory, whenFree } from './durable-files.ts';

interface Seen {
  readonly text: string;
  readonly beat: number;
}

/**
 * The right to replace an abandoned lock: a file named after its name and text, which one process can create. Its rename
 * takes the lock and frees the name at once, so whoever is late finds another file in the lock's place. The claim of a
 * process that died with it is abandoned in turn, and is claimed in the same way.
 */
interface Claim {
  readonly file: string;
  readonly lock: Seen;
}

/** After this many missed heartbeats a holder counts as crashed, where its process cannot be looked up. */
const MISSED_BEATS = 4;
/** Of processes that find an abandoned lock at the same moment, each needs a few rounds. */
const MOST_ROUNDS = 100;

/**
 * Locks the spool for this process alone. A dead holder is recognised by pid and start time. A holder on another host
 * or in another container is recognised by missing heartbeats: this function waits for them, and no common clock is
 * needed. The lock keeps two flushes from sending the same requests. Even without it nothing is lost or doubled.
 * @param heartbeatMs milliseconds between two heartbeats
 * @returns a function that releases the lock
 * @throws SpoolLockedError when another process holds the lock; the error of the file system
 * @internal
 */
export async function lockSpool(
  directory: string,
  { fs, heartbeatMs = 3_000 }: { readonly fs: FileSystem; readonly heartbeatMs?: number },
): Promise<() => Promise<void>> {
  const path = join(directory, '.lock');
  await makeDirectory(fs, directory);
  const identity = JSON.stringify({ ...ownIdentity(), token: randomUUID() });
  let mine: string | undefined;
  let claim: Claim | undefined;
  for (let round = 1; mine === undefined; round++) {
    // A link that leads nowhere exists for one call and not for the other.
    if (round > MOST_ROUNDS) throw new Error(`The lock ${path} can be neither taken nor read: remove it.`);
    const file = claim?.file ?? path;
    const created = await create(fs, file, identity);
    if (created === NO_ROOM) return async () => {};
    if (created !== undefined && (claim === undefined || (await takeOver(fs, path, claim, created)))) mine = created;
    const seen = created === undefined ? await look(fs, file) : undefined;
    if (seen && !(await isDead(fs, file, seen, !claim, heartbeatMs))) throw new SpoolLockedError(directory, seen);
    claim = seen && { file: claimOf(path, file, seen), lock: claim?.lock ?? seen };
  }
  const heartbeat = setInterval(() => {
    fs.utimes(path, new Date(), new Date()).catch(() => {});
  }, heartbeatMs).unref();
  return async () => {
    clearInterval(heartbeat);
    // A process that took this lock for abandoned holds it now.
    if ((await look(fs, path))?.text === mine) await whenFree(() => fs.unlink(path)).catch(() => {});
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
    const handle = await whenFree(() => fs.open(path, 'wx', 0o600));
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

async function isDead(fs: FileSystem, path: string, seen: Seen, isLock: boolean, beatMs: number): Promise<boolean> {
  const holder = parseIdentity(seen.text);
  const running = holder && isRunning(holder);
  // A claim may stay although its process lives: when its removal failed.
  if (running === false || (running && isLock)) return !running;
  for (let beat = 0; beat < MISSED_BEATS; beat++) {
    await new Promise((resolve) => setTimeout(resolve, beatMs));
    const now = await look(fs, path);
    if (now?.text !== seen.text || now.beat !== seen.beat) return false;
  }
  return true;
}

function claimOf(path: string, file: string, { text }: Seen): string {
  return `${path}-${createHash('sha256').update(basename(file)).update(text).digest('hex').slice(0, 32)}`;
}

/** @returns whether this process has the lock: not if another was faster */
async function takeOver(fs: FileSystem, path: string, { file, lock }: Claim, mine: string): Promise<boolean> {
  try {
    const now = await look(fs, path);
    if (now?.text === lock.text && now.beat === lock.beat) {
      await whenFree(() => fs.rename(file, path));
      return true;
    }
  } catch (error) {
    await fs.unlink(file).catch(() => {});
    // A rename of which the answer was lost has taken the lock, which would be this process's until its end.
    if (mine === lock.text || (await look(fs, path))?.text !== mine) throw error;
    return true;
  }
  await fs.unlink(file).catch(() => {});
  return false;
}

async function look(fs: FileSystem, path: string): Promise<Seen | undefined> {
  try {
    const text = await whenFree(() => fs.readFile(path, 'utf8'));
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

  constructor(directory: string, { text }: Pick<Seen, 'text'>) {
    const { pid, scope } = parseIdentity(text) ?? {};
    const holder = pid === undefined ? 'another process' : `pid ${pid} on ${scope?.split(' ')[0]}`;
    super(`The spool ${directory} is locked by ${holder}, which is using it: wait for its end, then try again.`);
    this.pid = pid;
  }
}
