import { type Breaker, phaseOf } from '../breaker/breaker.ts';
import { CHANNELS, type Channel } from '../model/channels.ts';

/** How many providers of each channel are down: those whose lines are let go are back. */
export function openByChannel(breakers: readonly Breaker[], now: Date): Record<Channel, number> {
  const open = breakers.filter((breaker) => phaseOf(breaker, now) === 'open');
  const counts = CHANNELS.map((channel) => [channel, open.filter(({ id }) => id.startsWith(`${channel}#`)).length]);
  return Object.fromEntries(counts) as Record<Channel, number>;
}
