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
