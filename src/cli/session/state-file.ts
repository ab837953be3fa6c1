import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from './session.ts';

const KEPT_EVERY_MS = 2_000;

/** How far a command is, on disk, so that another process goes on from there. */
export function stateFile<S>({ stateDirectory }: Pick<Session, 'stateDirectory'>, name: string) {
  const path = join(stateDirectory, `${name}.json`);
  let kept = 0;
  const write = (state: S) => {
    mkdirSync(stateDirectory, { recursive: true });
    // A death in between leaves the state before.
    writeFileSync(`${path}.new`, JSON.stringify(state));
    renameSync(`${path}.new`, path);
  };
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
