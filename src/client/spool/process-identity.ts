import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** A process, told apart from every other one that ever has the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Where that pid means something: the host, its boot and its pid namespace. */
  readonly scope: string;
  /** When it started, in the kernel's ticks; empty where that cannot be told. */
  readonly started: string;
}

export function ownIdentity(): ProcessIdentity {
  const boot = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = attempt(() => readlinkSync('/proc/self/ns/pid'));
  return {
    pid: process.pid,
    scope: [hostname(), boot, namespace].join(' '),
    started: statOf(process.pid)?.started ?? '',
  };
}

/** Whether a process still runs; undefined when that cannot be told from here. */
export function isRunning(other: ProcessIdentity, self: ProcessIdentity = ownIdentity()): boolean | undefined {
  if (other.scope !== self.scope) return undefined;
  if (self.started !== '') {
    const stat = statOf(other.pid);
    // A killed process whose parent has not asked for its end yet is a zombie: it does nothing any more.
    return stat !== undefined && stat.started === other.started && !'ZX'.includes(stat.state);
  }
  // Without start times a pid may have been given anew: only its absence is sure.
  return exists(other.pid) ? undefined : false;
}

/** proc(5): state is field 3 and start time field 22; field 2, the name, is in parentheses and may hold anything. */
function statOf(pid: number): { readonly state: string; readonly started: string } | undefined {
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
    ?.replace(/^.*\) /s, '')
    .split(' ');
  const [state, started] = [fields?.[0], fields?.[19]];
  return state === undefined || started === undefined ? undefined : { state, started };
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
