import type { Colors } from '../../src/terminal/colors.ts';
import { table } from '../../src/terminal/table.ts';
import { judgement } from './describe.ts';
import type { Figures } from './figures.ts';

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
