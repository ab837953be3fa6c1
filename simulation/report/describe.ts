import type { Colors } from '../../src/terminal/colors.ts';
import { fields, table } from '../../src/terminal/table.ts';
import type { Cost } from './cost.ts';
import type { BudgetResult, Figures } from './figures.ts';

/** The figures for a person. */
export function describeFigures(figures: Figures, colors: Colors): string {
  const { waits, budgets, examples } = figures;
  return [
    fields(summaryOf(figures)),
    '\nSeconds since they were handed over, until the first request and until the delivery:\n',
    table(waits, [
      'group',
      'priority',
      'sent',
      ['first p50', ({ first_p50 }) => rounded(first_p50)],
      ['p99', ({ first_p99 }) => rounded(first_p99)],
      ['max', ({ first_max }) => rounded(first_max)],
      ['delivered p50', ({ delivered_p50 }) => rounded(delivered_p50)],
      ['p99', ({ delivered_p99 }) => rounded(delivered_p99)],
      ['max', ({ delivered_max }) => rounded(delivered_max)],
    ]),
    judgement(budgets, examples, colors),
  ].join('');
}

/** Budgets, and the first violations. */
export function judgement(budgets: readonly BudgetResult[], examples: readonly string[], colors: Colors): string {
  return [
    ...budgets.map(({ what, value, at_most, at_least, met }) => {
      const bound = at_most !== undefined ? `at most ${at_most}` : `at least ${at_least}`;
      return `${met ? colors.green('✓') : colors.red('✗')} ${what}: ${rounded(value, 3)} (${bound})\n`;
    }),
    ...examples.map((example) => `${colors.red('✗')} ${example}\n`),
  ].join('');
}

function summaryOf(figures: Figures): [string, unknown][] {
  const { drain, cost, events } = figures;
  const { units_per_request, hottest } = figures.pipeline_state;
  return [
    ['scenario', `${figures.scenario}, seed ${figures.seed}`],
    ['notifications', figures.notifications.toLocaleString('en')],
    ['ended as', counts(figures.ends)],
    ['not ended', figures.open],
    ['simulated', `${rounded(figures.simulated_seconds / 3600, 2)} h`],
    ...(drain === undefined
      ? []
      : ([
          ['held', `${drain.notifications.toLocaleString('en')} when the provider was back`],
          [
            'drained',
            `${rounded(drain.per_second, 1)}/s, 99 % in ${drain.seconds_99_percent} s, all in ${drain.seconds} s`,
          ],
          ['expired', `${drain.expired}; ${drain.ideal_expired} in an ideal drain`],
        ] as [string, unknown][])),
    ['duplicates', figures.duplicates === 0 ? 0 : counts(figures.duplicates_by_cause)],
    ['retries', `p99 ${rounded(figures.late_p99)} s after their time`],
    ['refused for a rate', figures.throttled_by_providers],
    ['throttled by tables', figures.throttled_by_tables],
    [
      'pipeline state',
      `${rounded(units_per_request, 3)} write units per request; ${hottest.per_second} a second on ${hottest.item || 'none'}`,
    ],
    ['events', counts(events) || 'none'],
    ['cost', costText(cost)],
    ['violations', figures.violations],
  ];
}

export function costText(cost: Cost): string {
  return `$${rounded(cost.usd, 2)}: ${counts({ ...cost, usd: 0, usd_per_million_notifications: 0 })}`;
}

export function counts(numbers: Readonly<Record<string, number>>): string {
  return Object.entries(numbers)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${Math.round(count).toLocaleString('en')} ${name.replaceAll('_', ' ')}`)
    .join(', ');
}

export function rounded(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}

/** A simulation that has ended, and the CPU that it took. */
export interface Summary {
  readonly figures: Pick<Figures, 'scenario' | 'notifications' | 'duplicates' | 'violations' | 'budgets' | 'cost'>;
  readonly cpu_seconds: number;
}

/** A line per scenario, then all budgets. */
export function summaryTable(done: readonly Summary[], colors: Colors): string {
  const rows = table(done, [
    ['scenario', ({ figures }) => figures.scenario],
    ['notifications', ({ figures }) => figures.notifications],
    ['duplicates', ({ figures }) => figures.duplicates],
    ['violations', ({ figures }) => figures.violations],
    ['budgets missed', ({ figures }) => figures.budgets.filter(({ met }) => !met).length],
    ['USD', ({ figures }) => Math.round(figures.cost.usd * 100) / 100],
    ['CPU s', ({ cpu_seconds }) => Math.round(cpu_seconds)],
  ]);
  const budgets = done.flatMap(({ figures }) =>
    figures.budgets.map((budget) => ({ ...budget, what: `${figures.scenario}: ${budget.what}` })),
  );
  return `${rows}\n${judgement(budgets, [], colors)}`;
}

/** How much is done, 0…1, and how long the rest takes if it goes on like that. */
export function timeLeft(share: number, elapsed_ms: number): string {
  const percent = `${Math.floor(share * 100)} %`;
  if (share <= 0) return percent;
  const seconds = Math.round((elapsed_ms / share - elapsed_ms) / 1000);
  return `${percent}, ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} left`;
}
