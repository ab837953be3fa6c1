import { type Command, CommanderError } from 'commander';
import { describeError, EXIT_USAGE } from './errors.ts';
import { sayError } from './messages.ts';
import type { Terminal } from './terminal.ts';

/**
 * Runs one command of a program, and reports its error on the terminal.
 * @param args without node and script
 * @param create makes the program; a command passes its exit code to `exitWith`
 * @returns the exit code: 0 done, 1 the command could not be carried out, 2 an argument or a setting is wrong
 */
export async function runCommand(
  args: readonly string[],
  terminal: Terminal,
  create: (exitWith: (code: number) => void) => Command,
): Promise<number> {
  let code = 0;
  const program = create((given) => {
    code = given;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    // Commander has already written what is wrong.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    const { message, exitCode } = describeError(error);
    sayError(terminal, message);
    return exitCode;
  }
}

/** Makes a program throw instead of ending the process, and write to the terminal. */
export function writingTo(terminal: Terminal, program: Command): Command {
  return program
    .exitOverride()
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.say })
    .showHelpAfterError('Add --help to see what it takes.');
}
