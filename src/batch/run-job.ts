import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Deployment } from '../adapters/deployment/deployment.ts';
import { createClaimStore } from '../adapters/dynamodb/claim-store.ts';
import { createDueIndex } from '../adapters/dynamodb/due-index.ts';
import { createSweepLanes } from '../adapters/sqs/lanes.ts';
import { awaitOutcomes, type Outcomes } from '../core/await-outcomes.ts';
import { newRunId, type QueueMessage } from '../core/queue-message.ts';
import { type SweepRequest, sweep } from '../core/sweep.ts';
import type { SweepResult } from '../core/sweep-tally.ts';
import type { JobProgress } from './job-progress.ts';

/** The job's answer (design §8, contract). */
export type JobResult = SweepResult & { readonly outcomes?: Outcomes };

/** Longer than a message whose worker died stays invisible, so that its second delivery is still waited for. */
const PATIENCE_MS = 7 * 60_000;

/** One run of BATCH-952 from the command line: the same sweep as the dispatcher's, in this process. */
export async function runJob(
  request: SweepRequest,
  deployment: Deployment,
  options: { readonly wait: boolean; readonly progress: JobProgress },
): Promise<JobResult> {
  const { tables, lane_queues, clients, sweep_interval_seconds } = deployment;
  const dynamodb = new DynamoDBClient({ ...clients.dynamodb, retryMode: 'adaptive', maxAttempts: 5 });
  const sqs = new SQSClient({ ...clients.sqs, ...(clients.sqs.endpoint && { useQueueUrlAsEndpoint: false }) });
  const clock = () => new Date();
  const dispatched: QueueMessage[] = [];
  try {
    await deployment.caughtUp?.();
    const { result } = await sweep(
      request,
      { run_id: newRunId('manual', randomUUID()) },
      {
        index: createDueIndex(dynamodb, tables.notification_log),
        lanes: createSweepLanes(sqs, lane_queues),
        clock,
        interval_ms: sweep_interval_seconds * 1000,
        onDispatched: (messages) => {
          for (const { message, delay_seconds } of messages) if (delay_seconds === 0) dispatched.push(message);
          options.progress.dispatched(dispatched.length);
        },
      },
    );
    if (!options.wait || request.dry_run) return result;
    const outcomes = await awaitOutcomes(dispatched, {
      read: createClaimStore(dynamodb, tables.notification_log, clock).read,
      pause: (ms) => setTimeout(ms),
      now: Date.now,
      patience_ms: PATIENCE_MS,
      onProgress: options.progress.settled,
    });
    return { ...result, outcomes };
  } finally {
    options.progress.end();
    dynamodb.destroy();
    sqs.destroy();
  }
}
