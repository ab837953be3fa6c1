import type { Command } from 'commander';
import { EXIT_FAILED, EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import type { Listed } from '../spool-reader.ts';
import { flush } from './flush.ts';
import { addApiOptions, findFile, onSpool, type SpoolContext, type SpoolSession, withLock } from './session.ts';

interface ResendOptions {
  readonly all?: boolean;
}

export function addSpoolResend(program: Command, context: SpoolContext): void {
  const command = addApiOptions(program.command('resend'), context)
    .argument('[FILE...]', 'names from `list`')
    .description('move given-up files back into the spool with a new budget, and hand them over')
    .option('--all', 'every complete file of the folder failed')
    .addHelpText(
      'after',
      `
Remove the cause first: a notification that is refused again is given up again. The idempotency keys stay, so that a
notification that the API accepted in the last 72 hours is not sent twice. The API does not know older keys.

Example:
  ${context.command} resend 20261121T090000000Z-0a1b2c3d4e5f.spool`,
    );
  onSpool<ResendOptions>(command, context, resend);
}

async function resend(session: SpoolSession, { all }: ResendOptions, names: readonly string[]): Promise<number> {
  const { spool, terminal } = session;
  if (names.length > 0 === (all === true)) throw new OperatorError('Choose the files: FILEs, or --all.', EXIT_USAGE);
  // Check the settings of the API before any file moves.
  await session.client({});
  const { files, faults } = await withLock(session, async () => {
    const found = all ? await spool.list('failed') : await Promise.all(names.map((name) => findFile(session, name)));
    return putAllBack(session, found);
  });
  if (files.length === 0) {
    terminal.say('There is nothing to send again.\n');
    return faults > 0 ? EXIT_FAILED : 0;
  }
  const code = await flush(session, files);
  return faults > 0 ? EXIT_FAILED : code;
}

/** @returns the names in the spool, and the number of files that could not be moved */
async function putAllBack(
  { spool, terminal }: SpoolSession,
  found: readonly Listed[],
): Promise<{ files: string[]; faults: number }> {
  const files: string[] = [];
  for (const { folder, file, ...rest } of found) {
    try {
      if (folder === 'failed' && rest.header === undefined) throw rest.fault;
      files.push(folder === 'failed' ? await spool.resend(file) : file);
    } catch (error) {
      terminal.say(`${file} was left as it is: ${(error as Error).message}\n`);
    }
  }
  return { files, faults: found.length - files.length };
}
