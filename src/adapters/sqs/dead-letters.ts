import { DeleteMessageBatchCommand, type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { RowStore } from '../../core/delivery/ports.ts';
import type { Channel } from '../../core/model/channels.ts';
import { groupsOf } from '../../core/model/collections.ts';
import type { QueueMessage } from '../../core/model/queue-message.ts';
import {
  type DeadLetter,
  type DropReplaced,
  isReplaced,
  isTaken,
} from '../../core/operator/dead-letters/dead-letter.ts';
import { returnToQueue } from './lanes.ts';
import { parseQueueMessage } from './message-bodies.ts';

const BATCH = 10;
/** Seconds for which a received message is hidden from others. If its reader dies, it is visible again after them. */
const HIDDEN_SECONDS = 30;
/** With a wait SQS asks all of its servers instead of a few, so that an empty answer means an empty queue. */
const WAIT_SECONDS = 1;

export interface HeldLetter extends DeadLetter {
  readonly receipt_handle: string;
  readonly body: string;
}

/** Up to ten messages, hidden from others for half a minute unless given; none when no more are visible. */
export async function receiveLetters(
  client: SQSClient,
  url: string,
  { most = BATCH, hidden_seconds = HIDDEN_SECONDS } = {},
): Promise<HeldLetter[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: Math.min(most, BATCH),
      VisibilityTimeout: hidden_seconds,
      WaitTimeSeconds: WAIT_SECONDS,
      MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount'],
    }),
  );
  return Messages.map(toLetter);
}

/** The longest visibility timeout that SQS takes. */
const MOST_HIDDEN_SECONDS = 43_200;
/** With this many messages in flight, about, SQS answers a receive that waits with nothing. */
const MOST_HELD = 119_900;
/** How many requests return messages at once: each has a time limit of its own. */
const RETURNED_AT_ONCE = 8;

interface Held {
  readonly receipt_handle: string;
  readonly hidden_seconds: number;
}

/**
 * Walks through a dead-letter queue, each message once. When the walk ends, early or not, all messages but the deleted
 * ones become visible again.
 *
 * A long walk meets messages again whose timeout has ended, and SQS picks ten of all that are visible. Such an answer
 * says nothing about the end: only an empty one does. Messages that come back are hidden for twice as long, until a walk
 * through all fits into it.
 * @param gone ids of the messages that the caller deleted
 * @throws Error when SQS can hide no more: there may be others
 */
export async function* peekLetters(
  client: SQSClient,
  url: string,
  gone: ReadonlySet<string> = new Set(),
): AsyncGenerator<HeldLetter[]> {
  const held = new Map<string, Held>();
  let hidden_seconds = HIDDEN_SECONDS;
  try {
    for (;;) {
      const letters = await receiveLetters(client, url, { hidden_seconds });
      if (letters.length === 0) break;
      const fresh = letters.filter(({ message_id }) => !held.has(message_id));
      const wasTooShort = letters.some(({ message_id }) => held.get(message_id)?.hidden_seconds === hidden_seconds);
      for (const { message_id, receipt_handle } of letters) held.set(message_id, { receipt_handle, hidden_seconds });
      if (wasTooShort) hidden_seconds = Math.min(2 * hidden_seconds, MOST_HIDDEN_SECONDS);
      if (fresh.length > 0) yield fresh;
    }
    if (held.size - gone.size >= MOST_HELD) {
      throw new Error(
        `SQS shows at most 120,000 dead letters at once, and ${held.size} were looked at: redrive or drop some, then look again`,
      );
    }
  } finally {
    await returnAll(client, url, held, gone);
  }
}

async function returnAll(
  client: SQSClient,
  url: string,
  held: ReadonlyMap<string, Held>,
  gone: ReadonlySet<string>,
): Promise<void> {
  const left = [...held].flatMap(([id, { receipt_handle }]) =>
    gone.has(id) ? [] : [{ receipt_handle, after_seconds: 0 }],
  );
  const parts = groupsOf(left, BATCH).values();
  const work = async () => {
    for (const part of parts) await returnToQueue(client, url, part);
  };
  await Promise.all(Array.from({ length: RETURNED_AT_ONCE }, work));
}

/** @throws Error when some could not be deleted; these become visible again */
export async function deleteLetters(client: SQSClient, url: string, letters: readonly HeldLetter[]): Promise<void> {
  for (const batch of groupsOf(letters, BATCH)) {
    const { Failed = [] } = await client.send(
      new DeleteMessageBatchCommand({
        QueueUrl: url,
        Entries: batch.map(({ receipt_handle }, i) => ({ Id: String(i), ReceiptHandle: receipt_handle })),
      }),
    );
    if (Failed.length > 0) {
      throw new Error(`SQS did not delete ${Failed.length} of ${batch.length} dead letters: ${Failed[0]?.Message}.`);
    }
  }
}

export interface ReplacedDeps {
  readonly sqs: SQSClient;
  /** Of the stage's channels. */
  readonly queues: { readonly [C in Channel]?: string | undefined };
  readonly rows: Pick<RowStore, 'read'>;
  /** Takes why letters of a channel stay. They are without effect. */
  readonly onFault: (error: unknown, channel: Channel) => void;
}

/** Deletes the letters of what was taken or, where the time is over, those that it met until then. Never rejects. */
export function replacedLetters({ sqs, queues, rows, onFault }: ReplacedDeps): DropReplaced {
  return async (taken, isStopping) => {
    // A queue may hold a hundred thousand of others.
    let left = taken.most;
    const dropIn = async (url: string) => {
      const gone = new Set<string>();
      for await (const letters of peekLetters(sqs, url, gone)) {
        const met = await Promise.all(
          letters.map(async (letter) => ({
            letter,
            row: letter.message && (await rows.read(letter.message.log_id)),
          })),
        );
        const found = met.filter(({ letter, row }) => isReplaced(letter, row, taken));
        const replaced = found.map(({ letter }) => letter);
        await deleteLetters(sqs, url, replaced);
        for (const { letter, row } of found) {
          gone.add(letter.message_id);
          if (isTaken(letter, row, taken)) left -= 1;
        }
        if (left <= 0 || isStopping()) break;
      }
    };
    // Beside each other, as each walk ends by a receive that waits.
    await Promise.all(
      taken.channels.map(async (channel) => {
        const url = queues[channel];
        if (url !== undefined) await dropIn(url).catch((error: unknown) => onFault(error, channel));
      }),
    );
  };
}

function toLetter({ MessageId = '', ReceiptHandle = '', Body = '', Attributes }: Message): HeldLetter {
  const message = queueMessageIn(Body);
  return {
    message_id: MessageId,
    receipt_handle: ReceiptHandle,
    body: Body,
    sent_at: new Date(Number(Attributes?.SentTimestamp ?? 0)),
    receive_count: Number(Attributes?.ApproximateReceiveCount ?? 0),
    ...(message && { message }),
  };
}

/** Undefined for a message that is not one of the lanes'. */
function queueMessageIn(body: string): QueueMessage | undefined {
  try {
    return parseQueueMessage(body);
  } catch {
    return undefined;
  }
}
