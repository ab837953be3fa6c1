import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf } from './command-of.ts';

interface Holder {
  readonly pid: number;
  readonly command: string;
}

/**
 * Takes a directory for this runtime alone. A holder that no longer runs, or whose pid is by now another program's, does not count.
 * @returns what gives it back
 * @throws Error that names the holder and what to do.
 */
export function lockDirectory(directory: string): () => void {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'runtime.pid');
  const holder = read(file);
  if (holder !== undefined && holder.pid !== process.pid && commandOf(holder.pid) === holder.command) {
    throw new Error(
      `A local runtime is already up in ${directory} (pid ${holder.pid}). ` +
        `Use it, or stop it first with Ctrl-C or: kill ${holder.pid}`,
    );
  }
  writeFileSync(file, JSON.stringify({ pid: process.pid, command: commandOf(process.pid) } satisfies Holder));
  return () => rmSync(file, { force: true });
}

function read(file: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
