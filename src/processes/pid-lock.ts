import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { isRunning, ownIdentity, parseIdentity } from './process-identity.ts';

/** The functions of node:fs in use, so that a test can let another process come in between. */
export type LockFiles = Pick<
  typeof import('node:fs'),
  'mkdirSync' | 'readFileSync' | 'renameSync' | 'rmSync' | 'writeFileSync'
>;

/**
 * Takes a lock file for this process. The lock of a process that no longer runs is taken over. So is a lock from
 * another host or container, because the state of its holder cannot be read here.
 *
 * Of several processes, one at a time looks at the lock and takes it: the one that made the file `.takeover`. The lock
 * itself is put in place complete, so nobody takes a half-written one for abandoned.
 * @param heldBy makes the error for a lock that is held; its argument is undefined when the holder is not known
 * @returns a function that releases the lock
 * @throws what `heldBy` returns
 */
export function takePidLock(
  path: string,
  heldBy: (pid: number | undefined) => Error,
  files: LockFiles = fs,
): () => void {
  const self = JSON.stringify(ownIdentity());
  const takeover = `${path}.takeover`;
  files.mkdirSync(dirname(path), { recursive: true });
  try {
    files.writeFileSync(takeover, self, { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const taker = holderOf(takeover, files);
    // Its maker crashed within the milliseconds of a takeover. The next call succeeds: to go on here, beside others who
    // do the same, could remove the file of one that lives.
    if (taker === undefined) files.rmSync(takeover, { force: true });
    throw heldBy(taker ?? holderOf(path, files));
  }
  try {
    const holder = holderOf(path, files);
    if (holder !== undefined) throw heldBy(holder);
    // A link that somebody put there is removed, not followed.
    files.rmSync(`${path}.draft`, { force: true });
    files.writeFileSync(`${path}.draft`, self, { flag: 'wx' });
    files.renameSync(`${path}.draft`, path);
  } finally {
    files.rmSync(takeover, { force: true });
  }
  return () => {
    // A process on another host may have taken the lock for abandoned.
    if (textOf(path, files) === self) files.rmSync(path, { force: true });
  };
}

/** The pid of the process that holds the lock; undefined when no running process does. */
function holderOf(path: string, files: LockFiles): number | undefined {
  const text = textOf(path, files);
  if (text === undefined) return undefined;
  const identity = parseIdentity(text);
  // Not a lock that this program has written whole: abandoned, so that it does not prevent a start.
  if (identity === undefined) return undefined;
  const self = ownIdentity();
  const holds = identity.scope === self.scope && isRunning(identity, self) !== false;
  return holds ? identity.pid : undefined;
}

function textOf(path: string, files: LockFiles): string | undefined {
  try {
    return files.readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
