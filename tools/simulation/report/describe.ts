import { COLORS } from '../../../src/terminal/printable.ts';
import { fields, table } from '../../../src/terminal/table.ts';
import type { BudgetResult, Figures, figuresOf, Wait } from './figures.ts';

/** What all kinds of simulations show. */
type Common = 'scenario' | 'seed' | 'notifications' | 'simulated_seconds' | 'cost' | 'budgets';
export type Described = Pick<Figures, Common | 'duplicates' | 'violations' | 'examples'>;

/** A figure that only one kind of simulation has, by its name. */
export type Line = readonly [name: string, value: unknown];

/** The figures for a person. @param lines those of its kind */
export function describe(figures: Described, lines: readonly Line[], waits: readonly Wait[] = []): string {
  const all: Line[] = [
    ['scenario', `${figures.scenario}, seed ${figures.seed}`],
    ['notifications', figures.notifications.toLocaleString('en')],
    ...lines,
    ['simulated', `${rounded(figures.simulated_seconds / 3600, 2)} h`],
    [
      'cost',
      `$${rounded(figures.cost.usd, 2)}: ${counts({ ...figures.cost, usd: 0, usd_per_million_notifications: 0 })}`,
    ],
    ['violations', figures.violations],
  ];
  return `${fields(all)}${waits.length > 0 ? waitsTable(waits) : ''}\n${judgement(figures.budgets, figures.examples)}`;
}

/** What all have that send. */
export function sendingLines(figures: Figures): readonly Line[] {
  const { units_per_request, hottest } = figures.pipeline_state;
  const state = `${rounded(units_per_request, 3)} write units per request`;
  return [
    ['duplicates', counts(figures.duplicates_by_cause) || figures.duplicates],
    ['refused for a rate', figures.throttled_by_providers],
    ['pipeline state', `${state}; ${hottest.per_second} a second on ${hottest.item || 'none'}`],
    ['events', counts(figures.events) || 'none'],
  ];
}

/** What only the pipeline has. */
export function linesOf(figures: ReturnType<typeof figuresOf>): readonly Line[] {
  const { ends, open, drain, late_p99, throttled_by_tables } = figures;
  const drained: readonly Line[] =
    drain === undefined
      ? []
      : [
          ['held', `${drain.notifications.toLocaleString('en')} when the provider was back`],
          [
            'drained',
            `${rounded(drain.per_second)}/s, 99 % in ${drain.seconds_99_percent} s, all in ${drain.seconds} s`,
          ],
          ['expired', `${drain.expired}; ${drain.ideal_expired} in an ideal drain`],
        ];
  return [
    ['ended as', counts(ends)],
    ['not ended', open],
    ...drained,
    ['retries', `p99 ${rounded(late_p99)} s after their time`],
    ['throttled by tables', throttled_by_tables],
  ];
}

function waitsTable(waits: readonly Wait[]): string {
  const columns = table(waits, [
    'group',
    'priority',
    'sent',
    ['first p50', ({ first_p50 }) => rounded(first_p50)],
    ['p99', ({ first_p99 }) => rounded(first_p99)],
    ['max', ({ first_max }) => rounded(first_max)],
    ['delivered p50', ({ delivered_p50 }) => rounded(delivered_p50)],
    ['p99', ({ delivered_p99 }) => rounded(delivered_p99)],
    ['max', ({ delivered_max }) => rounded(delivered_max)],
  ]);
  return `\nSeconds since they were handed over, until the first request and until the delivery:\n${columns}`;
}

/** Budgets, and the first violations. */
function judgement(budgets: readonly BudgetResult[], examples: readonly string[] = []): string {
  return [
    ...budgets.map(({ what, value, at_most, at_least, met }) => {
      const bound = at_most !== undefined ? `at most ${at_most}` : `at least ${at_least}`;
      return `${met ? COLORS.green('✓') : COLORS.red('✗')} ${what}: ${rounded(value, 3)} (${bound})\n`;
    }),
    ...examples.map((example) => `${COLORS.red('✗')} ${example}\n`),
  ].join('');
}

export function counts(numbers: Readonly<Record<string, number>>): string {
  return Object.entries(numbers)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${Math.round(count).toLocaleString('en')} ${name.replaceAll('_', ' ')}`)
    .join(', ');
}

export const rounded = (value: number, digits = 1): number => Number(value.toFixed(digits));

interface Took {
  readonly cpu_seconds: number;
  /** Of the process: what an earlier scenario has left counts, too. */
  readonly peak_mb: number;
}

/** A line per scenario that has ended, with what its simulation took, then all budgets. */
export function summaryTable(done: readonly (Described & Took)[]): string {
  const rows = table(done, [
    'scenario',
    'notifications',
    ['hours', ({ simulated_seconds }) => rounded(simulated_seconds / 3600, 2)],
    ['read units', ({ cost }) => Math.round(cost.read_units)],
    'duplicates',
    'violations',
    ['budgets missed', ({ budgets }) => budgets.filter(({ met }) => !met).length],
    ['USD', ({ cost }) => rounded(cost.usd, 2)],
    ['CPU s', ({ cpu_seconds }) => Math.round(cpu_seconds)],
    ['MB', ({ peak_mb }) => Math.round(peak_mb)],
  ]);
  const all = done.flatMap(({ scenario, budgets }) =>
    budgets.map((one) => ({ ...one, what: `${scenario}: ${one.what}` })),
  );
  return `${rows}\n${judgement(all)}`;
}

/** How much is done, 0…1, and how long the rest takes if it goes on like that. */
export function timeLeft(share: number, elapsed_ms: number): string {
  const percent = `${Math.floor(share * 100)} %`;
  if (share <= 0) return percent;
  const seconds = Math.round((elapsed_ms / share - elapsed_ms) / 1000);
  return `${percent}, ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} left`;
}
