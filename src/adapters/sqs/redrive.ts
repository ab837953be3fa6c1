import {
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  type ListMessageMoveTasksResultEntry,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import type { StageLanes } from '../../core/model/channels.ts';
import { ExplainedError } from '../../core/model/problem.ts';
import type { QueueMessage } from '../../core/model/queue-message.ts';
import { deleteLetters, type HeldLetter, receiveLetters } from './dead-letters.ts';
import { createRetryQueue, queueCounts, returnToQueue } from './lanes.ts';

export interface RedriveProgress {
  readonly moved: number;
  /** The number of messages when the redrive began, as SQS estimates it. */
  readonly total?: number;
}

export interface RedriveOptions {
  /** Messages per second; as fast as possible unless given. */
  readonly rate?: number;
  readonly pause: (ms: number) => Promise<void>;
  readonly onProgress?: (progress: RedriveProgress) => void;
}

export interface RedriveResult {
  readonly moved: number;
  /** Messages that stay in the dead-letter queue, because they are not messages of the lanes. */
  readonly unreadable: number;
  /** Messages that could not be moved, because another consumer held them all the time. */
  readonly held: number;
}

/** Another redrive of the queue is running. SQS allows one at a time. */
export class RedriveRunningError extends ExplainedError {
  override readonly name = 'RedriveRunningError';
}

/** The redrive ended early. All messages that it did not move are still in the dead-letter queue. */
class RedriveFailedError extends ExplainedError {
  override readonly name = 'RedriveFailedError';
}

/** Rounds to wait for hidden messages: longer than a reader, or an earlier redrive that died, can hide them. */
const MAX_WAIT_ROUNDS = 40;
const ROUND_MS = 1_000;

/**
 * Does the work of SQS's message move task for stand-ins without one: it sends each message to its lane, then deletes
 * it. A command that crashes in between leaves a copy in both queues. The copy that arrives second is dropped as a
 * straggler, so nothing is sent twice.
 *
 * The redrive waits for messages that others hold, so that it moves all of them in the end. A message that died again
 * after the redrive began stays; otherwise it could be moved for ever.
 */
export async function redriveByCopy(
  client: SQSClient,
  url: string,
  lanes: StageLanes<string>,
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

const POLL_MS = 1_000;

/**
 * Redrives a dead-letter queue to the queues that its messages came from, by a message move task of SQS, and waits
 * for its end. The task continues when the command crashes.
 * @throws RedriveRunningError, RedriveFailedError
 */
export async function redriveByTask(
  client: SQSClient,
  url: string,
  { rate, pause, onProgress }: RedriveOptions,
): Promise<RedriveResult> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['QueueArn'] }),
  );
  const SourceArn = Attributes?.['QueueArn'] ?? '';
  const before = await newestTask(client, SourceArn);
  if (before?.Status === 'RUNNING' || before?.Status === 'CANCELLING') throw alreadyRunning(url, before);
  try {
    await client.send(
      new StartMessageMoveTaskCommand({ SourceArn, ...(rate !== undefined && { MaxNumberOfMessagesPerSecond: rate }) }),
    );
  } catch (error) {
    // Another process has started a task since the check above.
    if (error instanceof Error && /already a task running/i.test(error.message))
      throw alreadyRunning(url, await newestTask(client, SourceArn));
    throw error;
  }
  for (;;) {
    const newest = await newestTask(client, SourceArn);
    // Until the list holds our task, its newest is the task before ours.
    const task = newest?.StartedTimestamp === before?.StartedTimestamp ? undefined : newest;
    const moved = Number(task?.ApproximateNumberOfMessagesMoved ?? 0);
    const total = task?.ApproximateNumberOfMessagesToMove;
    if (task) onProgress?.({ moved, ...(total !== undefined && { total: Number(total) }) });
    if (task?.Status === 'COMPLETED') return { moved, unreadable: 0, held: 0 };
    if (task?.Status === 'FAILED' || task?.Status === 'CANCELLED') {
      const end = task.Status === 'FAILED' ? 'failed' : 'was cancelled';
      const reason = task.FailureReason ? `: ${task.FailureReason}` : '';
      throw new RedriveFailedError(
        `The redrive ${end} after ${moved} messages${reason}; the rest is still in ${nameOf(url)}: ` +
          'remove the cause and redrive again.',
      );
    }
    await pause(POLL_MS);
  }
}

async function newestTask(client: SQSClient, SourceArn: string): Promise<ListMessageMoveTasksResultEntry | undefined> {
  const { Results = [] } = await client.send(new ListMessageMoveTasksCommand({ SourceArn, MaxResults: 1 }));
  return Results[0];
}

function alreadyRunning(url: string, task: ListMessageMoveTasksResultEntry | undefined): RedriveRunningError {
  const { ApproximateNumberOfMessagesMoved: moved = 0, ApproximateNumberOfMessagesToMove: total } = task ?? {};
  const progress = task === undefined ? '' : ` (${moved} of ${total ?? 'unknown'} moved)`;
  // Only a task that runs has a handle.
  const stop = task?.TaskHandle
    ? `, or stop it with \`aws sqs cancel-message-move-task --task-handle ${task.TaskHandle}\`, then redrive again`
    : '';
  return new RedriveRunningError(`A redrive of ${nameOf(url)} is already running${progress}: wait for its end${stop}.`);
}

const nameOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);
