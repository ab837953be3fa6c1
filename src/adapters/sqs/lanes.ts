import {
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { Channel, Lane, PerLane } from '../../core/channels.ts';
import type { RetryQueue } from '../../core/deliver.ts';
import { PRIORITY_POLICY } from '../../core/priorities.ts';
import type { QueuedMessage, SweepLanes } from '../../core/sweep.ts';
import { SETTLE_WAIT_MS } from '../dynamodb/claim-store.ts';
import { GatheredError, gather } from '../gather.ts';

/** Messages a SendMessageBatch may hold. */
const BATCH = 10;
/** Batches on their way at once. */
const CONCURRENCY = 8;
/** A refused entry is sent again so often before the sweep counts it as skipped; the next sweep finds it. */
const ROUNDS = 3;

/** SweepLanes on SQS. */
export function createSweepLanes(client: SQSClient, queues: PerLane<string>): SweepLanes {
  return {
    async backlog(channel: Channel, lane: Lane) {
      const { Attributes } = await client.send(
        new GetQueueAttributesCommand({
          QueueUrl: queues[channel][lane],
          AttributeNames: ['ApproximateNumberOfMessages'],
        }),
      );
      return Number(Attributes?.['ApproximateNumberOfMessages'] ?? 0);
    },

    async send(messages) {
      const byQueue = Map.groupBy(messages, ({ message }) => queues[message.channel][laneOf(message)]);
      const batches = [...byQueue].flatMap(([url, queued]) => chunks(queued, BATCH).map((batch) => ({ url, batch })));
      const refused: QueuedMessage[] = [];
      const worker = async () => {
        for (let next = batches.shift(); next !== undefined; next = batches.shift()) {
          refused.push(...(await sendBatch(client, next.url, next.batch)));
        }
      };
      await Promise.all(Array.from({ length: Math.min(CONCURRENCY, batches.length) }, worker));
      return refused;
    },
  };
}

/** RetryQueue on one channel's lanes. */
export function createRetryQueue(client: SQSClient, queues: Record<Lane, string>): RetryQueue {
  const send = gather<QueuedMessage, undefined>(
    async (messages) => {
      const byQueue = Map.groupBy(messages, ({ message }) => queues[laneOf(message)]);
      const refused = new Set(
        (await Promise.all([...byQueue].map(([url, batch]) => sendBatch(client, url, batch)))).flat(),
      );
      return messages.map((message) =>
        refused.has(message) ? new GatheredError(new Error('SQS refused the retry message.')) : undefined,
      );
    },
    { max: BATCH, wait_ms: SETTLE_WAIT_MS },
  );
  return {
    async send(message, delay_seconds) {
      await send({ message, delay_seconds });
    },
  };
}

function laneOf({ priority }: QueuedMessage['message']): Lane {
  return PRIORITY_POLICY[priority].lane;
}

/** @returns what could not be sent */
async function sendBatch(client: SQSClient, url: string, batch: readonly QueuedMessage[]): Promise<QueuedMessage[]> {
  let open = [...batch];
  for (let round = 0; round < ROUNDS && open.length > 0; round++) {
    try {
      const { Failed = [] } = await client.send(
        new SendMessageBatchCommand({ QueueUrl: url, Entries: open.map(entry) }),
      );
      const failed = new Set(Failed.map(({ Id }) => Number(Id)));
      open = open.filter((_, i) => failed.has(i));
    } catch (error) {
      if (round === ROUNDS - 1) reportRefused(error, open.length);
    }
  }
  return open;
}

function entry({ message, delay_seconds }: QueuedMessage, index: number): SendMessageBatchRequestEntry {
  return {
    Id: String(index),
    MessageBody: JSON.stringify(message),
    // Fair queues: one tenant's flood makes its own messages wait, not the others' (design §6.1).
    MessageGroupId: groupOf(message.tenant_id),
    ...(delay_seconds > 0 && { DelaySeconds: delay_seconds }),
  };
}

/** SQS takes 128 characters of ASCII letters, digits and punctuation; anything else is replaced. */
function groupOf(tenant_id: string): string {
  return tenant_id.replace(/[^\x21-\x7e]/g, '_').slice(0, 128);
}

function reportRefused(error: unknown, count: number): void {
  const reason = error instanceof Error ? error.message : 'unknown error';
  process.emitWarning(`SQS took none of ${count} messages: ${reason}. They stay in the work index for the next sweep.`);
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
