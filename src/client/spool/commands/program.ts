import { Command } from 'commander';
import { runCommand, writingTo } from '../../../terminal/run-command.ts';
import { addSpoolClean } from './clean.ts';
import { addSpoolFlush } from './flush.ts';
import { addSpoolList } from './list.ts';
import { addSpoolResend } from './resend.ts';
import type { SpoolContext } from './session.ts';
import { addSpoolShow } from './show.ts';

export function addSpoolCommands(program: Command, context: SpoolContext): void {
  addSpoolFlush(program, context);
  addSpoolList(program, context);
  addSpoolShow(program, context);
  addSpoolResend(program, context);
  addSpoolClean(program, context);
}

/**
 * Runs one of the spool's commands, without the others.
 * @param args without node and script
 * @returns 0 done, 1 it could not be done, 2 the command was given what it does not take
 */
export async function runSpoolProgram(
  args: readonly string[],
  context: Omit<SpoolContext, 'exitWith'>,
): Promise<number> {
  const { terminal } = context;
  return runCommand(args, terminal, (exitWith) => {
    const program = writingTo(terminal, new Command('notification-spool'))
      .description("See and empty the notification client's spool on this machine.")
      .usage('<command> [options]')
      .addHelpText('after', '\nExit codes: 0 done, 1 it could not be done, 2 wrong arguments or settings.');
    addSpoolCommands(program, { ...context, exitWith });
    return program;
  });
}
