import { Command } from 'commander';
import { runCommand, writingTo } from '../../../terminal/command.ts';
import { addSpoolClean } from './clean.ts';
import { addSpoolList, addSpoolShow } from './look.ts';
import { addSpoolFlush, addSpoolResend } from './send.ts';
import type { SpoolContext } from './session.ts';

export function addSpoolCommands(program: Command, context: SpoolContext): void {
  for (const add of [addSpoolFlush, addSpoolList, addSpoolShow, addSpoolResend, addSpoolClean]) add(program, context);
}

/**
 * Runs one of the spool commands as a program of their own.
 * @param args without node and script
 * @returns the exit code: 0 done, 1 the command could not be carried out, 2 wrong arguments or settings
 */
export async function runSpoolProgram(
  args: readonly string[],
  context: Omit<SpoolContext, 'exitWith'>,
): Promise<number> {
  const { terminal } = context;
  return runCommand(args, terminal, (exitWith) => {
    const program = writingTo(terminal, new Command('notification-spool'))
      .description("Inspect and empty the notification client's spool on this machine.")
      .usage('<command> [options]')
      .addHelpText(
        'after',
        '\nExit codes: 0 done, 1 the command could not be carried out, 2 wrong arguments or settings.',
      );
    addSpoolCommands(program, { ...context, exitWith });
    return program;
  });
}
