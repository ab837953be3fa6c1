import type { RetryQueue } from '../../../src/core/delivery/ports.ts';
import { copyOf } from '../../../src/core/model/queue-message.ts';
import type { PacedGate, Postponed } from '../../../src/core/pacing/paced-gate.ts';
import { count } from '../runtime/metrics.ts';
import type { Observability } from '../runtime/observability.ts';

/** The budgets in front of a channel function. */
export type Pacing = Pick<PacedGate, 'screen' | 'takeWaited'>;

/**
 * Sends copies of the messages, with a delay, so that the originals can be deleted.
 * @returns those of which SQS took no copy; they have to be received again
 */
export async function postpone(
  later: readonly Postponed[],
  { retries }: { readonly retries: RetryQueue },
  { logger, metrics }: Observability,
): Promise<Postponed[]> {
  if (later.length === 0) return [];
  const sent = await Promise.allSettled(
    later.map(({ received, delay_seconds }) => retries.send(copyOf(received), delay_seconds)),
  );
  count(metrics, 'Paced', later.length);
  const longest_seconds = Math.max(...later.map(({ delay_seconds }) => delay_seconds));
  logger.info('messages postponed: the provider allows no more now', { count: later.length, longest_seconds });
  return later.filter((_, i) => sent[i]?.status === 'rejected');
}
