import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { Returned } from '../../../src/adapters/sqs/lanes.ts';
import { parseQueueMessage } from '../../../src/adapters/sqs/message-bodies.ts';
import type { Disposition } from '../../../src/core/delivery/attempt.ts';
import { type DeliverDeps, deliverBatch } from '../../../src/core/delivery/deliver.ts';
import type { RetryQueue } from '../../../src/core/delivery/ports.ts';
import { LANES, type Lane } from '../../../src/core/model/channels.ts';
import { copyOf, type ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import type { PacedGate } from '../../../src/core/pacing/paced-gate.ts';
import type { Postponed } from '../../../src/core/pacing/ports.ts';
import { count, type Observability } from '../runtime/observability.ts';
import { countOutcomes, logDelivery } from './delivery-telemetry.ts';

export interface ChannelFunctionDeps {
  readonly deliver: Omit<DeliverDeps, 'timeLeft'>;
  /** Keeps back what the provider allows no more now. */
  readonly pacing: Pacing;
  /** Sets when messages become visible again. @returns how many of them will be received later than they should */
  readonly giveBack: (url: string, returned: readonly Returned[]) => Promise<number>;
  readonly queues: Record<Lane, string>;
}

/** The handler of every channel. It reports as failed only the messages that have to be received again. */
export function createHandler(deps: ChannelFunctionDeps, observability: Observability) {
  const { logger, metrics } = observability;
  return async (event: SQSEvent, context: Pick<Context, 'getRemainingTimeInMillis'>): Promise<SQSBatchResponse> => {
    const messages = event.Records.map((record) => readMessage(record, logger));
    const timeLeft = () => context.getRemainingTimeInMillis();
    const readable = messages.filter((message) => message !== undefined);
    // It comes back unread until SQS moves it, and counts once.
    const isDying = ({ attributes }: SQSRecord, i: number) =>
      messages[i] === undefined && attributes.ApproximateReceiveCount === '1';
    const dying = event.Records.filter(isDying).length;
    if (dying > 0) count(metrics, 'DeadLettered', dying);
    const { now, later } = await deps.pacing.screen(readable);
    const [reports, refused] = await Promise.all([
      deliverBatch(now, { ...deps.deliver, timeLeft }),
      postpone(later, deps.deliver, observability),
    ]);
    for (const report of reports) logDelivery(logger, report);
    countOutcomes(metrics, now, reports);
    const waited = deps.pacing.takeWaited();
    if (waited > 0) count(metrics, 'PacingWait', waited);
    const byId = new Map<string, Disposition | undefined>([
      ...now.map(({ message_id }, i) => [message_id, reports[i]?.disposition] as const),
      ...later.map(({ received }) => [received.message_id, DONE] as const),
      ...refused.map(({ received, delay_seconds }) => [received.message_id, returnAfter(delay_seconds)] as const),
    ]);
    const back = event.Records.map((record) => ({
      record,
      // A message that could not be read goes to the DLQ, where an operator can see it.
      disposition: byId.get(record.messageId) ?? DEAD_LETTER,
    })).filter(({ disposition }) => disposition.do !== 'done');
    const late = await giveBack(back, deps);
    if (late > 0)
      logger.warn('messages come back later than asked: their visibility could not be set', { count: late });
    return { batchItemFailures: back.map(({ record }) => ({ itemIdentifier: record.messageId })) };
  };
}

const DONE: Disposition = { do: 'done' };
const DEAD_LETTER: Disposition = { do: 'dead_letter' };
const returnAfter = (after_seconds: number): Disposition => ({ do: 'return', after_seconds });

function readMessage(record: SQSRecord, logger: Observability['logger']): ReceivedMessage | undefined {
  try {
    return {
      message: parseQueueMessage(record.body),
      message_id: record.messageId,
      sent_at: new Date(Number(record.attributes.SentTimestamp)),
      receive_count: Number(record.attributes.ApproximateReceiveCount),
    };
  } catch (error) {
    logger.error('unreadable message: it goes to the DLQ', { message_id: record.messageId, error: error as Error });
    return undefined;
  }
}

/**
 * Sets when the returned messages become visible again. A dead letter does so at once, until SQS moves it to the DLQ.
 */
async function giveBack(
  back: readonly { readonly record: SQSRecord; readonly disposition: Disposition }[],
  { giveBack: setVisibility, queues }: ChannelFunctionDeps,
): Promise<number> {
  const byQueue = Map.groupBy(back, ({ record }) => queueUrl(record, queues));
  const late = await Promise.all(
    [...byQueue].map(([url, entries]) =>
      url === undefined
        ? entries.length
        : setVisibility(
            url,
            entries.map(({ record, disposition }) => returned(record, disposition)),
          ),
    ),
  );
  return late.reduce((sum, count) => sum + count, 0);
}

function returned(record: SQSRecord, disposition: Disposition): Returned {
  const after_seconds = disposition.do === 'return' ? disposition.after_seconds : 0;
  return { receipt_handle: record.receiptHandle, after_seconds };
}

/** `arn:aws:sqs:<region>:<account>:<name>` and `https://…/<account>/<name>` end with the same name. */
function queueUrl(record: SQSRecord, queues: Record<Lane, string>): string | undefined {
  const name = record.eventSourceARN.split(':').at(-1);
  return LANES.map((lane) => queues[lane]).find((url) => url.split('/').at(-1) === name);
}

/** The budgets in front of a channel function. */
export type Pacing = Pick<PacedGate, 'screen' | 'takeWaited'>;

/** Sends delayed copies, so that the originals can be deleted. @returns those of which SQS took no copy */
async function postpone(
  later: readonly Postponed[],
  { retries }: { readonly retries: RetryQueue },
  { logger, metrics }: Observability,
): Promise<Postponed[]> {
  if (later.length === 0) return [];
  const sent = await Promise.allSettled(
    later.map(({ received, delay_seconds, slot }) => retries.send(copyOf(received, slot), delay_seconds)),
  );
  count(metrics, 'Paced', later.length);
  const longest_seconds = Math.max(...later.map(({ delay_seconds }) => delay_seconds));
  logger.info('messages postponed: the provider allows no more now', { count: later.length, longest_seconds });
  return later.filter((_, i) => sent[i]?.status === 'rejected');
}
