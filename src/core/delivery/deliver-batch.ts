import type { ReceivedMessage } from '../model/queue-message.ts';
import { type DeliverDeps, type DeliveryReport, deliver } from './deliver.ts';

export interface DeliverBatchDeps extends DeliverDeps {
  /** True when an attempt that begins now might not end before the worker's time is over. */
  readonly outOfTime: () => boolean;
}

/**
 * Delivers a batch: all side by side, except those whose last attempt killed its worker. These come after the others, one at a
 * time and in random order, so that a message which kills its worker takes no innocent one with it again and again.
 * @returns a report a message, in their order.
 */
export async function deliverBatch(
  batch: readonly ReceivedMessage[],
  deps: DeliverBatchDeps,
): Promise<DeliveryReport[]> {
  const first = await Promise.all(batch.map((received) => begin(received, deps, false)));
  const reports = [...first];
  for (const index of shuffled(suspects(first), deps.random)) {
    const received = batch[index];
    if (received !== undefined) reports[index] = await begin(received, deps, true);
  }
  return reports;
}

/** Seconds after which what did not fit is shown to a worker with more time; at once would only use up receives. */
const BREATHER_SECONDS = 30;

/** What does not fit into the remaining time goes back untouched (design §6). */
function begin(received: ReceivedMessage, deps: DeliverBatchDeps, alone: boolean): Promise<DeliveryReport> {
  if (!deps.outOfTime()) return deliver(received, deps, alone);
  const { log_id, tenant_id, channel, priority, run_id } = received.message;
  const disposition = { do: 'return', after_seconds: BREATHER_SECONDS } as const;
  return Promise.resolve({ log_id, tenant_id, channel, priority, run_id, disposition });
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
