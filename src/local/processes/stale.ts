import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf } from './command-of.ts';

interface Recorded {
  readonly pid: number;
  /** A part of its command line: a pid alone may long be someone else's. */
  readonly command: string;
}

/**
 * Ends the processes that an earlier runtime left in `directory`. They end by themselves with their parent; this is for
 * one that could not notice, such as a function in an endless loop.
 */
export function killStale(directory: string): void {
  for (const { pid, command } of recorded(directory)) {
    if (commandOf(pid).includes(command)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone in the meantime.
      }
    }
  }
  rmSync(file(directory), { force: true });
}

/** Notes the processes to end should this runtime be killed; replaces what was noted before. */
export function recordProcesses(directory: string, processes: readonly Recorded[]): void {
  writeFileSync(file(directory), JSON.stringify(processes));
}

function recorded(directory: string): readonly Recorded[] {
  try {
    return JSON.parse(readFileSync(file(directory), 'utf8'));
  } catch {
    return [];
  }
}

function file(directory: string): string {
  return join(directory, 'processes.json');
}
