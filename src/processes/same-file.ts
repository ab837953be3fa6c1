import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * Whether two paths name the same file or folder, by a link, too: what is read must not be what is written. Pipes and
 * terminals are none, because nothing of them is overwritten.
 */
export function isSameFile(one: string, other: string): boolean {
  if (resolve(one) === resolve(other)) return true;
  try {
    const [a, b] = [statSync(one), statSync(other)];
    if (!(a.isFile() || a.isDirectory())) return false;
    // Some file systems number nothing.
    return (a.ino > 0 && a.ino === b.ino && a.dev === b.dev) || realpathSync(one) === realpathSync(other);
  } catch {
    // One that does not exist is no other.
    return false;
  }
}
