import { type Command, CommanderError } from 'commander';
import { describeError, MISUSED } from './errors.ts';
import type { Terminal } from './terminal.ts';

/**
 * Runs a program of several commands, and says what went wrong.
 * @param args without node and script
 * @param create makes it; what its commands end with goes to `exitWith`
 * @returns 0 done, 1 it could not be done, 2 the command was given what it does not take
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
    // Commander has said what is wrong by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED;
    const { sentence, code: failed } = describeError(error);
    terminal.say(`${terminal.colors.red('✗')} ${sentence}\n`);
    return failed;
  }
}

/** A program that throws where commander would end the process, and whose words go to the terminal. */
export function speakingTo(terminal: Terminal, program: Command): Command {
  return program
    .exitOverride()
    .configureOutput({ writeOut: terminal.print, writeErr: terminal.say })
    .showHelpAfterError('Add --help to see what it takes.');
}
