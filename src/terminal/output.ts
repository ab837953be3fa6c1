import { EXIT_USAGE, OperatorError } from './errors.ts';
import { type Column, table } from './table.ts';
import type { Terminal } from './terminal.ts';

/** Where a command writes, and whether a program reads its result. */
export interface Output {
  readonly terminal: Terminal;
  readonly json: boolean;
}

/** Prints the result of a command on stdout: one line of JSON with --json, otherwise text for a person. */
export function printResult({ terminal, json }: Output, result: unknown, describe: () => string): void {
  terminal.print(json ? `${JSON.stringify(result)}\n` : describe());
}

/**
 * Prints a list: a line of JSON, or a table.
 * @param none what is said on stderr where there is nothing
 * @returns whether it printed a table
 */
export function printList<T>(
  output: Output,
  result: unknown,
  rows: readonly T[],
  none: string,
  columns: readonly Column<NoInfer<T>>[],
): boolean {
  const isEmpty = rows.length === 0 && !output.json;
  if (isEmpty) output.terminal.say(`${none}\n`);
  else printResult(output, result, () => table(rows, columns));
  return !isEmpty && !output.json;
}

/** Reports an error on stderr. */
export function sayError({ say, colors }: Terminal, message: string): void {
  say(`${colors.red('✗')} ${message}\n`);
}

/**
 * Asks the operator before a step that cannot be undone.
 * @param yes the operator has confirmed already, by --yes
 * @throws OperatorError when there is no terminal to ask on
 */
export async function confirm(
  question: string,
  yes: boolean | undefined,
  { terminal }: { readonly terminal: Terminal },
): Promise<boolean> {
  if (yes) return true;
  if (!terminal.interactive) {
    throw new OperatorError('Nothing was done, for there is no terminal to ask on: add --yes to confirm.', EXIT_USAGE);
  }
  const answer = await terminal.ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  terminal.say('Nothing was done.\n');
  return false;
}
