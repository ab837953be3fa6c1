import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** Names of the benchmarks to run; undefined: all. */
  readonly only: readonly string[] | undefined;
  readonly json: boolean;
  /** A missed budget ends with exit code 1. */
  readonly strict: boolean;
  readonly help: boolean;
  /** Directory for the functions' CPU profiles. */
  readonly profile: string | undefined;
}

/** An unknown option or benchmark; the message names it and the valid ones. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** @throws UsageError */
export function parseOptions(args: readonly string[], names: readonly string[]): BenchOptions {
  const { only, json = false, strict = false, help = false, profile } = parse(args);
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`There is no benchmark "${unknown}". --only takes one of: ${names.join(', ')}`);
  }
  return { only, json, strict, help, profile };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true },
        json: { type: 'boolean' },
        strict: { type: 'boolean' },
        profile: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

export function usage(benchmarks: readonly { readonly name: string; readonly describes: string }[]): string {
  const width = Math.max(...benchmarks.map(({ name }) => name.length));
  return [
    'npm run bench -- [--only NAME]… [--json] [--strict] [--profile DIR]',
    '',
    'Measures the budgets of the design and prints each beside a plain reading of the specification.',
    '',
    '  --only NAME    runs this one only; may be repeated:',
    ...benchmarks.map(({ name, describes }) => `      ${name.padEnd(width)}  ${describes}`),
    '  --json         prints one object on stdout in place of the table',
    '  --strict       ends with exit code 1 when a budget is missed',
    '  --profile DIR  writes CPU profiles of the functions there; this slows them',
    '',
    'Exit code 1 also when a benchmark could not be run, 2 for wrong options.',
    '',
  ].join('\n');
}
