import { setTimeout } from 'node:timers/promises';
import {
  ChangeMessageVisibilityBatchCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { QUEUE_CALL_MS } from '../../core/delivery/policy/attempt-times.ts';
import type { RetryQueue } from '../../core/delivery/ports.ts';
import type { Channel, Lane, StageLanes } from '../../core/model/channels.ts';
import { groupsOf } from '../../core/model/collections.ts';
import {
  type QueuedMessage,
  type QueueMessage,
  randomToken,
  type SweepLanes,
  withToken,
} from '../../core/model/queue-message.ts';
import { PRIORITY_POLICY } from '../../core/model/retry-policy.ts';
import { GatheredError, gather, SETTLE_WAIT_MS } from '../batching/gather.ts';
import { fairGroup } from '../signing/hashed-ids.ts';

/** Most messages per request. */
const BATCH = 10;
const CONCURRENCY = 8;
/** Tries per message. After them the sweep counts the message as skipped, and the next sweep finds it. */
const ROUNDS = 3;
/** Milliseconds before the second round; twice as many before the third. */
const ROUND_PAUSE_MS = 50;

export interface LaneOptions {
  /**
   * Called once for each reason why messages could not be queued. They are not lost: they stay in the work index.
   * @param reason code and sentence of SQS, without text of a message
   */
  readonly onRefused?: (reason: string, count: number) => void;
  /** Milliseconds for a call of `send`; messages that SQS has not accepted by then are refused. Absent: no limit. */
  readonly within_ms?: number;
  /** Delayed messages wait for their turn and count as a backlog, too. Without it, only visible ones do. */
  readonly isWaiting?: (channel: Channel, lane: Lane) => Promise<boolean>;
}

interface RefusedMessage {
  readonly queued: QueuedMessage;
  readonly reason: string;
  /** Its body in the next round. */
  readonly message: QueueMessage;
}

export function createSweepLanes(
  client: SQSClient,
  queues: StageLanes<string>,
  { onRefused, within_ms, isWaiting }: LaneOptions = {},
): SweepLanes {
  return {
    async backlog(channel: Channel, lane: Lane) {
      const url = queues[channel]?.[lane];
      if (url === undefined) return 0;
      const [{ visible, delayed }, waiting] = await Promise.all([queueCounts(client, url), isWaiting?.(channel, lane)]);
      return visible + (waiting ? delayed : 0);
    },

    async send(messages) {
      const { byQueue, refused } = sorted(messages, queues);
      const batches = [...byQueue].flatMap(([url, queued]) => groupsOf(queued, BATCH).map((batch) => ({ url, batch })));
      const late = within_ms === undefined ? undefined : AbortSignal.timeout(within_ms);
      const worker = async () => {
        for (let next = batches.shift(); next !== undefined; next = batches.shift()) {
          refused.push(...(await sendBatch(client, next.url, next.batch, late)));
        }
      };
      await Promise.all(Array.from({ length: Math.min(CONCURRENCY, batches.length) }, worker));
      report(refused, onRefused);
      return refused.map(({ queued }) => queued);
    },
  };
}

/** On the lanes of all channels, as a successor has another one. `send` rejects with SQS's reason. */
export function createRetryQueue(
  client: SQSClient,
  queues: StageLanes<string>,
  { onRefused, within_ms }: LaneOptions = {},
): RetryQueue {
  const send = gather<QueuedMessage, undefined>(
    async (messages) => {
      const { byQueue, refused: homeless } = sorted(messages, queues);
      const late = within_ms === undefined ? undefined : AbortSignal.timeout(within_ms);
      const sent = [...byQueue].map(([url, batch]) => sendBatch(client, url, batch, late));
      const refused = [...homeless, ...(await Promise.all(sent)).flat()];
      report(refused, onRefused);
      const reasons = new Map(refused.map(({ queued, reason }) => [queued, reason]));
      return messages.map((message) => {
        const reason = reasons.get(message);
        return reason === undefined ? undefined : new GatheredError(new Error(`SQS took no retry message: ${reason}`));
      });
    },
    { max: BATCH, wait_ms: SETTLE_WAIT_MS },
  );
  return {
    async send(message, delay_seconds) {
      await send({ message, delay_seconds });
    },
  };
}

/** Messages by the URL of their queue, and those of a channel that the stage does not have. */
function sorted(messages: readonly QueuedMessage[], queues: StageLanes<string>) {
  const byQueue = Map.groupBy(
    messages,
    ({ message }) => queues[message.channel]?.[PRIORITY_POLICY[message.priority].lane] ?? '',
  );
  const homeless = byQueue.get('') ?? [];
  byQueue.delete('');
  const refused = homeless.map((queued): RefusedMessage => {
    return { queued, message: queued.message, reason: `the stage has no channel ${queued.message.channel}` };
  });
  return { byQueue, refused };
}

/** @returns the messages that could not be sent, each with the reason of the last try */
async function sendBatch(
  client: SQSClient,
  url: string,
  batch: readonly QueuedMessage[],
  late?: AbortSignal,
): Promise<RefusedMessage[]> {
  let open = batch.map((queued): RefusedMessage => ({ queued, message: queued.message, reason: 'out of time' }));
  const refused: RefusedMessage[] = [];
  for (let round = 0; round < ROUNDS && open.length > 0 && !late?.aborted; round++) {
    if (round > 0) await setTimeout(ROUND_PAUSE_MS * 2 ** (round - 1));
    try {
      const { Failed = [] } = await client.send(
        once(new SendMessageBatchCommand({ QueueUrl: url, Entries: open.map(entry) })),
        { ...(late && { abortSignal: late }) },
      );
      open = Failed.flatMap(({ Id, Code = 'no code', Message }) => {
        const failed = open[Number(Id)];
        return failed ? [{ ...failed, reason: Message ? `${Code}: ${Message}` : Code }] : [];
      });
    } catch (error) {
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : 'unknown error';
      const unsure = open.map((one) => ({ ...one, reason }));
      refused.push(...unsure.filter(isCopy));
      open = unsure.filter((one) => !isCopy(one)).map(again);
    }
  }
  return [...refused, ...open];
}

/**
 * SQS may have taken a message whose answer was lost. A second one of the same run would pass for a redrive if the first
 * one dies before, so it gets a token; a copy has to keep its run, and is not sent again
 * (docs/decisions/delivery/claims-and-messages.md#0178).
 */
function again({ message, ...refused }: RefusedMessage): RefusedMessage {
  return { ...refused, message: { ...message, run_id: withToken(message.run_id, randomToken(Math.random)) } };
}

const isCopy = ({ message }: RefusedMessage) => message.enqueued_at !== undefined;

/** The command without the retries of the SDK, which would send the same bodies again. */
function once(command: SendMessageBatchCommand): SendMessageBatchCommand {
  command.middlewareStack.add((next) => next, {
    name: 'retryMiddleware',
    step: 'finalizeRequest',
    priority: 'high',
    override: true,
  });
  return command;
}

function report(refused: readonly RefusedMessage[], onRefused: LaneOptions['onRefused']): void {
  for (const [reason, messages] of Map.groupBy(refused, ({ reason }) => reason)) onRefused?.(reason, messages.length);
}

function entry({ message, queued: { delay_seconds } }: RefusedMessage, index: number): SendMessageBatchRequestEntry {
  return {
    Id: String(index),
    MessageBody: JSON.stringify(message),
    // Fair queues: the flood of one tenant delays its own messages, not those of others.
    MessageGroupId: fairGroup(message.tenant_id),
    ...(delay_seconds > 0 && { DelaySeconds: delay_seconds }),
  };
}

/** A received message that goes back to its queue. */
export interface Returned {
  readonly receipt_handle: string;
  /** Seconds until it is visible again, 0…43200. */
  readonly after_seconds: number;
}

/**
 * Sets when returned messages become visible again. A message that cannot be changed only comes back later, after the
 * visibility timeout of the queue, so failures are counted and not thrown. A request that hangs leaves the others.
 * @returns how many messages could not be changed
 */
export async function returnToQueue(client: SQSClient, url: string, returned: readonly Returned[]): Promise<number> {
  const abortSignal = AbortSignal.timeout(QUEUE_CALL_MS);
  const failures = groupsOf(returned, BATCH).map(async (batch) => {
    const Entries = batch.map(({ receipt_handle, after_seconds }, i) => ({
      Id: String(i),
      ReceiptHandle: receipt_handle,
      VisibilityTimeout: after_seconds,
    }));
    const command = new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries });
    const { Failed = [] } = await client.send(command, { abortSignal }).catch(() => ({ Failed: batch }));
    return Failed.length;
  });
  return (await Promise.all(failures)).reduce((sum, failed) => sum + failed, 0);
}

/** The counts of a queue. SQS calls them approximate. */
export interface QueueCounts {
  readonly visible: number;
  /** Messages that a consumer has received and neither deleted nor returned yet. */
  readonly in_flight: number;
  /** Messages that are not due yet. */
  readonly delayed: number;
}

export async function queueCounts(client: SQSClient, url: string): Promise<QueueCounts> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: [
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      ],
    }),
  );
  return {
    visible: Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0),
    in_flight: Number(Attributes?.['ApproximateNumberOfMessagesNotVisible'] ?? 0),
    delayed: Number(Attributes?.['ApproximateNumberOfMessagesDelayed'] ?? 0),
  };
}
