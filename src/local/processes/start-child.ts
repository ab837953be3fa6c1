import { type ChildProcess, fork } from 'node:child_process';
import { closeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { continuePrivateFile } from '../../processes/private-file.ts';
import type { Announcement } from './serve-parent.ts';

export interface Child {
  readonly pid: number;
  /** The data that the child announced; for a server, its port. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Resolves with a description of how the process ended. */
  readonly exited: Promise<string>;
  /** Asks the process to end, and kills it after three seconds. */
  stop(): Promise<void>;
}

interface ForkOptions {
  readonly entry: URL;
  readonly args: readonly string[];
  /** File to which the child's output is appended. */
  readonly logFile: string;
  readonly nodeOptions?: readonly string[];
  /** This process's unless given. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ChildOptions extends Omit<ForkOptions, 'nodeOptions' | 'cwd' | 'env'> {
  /** Name in messages: `the SQS stand-in`. */
  readonly name: string;
  /** Longest wait for the child's announcement, in milliseconds. */
  readonly startTimeoutMs?: number;
}

/** Ends with this process. @throws Error that names the component, why it did not start, and its log */
export async function startChild(options: ChildOptions): Promise<Child> {
  const child = forkLogged(options);
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  const ready = await announcement(child, exited, options);
  return { pid: child.pid ?? 0, ready, exited, stop: () => stopChild(child, exited) };
}

/** Forks one of our modules on the Node of the functions, with its output in a file. */
export function forkLogged({ entry, args, logFile, nodeOptions = [], ...rest }: ForkOptions): ChildProcess {
  const log = continuePrivateFile(logFile);
  const child = fork(entry, args, {
    execPath: pinnedNode(),
    execArgv: [...nodeOptions, '--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', log, log, 'ipc'],
    // In its own process group Ctrl-C does not reach the child: the runtime drains first and then ends its children.
    detached: true,
    ...rest,
  });
  closeSync(log);
  return child;
}

function announcement(child: ChildProcess, exited: Promise<string>, options: ChildOptions): Promise<Child['ready']> {
  const limit = options.startTimeoutMs ?? 20_000;
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer);
      // Not killed at once: the child may have to end a program that it started.
      void stopChild(child, exited);
      reject(new Error(`${options.name} did not start: ${why}. Its log is ${options.logFile}`));
    };
    const timer = setTimeout(() => fail(`no answer within ${limit / 1000} s`), limit);
    child.once('message', (message) => {
      const said = message as Announcement;
      if ('failed' in said) return fail(said.failed);
      clearTimeout(timer);
      return resolve(said.ready);
    });
    child.once('error', (error) => fail(error.message));
    exited.then((how) => fail(`it ended with ${how}`));
  });
}

async function stopChild(child: ChildProcess, exited: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill('SIGKILL'), 3_000);
  await exited;
  clearTimeout(timer);
}

/**
 * Oldest Node that runs TypeScript files and has node:sqlite, which the stand-ins need. Lambda runs the same version.
 */
const NEEDED_MAJOR = 24;

/**
 * The Node for child processes: the current one when it is recent enough, else the one of the `node` package. Functions
 * thus run on Lambda's version, whichever Node started npm.
 * @throws Error that says what to install
 */
export function pinnedNode(): string {
  if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) return process.execPath;
  try {
    return join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
  } catch (cause) {
    throw new Error(`The local runtime needs Node ${NEEDED_MAJOR}; run it through npm after \`npm ci\``, { cause });
  }
}
