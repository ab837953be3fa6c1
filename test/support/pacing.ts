import { MemoryPacing } from '../../src/adapters/memory/memory-pacing.ts';
import type { Clock } from '../../src/core/model/time.ts';
import { Pacer, type PacerDeps } from '../../src/core/pacing/pacer.ts';
import { DEFAULT_PACING_POLICY } from '../../src/core/pacing/pacing-policy.ts';
import type { Allowance } from '../../src/core/pacing/plan-reservation.ts';

/** A worker's budgets, in memory unless the test gives another store. */
export function pacerAt(clock: Clock, deps: Partial<PacerDeps> = {}): Pacer {
  return new Pacer({
    store: new MemoryPacing().store,
    channel: 'email',
    policy: DEFAULT_PACING_POLICY,
    clock,
    random: Math.random,
    workers: 15,
    ...deps,
  });
}

export function slotsOf(allowance: Allowance | undefined): number[] {
  return [...(allowance?.slots ?? [])];
}
