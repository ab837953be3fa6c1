import * as fs from 'node:fs/promises';
import { basename } from 'node:path';
import type { Command } from 'commander';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import type { Terminal } from '../../../terminal/terminal.ts';
import type { NotificationClient } from '../../client.ts';
import { createNotificationClient } from '../../index.ts';
import { type ClientOptions, type SpoolSettings, spoolSettingsOf } from '../../settings.ts';
import type { GivenUp } from '../given-up.ts';
import { createSpool, type Listed, type Spool } from '../spool.ts';
import { lockSpool } from '../spool-lock.ts';

/** What the spool's commands share, as one of `ops` and as a program of their own on a producer's machine. */
export interface SpoolContext {
  readonly terminal: Terminal;
  readonly clock: () => Date;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What is typed before `list`, `flush` and the others. */
  readonly command: string;
  /** Finds the local runtime's API, where there may be one. */
  readonly localApi?: () => Promise<string | undefined>;
  readonly exitWith: (code: number) => void;
}

/** A command at work on the spool of this machine. It needs no deployment, and the API only to send. */
export interface SpoolSession extends Pick<SpoolContext, 'terminal' | 'clock' | 'command'> {
  readonly json: boolean;
  readonly settings: SpoolSettings;
  readonly spool: Spool;
  /** @throws OperatorError when it is not said where the API is, or with which key. */
  client(onGivenUp: (given: GivenUp) => void): Promise<NotificationClient>;
}

interface CommonOptions {
  readonly json?: boolean;
  readonly dir?: string;
  readonly failedDir?: string;
  readonly url?: string;
  readonly local?: boolean;
}

/**
 * Adds the options that every spool command takes, and connects it.
 * @param run gives the exit code
 */
export function onSpool<O>(
  command: Command,
  context: SpoolContext,
  run: (session: SpoolSession, options: O, args: readonly string[]) => Promise<number>,
): Command {
  return command
    .option('--dir <DIR>', "the spool's directory; else NOTIFICATION_SPOOL_DIRECTORY, or data/spool")
    .option(
      '--failed-dir <DIR>',
      'of what was given up; else NOTIFICATION_FAILED_DIRECTORY, or failed beside the spool',
    )
    .option('--json', 'print JSON on stdout')
    .action(async function (this: Command) {
      const options = this.opts<O & CommonOptions>();
      context.exitWith(await run(sessionOf(context, options), options, this.args));
    });
}

/** For the commands that send. The key comes from the environment alone: a command line is seen by others. */
export function addApiOptions(command: Command, { localApi }: SpoolContext): Command {
  command.option('--url <URL>', 'where the API is; else NOTIFICATION_API_URL. The key: NOTIFICATION_API_KEY');
  return localApi ? command.option('--local', "the running local runtime's API") : command;
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
    async client(onGivenUp) {
      const api = local ? await localApi?.() : url;
      return asOperatorError(() => createNotificationClient({ ...options, url: api, onGivenUp }, env));
    },
  };
}

/** What the client says of its settings is what an operator should read. */
function asOperatorError<T>(create: () => T): T {
  try {
    return create();
  } catch (error) {
    throw error instanceof TypeError ? new OperatorError(error.message, EXIT_USAGE) : error;
  }
}

/** Does something to files while no flush does. @throws SpoolLockedError */
export async function locked<T>({ settings }: SpoolSession, run: () => Promise<T>): Promise<T> {
  const release = await lockSpool(settings.spoolDirectory, { fs });
  try {
    return await run();
  } finally {
    await release();
  }
}

/** The file of that name, or path, in either folder. @throws OperatorError */
export async function findFile({ spool, command }: SpoolSession, given: string): Promise<Listed> {
  const name = basename(given);
  const all = [...(await spool.list('spool')), ...(await spool.list('failed'))];
  const found = all.find(({ file }) => file === name);
  if (found) return found;
  const { folders } = spool;
  throw new OperatorError(
    `There is no file ${name} in ${folders.spool} or ${folders.failed}: see \`${command} list\`.`,
  );
}
