import { type Breaker, shownPhaseOf } from '../breaker/breaker.ts';
import { CHANNELS, type Channel } from '../model/channels.ts';

/** The number of providers per channel that are down. A provider whose held notifications are draining is up again. */
export function openByChannel(breakers: readonly Breaker[], now: Date): Record<Channel, number> {
  const open = breakers.filter((breaker) => shownPhaseOf(breaker, now) === 'open');
  const counts = CHANNELS.map((channel) => [channel, open.filter(({ id }) => id.startsWith(`${channel}#`)).length]);
  return Object.fromEntries(counts) as Record<Channel, number>;
}
