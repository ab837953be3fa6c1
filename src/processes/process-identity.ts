import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';

/** Tells a process apart from every other process that ever has the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Where the pid is valid: the host, its boot and the pid namespace. */
  readonly scope: string;
  /** Start time: kernel ticks on Linux, epoch seconds elsewhere; empty where the system does not report it. */
  readonly started: string;
}

/** The identity of a process on this machine. `started` is empty when there is no such process. */
export function identityOf(pid: number): ProcessIdentity {
  const boot = attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
  const namespace = attempt(() => readlinkSync('/proc/self/ns/pid'));
  const started = pid === process.pid ? ownStart() : (statusOf(pid)?.started ?? '');
  return { pid, scope: [hostname(), boot, namespace].join(' '), started };
}

export const ownIdentity = (): ProcessIdentity => identityOf(process.pid);

/** The user of this process. A container may give it an id that no passwd entry names, and `userInfo` throws there. */
export function userOfMachine(
  named: () => string = () => userInfo().username,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  return attempt(named) || env['USER'] || `uid ${process.getuid?.() ?? 'unknown'}`;
}

/** Reads an identity that was stored as JSON; undefined when the text holds none. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const stored = attempt(() => JSON.parse(text) as Partial<ProcessIdentity> | null);
  const complete =
    typeof stored?.pid === 'number' && typeof stored.scope === 'string' && typeof stored.started === 'string';
  return complete ? (stored as ProcessIdentity) : undefined;
}

/** Whether a process still runs; undefined when this machine cannot tell. */
export function isRunning(other: ProcessIdentity, self: ProcessIdentity = ownIdentity()): boolean | undefined {
  if (other.scope !== self.scope) return undefined;
  const status = self.started === '' ? undefined : statusOf(other.pid);
  // Without start times, or where one cannot be read, a later process may have the same pid: only its absence is certain.
  if (status === undefined || other.started === '') return pidExists(other.pid) ? undefined : false;
  // A zombie was killed and waits for its parent to read its exit code: it does not work any more.
  return status.started === other.started && !'ZX'.includes(status.state);
}

/** Whether some process has this pid, be it another user's. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

interface Status {
  readonly state: string;
  readonly started: string;
}

let ownStartTime: string | undefined;

/** Kept, because it costs a run of `ps` where there is no /proc. */
function ownStart(): string {
  ownStartTime ??= statusOf(process.pid)?.started ?? '';
  return ownStartTime;
}

function statusOf(pid: number): Status | undefined {
  return process.platform === 'linux' ? statusInProc(pid) : statusByPs(pid);
}

/** proc(5): state is field 3 and start time is field 22; field 2, the name, is in parentheses and may hold anything. */
function statusInProc(pid: number): Status | undefined {
  const fields = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
    ?.replace(/^.*\) /s, '')
    .split(' ');
  const [state, started] = [fields?.[0], fields?.[19]];
  return state === undefined || started === undefined ? undefined : { state, started };
}

/** Asks `ps`, as macOS and BSD have no /proc. */
export function statusByPs(pid: number): Status | undefined {
  const line = attempt(() =>
    execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      // The start time is written in the caller's language and time zone.
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  const [, state, time] = /^\s*(\S)\S*\s+(.+?)\s*$/.exec(line ?? '') ?? [];
  const started = Date.parse(`${time} UTC`) / 1000;
  return state === undefined || Number.isNaN(started) ? undefined : { state, started: String(started) };
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
