import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { takePidLock } from '../../processes/pid-lock.ts';
import { killOrphans, type Teardown } from '../processes/teardown.ts';

export interface Directories {
  readonly workDir: string;
  readonly dataDir: string | undefined;
  /** Holds the files of this run: the data directory where there is one, else the working directory. */
  readonly home: string;
  readonly logs: string;
}

/** Locks them and removes what an earlier runtime left. @throws Error that names the runtime which uses one */
export function takeDirectories(
  options: { readonly workDir?: string; readonly dataDir?: string },
  teardown: Teardown,
): Directories {
  const workDir = resolve(options.workDir ?? DEFAULT_WORK_DIR);
  const dataDir = options.dataDir === undefined ? undefined : resolve(options.dataDir);
  const home = dataDir ?? workDir;
  for (const directory of new Set([workDir, home])) {
    const unlock = lockDirectory(directory);
    teardown.add('lock', async () => unlock());
    // Mails, tables and keys lie in it, and other users of the machine may look into what is not closed.
    chmodSync(directory, 0o700);
  }
  rmSync(endpointsFile(workDir), { force: true });
  killOrphans(home);
  const logs = join(home, 'logs');
  if (dataDir === undefined) rmSync(logs, { recursive: true, force: true });
  mkdirSync(logs, { recursive: true });
  return { workDir, dataDir, home, logs };
}

/**
 * Takes a directory for this runtime alone.
 * @returns a function that releases the directory
 * @throws Error that names the runtime which uses the directory, and says what to do
 */
export function lockDirectory(directory: string): () => void {
  return takePidLock(join(directory, 'runtime.pid'), (pid) => {
    const stop = pid === undefined ? 'Ctrl-C' : `Ctrl-C or: kill ${pid}`;
    return new Error(
      `A local runtime is already up in ${directory} (pid ${pid ?? 'unknown'}). Use it, or stop it first with ${stop}`,
    );
  });
}

export const PROJECT_ROOT = join(import.meta.dirname, '..', '..', '..');

/** Directory of the synthesized app, the logs and the endpoints file. Git ignores it. */
export const DEFAULT_WORK_DIR = join(PROJECT_ROOT, '.local');

/** The file in which clients look for a running runtime. */
export const endpointsFile = (workDir: string): string => join(workDir, 'endpoints.json');
