import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { unusedPort } from '../../../src/local/processes/tcp-ports.ts';
import { OperatorError } from '../../../src/terminal/errors.ts';

/** A server of a peer on loopback, with its data in the benchmark's directory. */
export type Server = Awaited<ReturnType<typeof start>>;

/** PostgreSQL refuses to run as root. */
const UNPRIVILEGED = 65_534;
const isRoot = process.getuid?.() === 0;
const identity = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};

/** Redis with an append-only file, written every second: its usual durable setting. */
export async function startRedis(home: string): Promise<Server> {
  const [port, dir] = [await unusedPort(), ownDirectory(home, 'redis')];
  const listens = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir];
  const keeps = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--maxmemory-policy', 'noeviction'];
  return start(find('redis-server', 'redis-server'), [...listens, ...keeps], port);
}

/** PostgreSQL as it comes, fsync included. */
export async function startPostgres(home: string): Promise<Server> {
  const [port, dir] = [await unusedPort(), ownDirectory(home, 'postgres')];
  const data = join(dir, 'data');
  const options = { ...identity, stdio: 'ignore' as const };
  execFileSync(find('initdb', 'postgresql'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'], options);
  const listens = ['-p', String(port), '-h', '127.0.0.1', '-k', dir];
  return start(find('postgres', 'postgresql'), ['-D', data, ...listens], port);
}

function ownDirectory(home: string, name: string): string {
  const dir = join(home, name);
  mkdirSync(dir, { recursive: true });
  if (isRoot) {
    chownSync(dir, UNPRIVILEGED, UNPRIVILEGED);
    // The server must reach its directory through this one.
    chmodSync(home, 0o711);
  }
  return dir;
}

/** @throws OperatorError that names its package */
export function find(name: string, debian: string): string {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...globSync('/usr/lib/postgresql/*/bin')];
  const found = folders.map((folder) => join(folder, name)).find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new OperatorError(`${name} is not installed: on Debian and Ubuntu, \`apt-get install ${debian}\``);
}

async function start(binary: string, args: readonly string[], port: number) {
  const child = spawn(binary, args, { ...identity, stdio: 'ignore' });
  const ended = once(child, 'exit');
  for (let tries = 0; !(await answers(port)); tries++) {
    if (child.exitCode !== null || tries === 100) throw new Error(`${binary} does not listen on port ${port}`);
    await pause(200);
  }
  return {
    pid: child.pid ?? 0,
    port,
    async stop() {
      // For PostgreSQL a fast shutdown; Redis ends as by SIGTERM.
      child.kill('SIGINT');
      await ended;
    },
  };
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** USER_HZ of Linux: what /proc counts CPU in. */
const TICKS_PER_SECOND = 100;

/** The fields of a process after its name, which stands in parentheses and may hold spaces; none when it has ended. */
function statOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/** The processes that these started, and they themselves. */
export function treeOf(roots: readonly number[]): number[] {
  const all = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const childrenOf = Map.groupBy(all, (pid) => Number(statOf(pid)[1]));
  const withChildren = (pid: number): number[] => [pid, ...(childrenOf.get(pid) ?? []).flatMap(withChildren)];
  return [...new Set(roots.flatMap(withChildren))];
}

/** Milliseconds of user and system time that processes and their children, those that have ended too, have used so far. */
export function cpuOf(roots: readonly number[]): number {
  const ticks = treeOf(roots).flatMap((pid) => statOf(pid).slice(11, 15).map(Number));
  return (ticks.reduce((sum, one) => sum + one, 0) * 1000) / TICKS_PER_SECOND;
}
