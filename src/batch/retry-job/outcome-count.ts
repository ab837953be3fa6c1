import type { Outcomes } from '../../core/sweep/await-outcomes.ts';
import type { Count } from '../../terminal/progress.ts';

/**
 * How far a run's notifications are, for progress.
 * @param open notifications that have no outcome yet
 */
export function outcomeCount(outcomes: Outcomes, open: number): Count {
  const done = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const summary = Object.entries(outcomes)
    .map(([status, count]) => `${status} ${count}`)
    .join(' · ');
  return { verb: 'settled', done, total: done + open, summary, complete: open === 0 };
}
