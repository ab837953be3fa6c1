import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '../../processes/private-file.ts';
import type { Session } from './session.ts';

const KEPT_EVERY_MS = 2_000;

/** How far a command is, on disk, so that another process goes on from there. */
export function stateFile<S>({ stateDirectory }: Pick<Session, 'stateDirectory'>, name: string) {
  const path = join(stateDirectory, `${name}.json`);
  let kept = 0;
  const write = (state: S) => writePrivateFile(path, JSON.stringify(state));
  return {
    write,
    /** Now and then. */
    keep(state: S, now: Date): void {
      if (now.getTime() - kept < KEPT_EVERY_MS) return;
      kept = now.getTime();
      write(state);
    },
    find(): S | undefined {
      try {
        return JSON.parse(readFileSync(path, 'utf8'));
      } catch {
        return undefined;
      }
    },
    remove: () => rmSync(path, { force: true }),
  };
}
