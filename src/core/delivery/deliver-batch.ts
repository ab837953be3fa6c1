import { type ReceivedMessage, runOf } from '../model/queue-message.ts';
import { type DeliverDeps, deliver } from './deliver.ts';
import type { DeliveryReport } from './delivery-report.ts';
import { TIME_TO_BEGIN_MS } from './policy/attempt-times.ts';

/**
 * Delivers a batch: all messages side by side, except those whose last attempt killed its worker. These follow alone
 * and in random order, so that a message that kills its worker does not stop the same other messages each time.
 * @returns one report per message, in the order of the messages
 */
export async function deliverBatch(batch: readonly ReceivedMessage[], deps: DeliverDeps): Promise<DeliveryReport[]> {
  const first = await Promise.all(batch.map((received) => begin(received, deps, false)));
  const reports = [...first];
  for (const index of shuffled(suspects(first), deps.random)) {
    const received = batch[index];
    if (received !== undefined) reports[index] = await begin(received, deps, true);
  }
  return reports;
}

/** Seconds until a message that did not fit is visible again: at once, it would only use up its receives. */
const RETURN_AFTER_SECONDS = 30;

/** A message that does not fit into the remaining time goes back untouched. */
function begin(received: ReceivedMessage, deps: DeliverDeps, alone: boolean): Promise<DeliveryReport> {
  if (deps.timeLeft() >= TIME_TO_BEGIN_MS) return deliver(received, deps, alone);
  const { log_id, tenant_id, channel, priority, run_id } = received.message;
  const disposition = { do: 'return', after_seconds: RETURN_AFTER_SECONDS } as const;
  return Promise.resolve({ log_id, tenant_id, channel, priority, run_id: runOf(run_id), disposition });
}

function suspects(reports: readonly DeliveryReport[]): number[] {
  return reports.flatMap(({ disposition }, index) => (disposition.do === 'isolate' ? [index] : []));
}

function shuffled(indexes: readonly number[], random: () => number): number[] {
  return indexes
    .map((index) => ({ index, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ index }) => index);
}
