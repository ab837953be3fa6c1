import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ of Linux: what /proc counts CPU in. */
const TICKS_PER_SECOND = 100;

interface Stat {
  readonly pid: number;
  readonly parent: number;
  /** Milliseconds of user and system time, of children that have ended, too. */
  readonly cpu_ms: number;
}

/** The processes that these started, and they themselves. */
export function treeOf(roots: readonly number[]): number[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (statOf(Number(name)) ?? []) : []));
  const found = new Set(roots);
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return [...found];
}

/** Milliseconds of CPU that a server and its children have used so far. */
export function serverCpu(roots: readonly number[]): number {
  return treeOf(roots).reduce((sum, pid) => sum + (statOf(pid)?.cpu_ms ?? 0), 0);
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold spaces.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
    return { pid, parent: Number(fields[1]), cpu_ms: (ticks * 1000) / TICKS_PER_SECOND };
  } catch {
    return undefined;
  }
}
