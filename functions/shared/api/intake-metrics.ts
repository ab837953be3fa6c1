import type { Channel } from '../../../src/core/model/channels.ts';
import { count, countBy } from '../runtime/metrics.ts';
import type { Observability } from '../runtime/observability.ts';

/** Counts valid requests with an idempotency key, before they are accepted or refused. */
export function countRequests(metrics: Observability['metrics'], requests: number): void {
  if (requests > 0) count(metrics, 'IdempotentRequests', requests);
}

/** Counts what was accepted: repeats, and new notifications by channel. */
export function countAccepted(
  metrics: Observability['metrics'],
  accepted: readonly { readonly channel: Channel; readonly repeat: boolean }[],
): void {
  const repeats = accepted.filter(({ repeat }) => repeat).length;
  if (repeats > 0) count(metrics, 'IdempotentRepeats', repeats);
  const created = accepted.filter(({ repeat }) => !repeat);
  for (const [channel, same] of Map.groupBy(created, (one) => one.channel)) {
    countBy(metrics, 'Accepted', { channel }, same.length);
  }
}
