import { parseArgs } from 'node:util';
import { CATALOGUE, type NamedScenario } from './scenarios/catalogue.ts';

export interface SimulateOptions {
  /** One, or with --all each. */
  readonly scenarios: readonly NamedScenario[];
  readonly all: boolean;
  /** Undefined: as many as each scenario has. */
  readonly notifications: number | undefined;
  readonly seed: number;
  readonly json: boolean;
  /** The file for the picture. */
  readonly plot: string | undefined;
  /** The folder for the pictures scale-NAME.svg. */
  readonly plots: string | undefined;
}

/** An option or a scenario that does not exist; the message names it and the valid ones. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The auditor and the work index keep a row's number in 24 bits. */
const MOST_NOTIFICATIONS = 10_000_000;

/** @returns undefined when help is asked for. @throws UsageError */
export function parseOptions(args: readonly string[]): SimulateOptions | undefined {
  const { scenario, all = false, notifications, seed = '1', json = false, plot, plots, help } = parse(args);
  if (help) return undefined;
  if (all && plot !== undefined) throw new UsageError('--plot is for one scenario. With --all it is --plots DIR');
  return {
    scenarios: scenariosOf(scenario, all),
    all,
    notifications:
      notifications === undefined ? undefined : whole('--notifications', notifications, 100, MOST_NOTIFICATIONS),
    seed: whole('--seed', seed, 0, 2 ** 31 - 1),
    json,
    plot,
    plots,
  };
}

function scenariosOf(name: string | undefined, all: boolean): NamedScenario[] {
  if (all && name !== undefined) throw new UsageError('--all and --scenario exclude each other');
  if (all) return [...CATALOGUE.values()];
  const scenario = CATALOGUE.get(name ?? '');
  if (scenario !== undefined) return [scenario];
  const what = name === undefined ? '--scenario or --all is missing' : `There is no scenario "${name}"`;
  throw new UsageError(`${what}. A scenario is one of: ${[...CATALOGUE.keys()].join(', ')}`);
}

export function usage(): string {
  const width = Math.max(...[...CATALOGUE.keys()].map(({ length }) => length));
  return [
    'npm run simulate -- --scenario NAME [--notifications N] [--seed S] [--json] [--plot FILE.svg]',
    'npm run simulate -- --all [--notifications N] [--seed S] [--json] [--plots DIR]',
    '',
    'Runs the real pipeline in virtual time, with models of AWS and of the providers (docs/scale.md).',
    '',
    '  --scenario NAME    what happens:',
    ...[...CATALOGUE.values()].map(
      ({ name, notifications, describes }) =>
        `      ${name.padEnd(width)}  ${describes} (${notifications.toLocaleString('en')})`,
    ),
    '  --all              each of them, one after the other, and a table of all',
    '  --notifications N  how many, 100 to 10,000,000; otherwise the number in brackets',
    '  --seed S           draws everything else; the same seed gives the same result. 1 unless given',
    '  --json             prints one object on stdout',
    '  --plot FILE.svg    draws the backlog over time',
    '  --plots DIR        draws it into DIR/scale-NAME.svg',
    '',
    'Exit code 1 when an invariant is violated or a budget missed, 2 for wrong options.',
    '',
  ].join('\n');
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        scenario: { type: 'string' },
        all: { type: 'boolean' },
        notifications: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'boolean' },
        plot: { type: 'string' },
        plots: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    const options = '--scenario, --all, --notifications, --seed, --json, --plot, --plots, --help';
    throw new UsageError(`${(error as Error).message} The options are: ${options}`, { cause: error });
  }
}

function whole(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option} must be a whole number from ${least} to ${most}, not "${text}"`);
}
