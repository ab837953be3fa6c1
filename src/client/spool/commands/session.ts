import * as fs from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { type Chosen, type CommandText, describeCommand, type Options } from '../../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import type { Output } from '../../../terminal/output.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import type { NotificationClient } from '../../client.ts';
import { createNotificationClient } from '../../index.ts';
import { type ClientOptions, type SpoolSettings, spoolSettingsOf } from '../../settings.ts';
import { createSpool, type Spool } from '../spool.ts';
import { lockSpool } from '../spool-lock.ts';
import type { Listed } from '../spool-reader.ts';

/** What the spool commands share, both in `ops` and as a program of their own on the machine of a producer. */
export interface SpoolContext {
  readonly terminal: Terminal;
  readonly clock: () => Date;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The command line before `list`, `flush` and the others. */
  readonly command: string;
  /** Finds the API of the local runtime; only in `ops`. */
  readonly localApi?: () => Promise<string | undefined>;
  readonly exitWith: (code: number) => void;
}

/** A command that works on the spool of this machine. It needs no deployment, and needs the API only to send. */
export interface SpoolSession extends Output, Pick<SpoolContext, 'clock' | 'command'> {
  readonly settings: SpoolSettings;
  readonly spool: Spool;
  /** Host and port of the API, as far as they are known. */
  apiHost(): Promise<string | undefined>;
  /** @throws OperatorError if the URL or the key of the API is missing */
  client(told: Pick<ClientOptions, 'onGivenUp' | 'onLargeSpool'>): Promise<NotificationClient>;
}

const COMMON = {
  '--dir <DIR>': 'directory of the spool; by default NOTIFICATION_SPOOL_DIRECTORY, or data/spool',
  '--failed-dir <DIR>':
    'directory of given-up files; by default NOTIFICATION_FAILED_DIRECTORY, or failed beside the spool',
  '--json': 'print JSON on stdout',
} as const;

/** Of commands that send. The key comes only from the environment, as others can see a command line. */
const TO_API = {
  '--url <URL>': 'URL of the API; by default NOTIFICATION_API_URL. The key: NOTIFICATION_API_KEY',
} as const;
const TO_LOCAL_API = { ...TO_API, '--local': 'use the API of the running local runtime' } as const;
type CommonOptions = Partial<Chosen<typeof COMMON & typeof TO_LOCAL_API>>;

interface SpoolCommand<S extends Options> extends Omit<CommandText<S>, 'help'> {
  readonly help: (command: string) => string;
  /** Whether it sends to the API. */
  readonly sends?: true;
  /** @returns the exit code, if it is not 0 */
  readonly run: (session: SpoolSession, options: Chosen<S>, args: readonly string[]) => Promise<number | undefined>;
}

export function onSpool<const S extends Options = Record<never, never>>({ sends, help, ...text }: SpoolCommand<S>) {
  return (parent: Command, context: SpoolContext): void => {
    const api = context.localApi ? TO_LOCAL_API : TO_API;
    const described = { ...text, options: { ...(sends && api), ...text.options }, help: help(context.command) };
    describeCommand(parent, described, COMMON).action(async function (this: Command) {
      const options = this.opts<Chosen<S> & CommonOptions>();
      context.exitWith((await text.run(sessionOf(context, options), options, this.args)) ?? 0);
    });
  };
}

function sessionOf(context: SpoolContext, { json = false, dir, failedDir, url, local }: CommonOptions): SpoolSession {
  const { env, clock, terminal, command, localApi } = context;
  const options: ClientOptions = { spoolDirectory: dir, failedDirectory: failedDir };
  const settings = asOperatorError(() => spoolSettingsOf(options, env));
  const { spoolDirectory: directory, failedDirectory, keys } = settings;
  return {
    terminal,
    clock,
    command,
    json,
    settings,
    spool: createSpool({ fs, clock, directory, failedDirectory, keys }),
    async apiHost() {
      const api = (local ? await localApi?.() : url) ?? env['NOTIFICATION_API_URL'] ?? '';
      return URL.canParse(api) ? new URL(api).host : undefined;
    },
    async client(told) {
      const api = local ? await localApi?.() : url;
      return asOperatorError(() => createNotificationClient({ ...options, url: api, ...told }, env));
    },
  };
}

/** The client's messages about its settings are written for operators, too. */
function asOperatorError<T>(create: () => T): T {
  try {
    return create();
  } catch (error) {
    throw error instanceof TypeError ? new OperatorError(error.message, EXIT_USAGE) : error;
  }
}

/** Holds the lock of the spool while `run` works on its files. @throws SpoolLockedError */
export async function withLock<T>({ settings }: SpoolSession, run: () => Promise<T>): Promise<T> {
  const release = await lockSpool(settings.spoolDirectory, { fs });
  try {
    return await run();
  } finally {
    await release();
  }
}

/** Finds a file of either folder by its name or path. @throws OperatorError if there is none */
export async function findFile({ spool, command }: SpoolSession, nameOrPath: string): Promise<Listed> {
  const name = basename(nameOrPath);
  const found = await spool.find(name);
  if (found) return found;
  const { folders } = spool;
  throw new OperatorError(
    `There is no file ${name} in ${folders.spool} or ${folders.failed}: see \`${command} list\`, with the same directories.`,
  );
}
