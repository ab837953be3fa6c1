import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { ExplainedError } from '../core/model/problem.ts';
import { processTerminal } from './terminal.ts';

/** An option or a name that does not exist; the message names it and the valid ones. */
export class UsageError extends ExplainedError {
  override readonly name = 'UsageError';
  override readonly exitCode = 2;
}

/** Runs a command with its options. @returns its exit code: 2 for wrong ones, which are told @param parse undefined: help */
export async function command<T>(
  parse: (args: readonly string[]) => T | undefined,
  usage: () => string,
  run: (options: T) => Promise<number>,
): Promise<number> {
  const terminal = processTerminal();
  try {
    const options = parse(process.argv.slice(2));
    if (options !== undefined) return await run(options);
    terminal.print(usage());
    return 0;
  } catch (error) {
    if (!(error instanceof ExplainedError)) throw error;
    terminal.say(`${error.message}\n`);
    return error.exitCode;
  }
}

/** @throws UsageError */
export function read<O extends ParseArgsOptionsConfig>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    const all = Object.keys(options).map((name) => `--${name}`);
    throw new UsageError(`${(error as Error).message}. The options are: ${all.join(', ')}`, { cause: error });
  }
}

export function whole(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option} must be a whole number from ${least} to ${most}, not "${text}"`);
}
