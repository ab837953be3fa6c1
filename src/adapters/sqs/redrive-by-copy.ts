import type { SQSClient } from '@aws-sdk/client-sqs';
import type { PerLane } from '../../core/model/channels.ts';
import type { QueueMessage } from '../../core/model/queue-message.ts';
import { deleteLetters, type HeldLetter, receiveLetters } from './dead-letters.ts';
import { createRetryQueue } from './lanes.ts';
import { queueCounts } from './queue-counts.ts';
import type { RedriveOptions, RedriveResult } from './redrive.ts';
import { returnToQueue } from './return-to-queue.ts';

/** Rounds to wait for hidden messages: longer than a reader, or an earlier redrive that died, can hide them. */
const MAX_WAIT_ROUNDS = 40;
const ROUND_MS = 1_000;

/**
 * Does the work of SQS's message move task for stand-ins without one: it sends each message to its lane, then deletes
 * it. A command that dies in between leaves a copy in both queues. The copy that arrives second is dropped as a
 * straggler, so nothing is sent twice.
 *
 * The redrive waits for messages that others hold, so that it moves all of them in the end. A message that died again
 * after the redrive began stays; otherwise it could be moved for ever.
 */
export async function redriveByCopy(
  client: SQSClient,
  url: string,
  lanes: PerLane<string>,
  { rate, pause, onProgress }: RedriveOptions,
): Promise<RedriveResult> {
  const queue = createRetryQueue(client, lanes);
  const { visible, in_flight } = await queueCounts(client, url);
  const begun = Date.now();
  const staying = new Map<string, HeldLetter>();
  let moved = 0;
  let held = 0;
  for (let waited = 0; waited < MAX_WAIT_ROUNDS; ) {
    const most = rate === undefined ? {} : { most: Math.max(1, Math.floor(rate)) };
    const letters = await receiveLetters(client, url, most);
    const movable = letters.filter(isMovable(begun));
    for (const letter of letters) if (!isMovable(begun)(letter)) staying.set(letter.message_id, letter);
    await Promise.all(movable.map(({ message }) => queue.send(message, 0)));
    await deleteLetters(client, url, movable);
    moved += movable.length;
    onProgress?.({ moved, total: Math.max(visible + in_flight, moved) });
    if (movable.length > 0) {
      waited = 0;
      const early = rate === undefined ? 0 : begun + (moved / rate) * 1000 - Date.now();
      if (early > 0) await pause(early);
      continue;
    }
    const left = await queueCounts(client, url);
    held = Math.max(0, left.visible + left.in_flight - staying.size);
    if (held === 0) break;
    waited += 1;
    await pause(ROUND_MS);
  }
  const kept = [...staying.values()];
  await returnToQueue(
    client,
    url,
    kept.map(({ receipt_handle }) => ({ receipt_handle, after_seconds: 0 })),
  );
  return { moved, unreadable: kept.filter(({ message }) => message === undefined).length, held };
}

function isMovable(begun: number) {
  return (letter: HeldLetter): letter is HeldLetter & { readonly message: QueueMessage } =>
    letter.message !== undefined && letter.sent_at.getTime() <= begun;
}
