import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import {
  type GatherOptions,
  gather,
  SETTLE_WAIT_MS,
  type SendsUnderWay,
} from '../../../src/adapters/batching/gather.ts';
import type { Returned } from '../../../src/adapters/sqs/lanes.ts';
import { parseQueueMessage } from '../../../src/adapters/sqs/message-bodies.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import type { BreakerPolicy } from '../../../src/core/breaker/breaker-policy.ts';
import type { BreakerDeps, BreakerStore } from '../../../src/core/breaker/shared-breakers.ts';
import type { Disposition } from '../../../src/core/delivery/attempt.ts';
import { rowToSend } from '../../../src/core/delivery/claim-plan.ts';
import { type DeliverDeps, deliverBatch } from '../../../src/core/delivery/deliver.ts';
import type { RetryQueue } from '../../../src/core/delivery/ports.ts';
import { type Channel, LANES, type Lane } from '../../../src/core/model/channels.ts';
import { copyOf, type ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import { ACCOUNT, createAdmission } from '../../../src/core/pacing/admission.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import type { AdmissionDeps, AdmissionGate, Budgets, Postponed } from '../../../src/core/pacing/ports.ts';
import type { ReceiverAsk, ReceiverPacer } from '../../../src/core/pacing/receiver-pacer.ts';
import { count, type Observability } from '../runtime/observability.ts';
import { breakerTelemetry, countOutcomes, logDelivery } from './delivery-telemetry.ts';

export interface ChannelFunctionDeps {
  readonly deliver: Omit<DeliverDeps, 'timeLeft' | 'gate'>;
  /** Keeps back what the provider allows no more now. */
  readonly admission: AdmissionGate;
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
    // An unreadable message is received again until SQS moves it to the DLQ, and is counted at its first receive.
    const isDying = ({ attributes }: SQSRecord, i: number) =>
      messages[i] === undefined && attributes.ApproximateReceiveCount === '1';
    const dying = event.Records.filter(isDying).length;
    if (dying > 0) count(metrics, 'DeadLettered', dying);
    const admitted = await deps.admission.screen(readable);
    const { now, later } = admitted;
    const [reports, refused] = await Promise.all([
      deliverBatch(now, { ...deps.deliver, gate: admitted, timeLeft }),
      postpone(later, deps.deliver, observability),
    ]);
    for (const report of reports) logDelivery(logger, report);
    countOutcomes(metrics, now, reports);
    if (admitted.waited > 0) count(metrics, 'PacingWait', admitted.waited);
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
            entries.map(({ record, disposition }) => ({
              receipt_handle: record.receiptHandle,
              after_seconds: disposition.do === 'return' ? disposition.after_seconds : 0,
            })),
          ),
    ),
  );
  return late.reduce((sum, count) => sum + count, 0);
}

/** `arn:aws:sqs:<region>:<account>:<name>` and `https://…/<account>/<name>` end with the same name. */
function queueUrl(record: SQSRecord, queues: Record<Lane, string>): string | undefined {
  const name = record.eventSourceARN.split(':').at(-1);
  return LANES.map((lane) => queues[lane]).find((url) => url.split('/').at(-1) === name);
}

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

/** What the stage sets for a channel's function. */
export interface ChannelSettings
  extends Pick<DeliverDeps, 'channels' | 'claim_ms'>,
    Pick<ChannelFunctionDeps, 'queues'> {
  readonly policy: RetryPolicy;
  readonly breaker: BreakerPolicy;
  /** Milliseconds that a send may take. */
  readonly send_ms: number;
}

/** The ports of a channel's function: adapters of AWS, or their twins in a simulation. */
export interface ChannelPorts
  extends Pick<ChannelFunctionDeps, 'giveBack'>,
    Pick<DeliverDeps, 'rows' | 'records' | 'contents' | 'successors' | 'retries' | 'sender' | 'inSendTime'>,
    Pick<DeliverDeps, 'clock' | 'random'>,
    Pick<AdmissionDeps, 'receiver' | 'mayUse'>,
    Pick<BreakerDeps, 'addressedBy'> {
  /** Counts the sends under way: a write of one outcome waits for those of the others, to share a call with them. */
  readonly sends: SendsUnderWay;
  readonly breakers: BreakerStore;
  readonly budgets: ChannelBudgets;
  /** @param options `ref` false: nothing need await it, so it keeps no process alive */
  readonly pause: (ms: number, value?: undefined, options?: { readonly ref?: boolean }) => Promise<void>;
}

/** Puts the handler of a channel together: admission, which asks budgets and breakers, and delivery. */
export function bindChannel(
  channel: Channel,
  { policy, breaker, send_ms, queues, ...delivery }: ChannelSettings,
  { breakers, budgets, giveBack, mayUse, receiver, addressedBy, sends, sender, ...ports }: ChannelPorts,
  observability: Observability,
) {
  const { rows, clock, random, pause } = ports;
  const breakerGate = new BreakerGate({
    store: breakers,
    policy: breaker,
    clock,
    random,
    addressedBy,
    budgetOf: async (row) => (receiver === ACCOUNT ? budgets.lastingPerSecond() : (await receiver(row))?.per_second),
    pause: (ms) => pause(ms, undefined, { ref: false }),
    probe_ms: send_ms + UNTIL_SEND_MS,
    ...breakerTelemetry(observability),
  });
  const admission = createAdmission({
    breakers: breakerGate,
    channel,
    budgets,
    receiver,
    mayUse,
    policy,
    clock,
    pause,
    rowToSend: (received) => rowToSend(received, { rows, clock, policy }),
  });
  return createHandler(
    {
      admission,
      giveBack,
      queues,
      deliver: {
        ...ports,
        ...delivery,
        sender: { ...sender, send: (one, signal) => sends.during(() => sender.send(one, signal)) },
        policy,
      },
    },
    observability,
  );
}

/** Milliseconds from a probe's admission to its send, beside what the send may take. */
const UNTIL_SEND_MS = 5_000;

export interface ChannelBudgets extends Budgets {
  /** What the account may send per second while an outage lasts, where that is known. Never rejects. */
  lastingPerSecond(): Promise<number | undefined>;
}

/** The budgets of one instance; what a batch asks for at once is reserved at once. @param pacer only e-mail has one */
export function gatheredBudgets(
  { pacer, receivers }: { readonly pacer?: Pacer | undefined; readonly receivers: ReceiverPacer },
  when: Pick<GatherOptions<unknown>, 'schedule'> = {},
): ChannelBudgets {
  // More than a batch has messages.
  const together = { max: 100, wait_ms: SETTLE_WAIT_MS, ...when };
  return {
    reserve: gather<Ask, Allowance>(async (asks) => (await pacer?.reserve(asks)) ?? [], together),
    exceeded: async (limit) => pacer?.exceeded(limit),
    reserveAt: gather<ReceiverAsk, Allowance>((asks) => receivers.reserve(asks), together),
    blocked: (key, until) => receivers.blocked(key, until),
    lastingPerSecond: async () => pacer?.lastingPerSecond(),
  };
}
