import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { takePidLock } from '../../../processes/pid-lock.ts';
import { OperatorError } from '../../../terminal/errors.ts';
import { stateFile } from '../../session/state-file.ts';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const entry = v.object({
  /** Lines up to this number are stored, or named as bad. */
  line: count,
  created: count,
  changed: count,
  bad: count,
  /** Absent in the file of an older import. */
  skipped: v.optional(count, 0),
  unsubscribed: v.optional(count, 0),
  suppressed: v.optional(count, 0),
  /** Bytes of the file of rejects. */
  rejects: count,
});

export type ImportState = v.InferOutput<typeof entry>;
export const NOTHING_IMPORTED: ImportState = {
  line: 0,
  created: 0,
  changed: 0,
  bad: 0,
  rejects: 0,
  skipped: 0,
  unsubscribed: 0,
  suppressed: 0,
};

/** Holds a lock of this machine under a name, until it is released. */
function lock(directory: string, of: string, taken: (pid: string | number) => string): () => void {
  return takePidLock(join(directory, `members-import-${of}.pid`), (pid) => new OperatorError(taken(pid ?? 'unknown')));
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

export type ImportJournal = ReturnType<typeof importJournal>;

/**
 * Keeps on disk how far an import has come, so that the same command goes on after the last committed line.
 * @param scope what makes two commands the same import: deployment, file with its size and time, and options
 * @param rejects the file that only this import may write
 * @throws OperatorError while the same import runs, whose sums would be those of both, or another one writes the rejects
 */
export function importJournal(directory: string, scope: object, rejects?: string) {
  const name = hashOf(JSON.stringify(scope));
  const locks = [lock(directory, name, (pid) => `This import is running already (process ${pid}): wait for its end.`)];
  const release = () => {
    for (const unlock of locks.splice(0)) unlock();
  };
  if (rejects !== undefined) {
    const taken = (pid: string | number) =>
      `Another import (process ${pid}) writes ${rejects} already: choose another file.`;
    try {
      locks.push(lock(directory, hashOf(resolve(rejects)), taken));
    } catch (error) {
      release();
      throw error;
    }
  }
  const file = stateFile({ stateDirectory: directory }, `members-import-${name}`);
  const found = v.safeParse(entry, file.find());
  return {
    /** Lets the same import run again. */
    release,
    unfinished: found.success ? found.output : undefined,
    commit: (state: ImportState) => file.write(state),
    end: file.remove,
  };
}
