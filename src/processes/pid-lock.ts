import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isRunning, ownIdentity, parseIdentity, pidExists } from './process-identity.ts';

/**
 * Takes a lock file for this process. The lock of a process that no longer runs is taken over. So is a lock from
 * another host or container, because the state of its holder cannot be read here.
 * @param heldBy makes the error for a lock that is held; its argument is undefined when the holder is not known
 * @returns a function that releases the lock
 * @throws what `heldBy` returns
 */
export function takePidLock(path: string, heldBy: (pid: number | undefined) => Error): () => void {
  mkdirSync(dirname(path), { recursive: true });
  const holder = holderOf(path);
  if (holder !== undefined) throw heldBy(holder);
  rmSync(path, { force: true });
  try {
    writeFileSync(path, JSON.stringify(ownIdentity()), { flag: 'wx' });
  } catch (error) {
    // Another process took the lock at the same moment.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw heldBy(holderOf(path));
    throw error;
  }
  return () => rmSync(path, { force: true });
}

/** The pid of the process that holds the lock; undefined when no running process does. */
function holderOf(path: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  const identity = parseIdentity(text);
  if (identity === undefined) return olderHolder(text);
  const self = ownIdentity();
  const holds = identity.scope === self.scope && isRunning(identity, self) !== false;
  return holds ? identity.pid : undefined;
}

/** Older versions wrote the pid alone. Any other text counts as abandoned, so that it does not prevent a start. */
function olderHolder(text: string): number | undefined {
  const pid = /^[1-9]\d*$/.test(text) ? Number(text) : 0;
  return pid > 0 && pidExists(pid) ? pid : undefined;
}
