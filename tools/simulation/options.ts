import { read, UsageError, whole } from '../../src/terminal/command-line.ts';
import { CATALOGUE, type NamedScenario } from './catalogue.ts';

const OPTIONS = {
  scenario: { type: 'string' },
  all: { type: 'boolean', default: false },
  notifications: { type: 'string' },
  seed: { type: 'string', default: '1' },
  json: { type: 'boolean', default: false },
  plot: { type: 'string' },
  plots: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The auditor and the work index keep a row's number in 24 bits. */
const MOST_NOTIFICATIONS = 10_000_000;

export type SimulateOptions = NonNullable<ReturnType<typeof parseOptions>>;

/** @returns undefined when help is asked for. @throws UsageError */
export function parseOptions(args: readonly string[]) {
  const { scenario, notifications, seed, help, ...given } = read(args, OPTIONS);
  if (help) return undefined;
  if (given.all && given.plot !== undefined)
    throw new UsageError('--plot is for one scenario. With --all it is --plots DIR');
  const scenarios = scenariosOf(scenario, given.all);
  if (given.plot !== undefined && scenarios.some((one) => 'volume' in one))
    throw new UsageError(`--plot: there is nothing to see of ${scenario} over time`);
  return {
    ...given,
    scenarios,
    notifications:
      notifications === undefined ? undefined : whole('--notifications', notifications, 100, MOST_NOTIFICATIONS),
    seed: whole('--seed', seed, 0, 2 ** 31 - 1),
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
  const scenarios = [...CATALOGUE.values()].map(
    ({ name, notifications, describes }) =>
      `      ${name.padEnd(width)}  ${describes} (${notifications.toLocaleString('en')})`,
  );
  return `npm run simulate -- --scenario NAME [--notifications N] [--seed S] [--json] [--plot FILE.svg]
npm run simulate -- --all [--notifications N] [--seed S] [--json] [--plots DIR]

Runs the deployed functions in virtual time, with models of AWS and of the providers (docs/scale.md).

  --scenario NAME    what happens:
${scenarios.join('\n')}
  --all              each of them, one after the other, and a table of all: hours, units, memory, budgets
  --notifications N  how many (batches of a mailing), 100 to 10,000,000; otherwise the number in brackets
  --seed S           draws everything else; the same seed gives the same result, but for CPU and memory. 1 unless given
  --json             prints one object on stdout
  --plot FILE.svg    draws the backlog over time
  --plots DIR        draws it into DIR/scale-NAME.svg, where there is something to see

Exit code 1 when an invariant is violated or a budget missed, 2 for wrong options.
`;
}
