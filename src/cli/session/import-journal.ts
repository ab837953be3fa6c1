import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { takePidLock } from '../../processes/pid-lock.ts';
import { OperatorError } from '../../terminal/errors.ts';
import { stateFile } from './state-file.ts';

/** Bytes of the file of rejects, beside how far an import has come. */
export interface ImportProgress {
  readonly rejects: number;
}

/** Holds a lock of this machine under a name, until it is released. */
function lock(directory: string, of: string, taken: (pid: string | number) => string): () => void {
  return takePidLock(join(directory, `${of}.pid`), (pid) => new OperatorError(taken(pid ?? 'unknown')));
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

export type ImportJournal<S extends ImportProgress> = ReturnType<typeof importJournal<S>>;

interface Imports<S extends ImportProgress> {
  /** Of the files on disk: `members-import`. */
  readonly kind: string;
  readonly directory: string;
  readonly entry: v.GenericSchema<unknown, S>;
}

/**
 * Keeps on disk how far an import has come, so that the same command goes on after what was committed last.
 * @param scope what makes two commands the same import: deployment, file with its size and time, and options
 * @param rejects the file that only this import may write
 * @throws OperatorError while the same import runs, whose sums would be those of both, or another one writes the rejects
 */
export function importJournal<S extends ImportProgress>(
  { kind, directory, entry }: Imports<S>,
  scope: object,
  rejects?: string,
) {
  const name = `${kind}-${hashOf(JSON.stringify(scope))}`;
  const locks = [lock(directory, name, (pid) => `This import is running already (process ${pid}): wait for its end.`)];
  const release = () => {
    for (const unlock of locks.splice(0)) unlock();
  };
  if (rejects !== undefined) {
    const taken = (pid: string | number) =>
      `Another import (process ${pid}) writes ${rejects} already: choose another file.`;
    try {
      locks.push(lock(directory, `import-rejects-${hashOf(resolve(rejects))}`, taken));
    } catch (error) {
      release();
      throw error;
    }
  }
  const file = stateFile<S>({ stateDirectory: directory }, name);
  const found = v.safeParse(entry, file.find());
  return {
    /** Lets the same import run again. */
    release,
    unfinished: found.success ? found.output : undefined,
    commit: (state: S) => file.write(state),
    end: file.remove,
  };
}

/** What a person is told of an import that did not come to its end. @param last `line 4` or `row 4`: the last that is done */
export const stoppedAfter = (last: string): string =>
  `The import stopped after ${last}. Run the same command again: it goes on there.\n`;
