import type { Held } from '../delivery/provider-gate.ts';
import {
  type Breaker,
  DOUBLES_EVERY_MS,
  heldNow,
  lineRate,
  startedAt,
  startedRate,
  type TransitionContext,
} from './breaker.ts';

/** What slow start keeps back comes again within this time after it, in milliseconds. */
const SPREAD_MS = 120_000;

/**
 * A draining provider gets a few notifications per second at first, and twice as many every few seconds. Workers need no
 * common count for that: what arrives comes at the rate of the lines, so each notification passes with the probability by
 * which the provider is behind that rate. Where only a few are held they pass at once: they are no more than the
 * provider gets before the first doubling.
 * @returns undefined when the notification passes
 */
export function slowStart(breaker: Breaker, context: TransitionContext, random: () => number): Held | undefined {
  const rate = lineRate(breaker, context.policy);
  const fastest = Math.max(rate, breaker.peak_per_second ?? 0);
  const arriving = Math.min(fastest, (heldNow(breaker) * 1000) / DOUBLES_EVERY_MS);
  const allowed = Math.min(rate, startedRate(breaker, context));
  if (allowed >= arriving || random() < allowed / arriving) return undefined;
  const soonest = context.now.getTime() + 1_000;
  const started = Math.max(soonest, startedAt(breaker, context));
  // Slots that were given out at a rate that the provider does not take come again over the time that they miss.
  const spread = SPREAD_MS * Math.max(1, fastest / rate);
  return {
    do: 'hold',
    until: new Date(started + Math.floor(random() * spread)).toISOString(),
    soonest: new Date(soonest).toISOString(),
    error_type: breaker.error_type,
    by: { breaker: breaker.id },
  };
}
