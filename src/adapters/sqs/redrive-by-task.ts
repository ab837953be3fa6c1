import {
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  type ListMessageMoveTasksResultEntry,
  type SQSClient,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { RedriveFailedError, type RedriveOptions, type RedriveResult, RedriveRunningError } from './redrive.ts';

const POLL_MS = 1_000;

/**
 * Redrives a dead-letter queue to the queues that its messages came from, by a message move task of SQS, and waits
 * for its end. The task continues when the command dies; `aws sqs cancel-message-move-task` ends it.
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
    if (error instanceof Error && /already a task running/i.test(error.message)) throw alreadyRunning(url);
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

function alreadyRunning(url: string, task?: ListMessageMoveTasksResultEntry): RedriveRunningError {
  const { ApproximateNumberOfMessagesMoved: moved = 0, ApproximateNumberOfMessagesToMove: total } = task ?? {};
  const progress = task === undefined ? '' : ` (${moved} of ${total ?? 'unknown'} moved)`;
  return new RedriveRunningError(
    `A redrive of ${nameOf(url)} is already running${progress}: wait for its end, or stop it with ` +
      '`aws sqs cancel-message-move-task`, then redrive again.',
  );
}

function nameOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
