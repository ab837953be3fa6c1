import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../src/local/processes/free-port.ts';

/** A server of a peer on loopback, with its data in the benchmark's directory. */
export interface Server {
  readonly pid: number;
  readonly port: number;
  stop(): Promise<void>;
}

/** The server is not installed. The message says how to install it. */
export class MissingServerError extends Error {
  override readonly name = 'MissingServerError';
}

/** PostgreSQL refuses to run as root. */
const UNPRIVILEGED = 65_534;
const isRoot = process.getuid?.() === 0;
const identity = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};

/** Redis with an append-only file, written every second: its usual durable setting. */
export async function startRedis(home: string): Promise<Server> {
  const dir = ownDirectory(home, 'redis');
  const binary = find('redis-server', [], 'redis-server');
  return start(binary, (port) => [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', dir],
    ...['--appendonly', 'yes', '--appendfsync', 'everysec', '--save', '', '--maxmemory-policy', 'noeviction'],
  ]);
}

/** PostgreSQL as it comes, fsync included. */
export async function startPostgres(home: string): Promise<Server> {
  const dir = ownDirectory(home, 'postgres');
  const folders = existsSync('/usr/lib/postgresql')
    ? readdirSync('/usr/lib/postgresql').map((version) => join('/usr/lib/postgresql', version, 'bin'))
    : [];
  const binary = (name: string) => find(name, folders, 'postgresql');
  const data = join(dir, 'data');
  execFileSync(binary('initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'], {
    ...identity,
    stdio: 'ignore',
  });
  return start(binary('postgres'), (port) => ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', dir]);
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

function find(name: string, folders: readonly string[], debian: string): string {
  const path = [...(process.env['PATH'] ?? '').split(delimiter), ...folders].map((folder) => join(folder, name));
  const found = path.find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new MissingServerError(`${name} is not installed: on Debian and Ubuntu, \`apt-get install ${debian}\``);
}

async function start(binary: string, args: (port: number) => readonly string[]): Promise<Server> {
  const port = await freePort();
  const child = spawn(binary, args(port), { ...identity, stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const { pid } = child;
  if (pid === undefined) throw new Error(`${binary} could not be started`);
  for (let tries = 0; !(await answers(port)); tries++) {
    if (child.exitCode !== null || tries === 100) throw new Error(`${binary} does not listen on port ${port}`);
    await pause(200);
  }
  return {
    pid,
    port,
    async stop() {
      // For PostgreSQL a fast shutdown; Redis ends as by SIGTERM.
      child.kill('SIGINT');
      await ended;
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
