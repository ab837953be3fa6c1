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
