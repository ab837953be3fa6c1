import type { Held } from '../delivery/provider-gate.ts';
import type { Priority } from '../model/priorities.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { type Clock, epochMs } from '../model/time.ts';
import { type Breaker, lineRate, phaseOf, slotTime } from './breaker.ts';
import type { BreakerPolicy } from './breaker-policy.ts';
import type { BreakerStore, SharedBreakers } from './shared-breakers.ts';

export interface HoldDeps {
  readonly store: BreakerStore;
  readonly policy: BreakerPolicy;
  readonly clock: Clock;
  readonly onFault?: (error: unknown) => void;
}

/**
 * Gives a notification the next slot in its lane's line.
 * @returns undefined when the breaker turns out not to be open any more
 */
export async function hold(
  known: Breaker,
  { priority }: { readonly priority: Priority },
  breakers: SharedBreakers,
  { store, policy, clock, onFault }: HoldDeps,
): Promise<Held | undefined> {
  const { lane } = PRIORITY_POLICY[priority];
  const now = clock().getTime();
  const held = (until: number, soonest: number, error_type: Breaker['error_type']): Held => ({
    do: 'hold',
    until: new Date(until).toISOString(),
    soonest: new Date(soonest).toISOString(),
    error_type,
    by: { breaker: known.id },
  });
  try {
    const taken = await store.takeSlot(known.id, lane);
    if (taken) breakers.learn(taken.breaker);
    else breakers.forget(known.id);
    if (taken === undefined || phaseOf(taken.breaker, clock()) !== 'open') return undefined;
    const { breaker, slot } = taken;
    const soonest = Math.min(epochMs(breaker.probe_at), now + breaker.interval_ms);
    const turn = slotTime(breaker.lines[lane], slot, lineRate(breaker, policy));
    return held(Math.max(turn, soonest), soonest, breaker.error_type);
  } catch (error) {
    // Held all the same, outside the line: that our storage fails does not bring the provider back.
    onFault?.(error);
    const next = Math.max(epochMs(known.probe_at), now + known.interval_ms);
    return held(next, next, known.error_type);
  }
}
