import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '../../processes/private-file.ts';
import type { Session } from './session.ts';

const KEPT_EVERY_MS = 2_000;
/** A long state is kept less often, so that keeping it takes no more of a command's time: characters per millisecond. */
const KEPT_PACE = 1_000;

/** How far a command is, on disk, so that another process goes on from there. */
export function stateFile<S>({ stateDirectory }: Pick<Session, 'stateDirectory'>, name: string) {
  const path = join(stateDirectory, `${name}.json`);
  let again = 0;
  const write = (state: S) => {
    const text = JSON.stringify(state);
    writePrivateFile(path, text);
    return text.length;
  };
  return {
    write,
    /** Now and then. */
    keep(state: S, now: Date): void {
      if (now.getTime() < again) return;
      again = now.getTime() + Math.max(KEPT_EVERY_MS, write(state) / KEPT_PACE);
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
