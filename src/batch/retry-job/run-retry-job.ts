import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Deployment } from '../../adapters/deployment/deployment.ts';
import { createDeploymentClients } from '../../adapters/deployment/deployment-clients.ts';
import { createClaimStore } from '../../adapters/dynamodb/delivery/delivery-stores.ts';
import { createShardMark } from '../../adapters/dynamodb/indexing/shard-mark.ts';
import { createDueIndex, createSweepLog } from '../../adapters/dynamodb/sweep/sweep-stores.ts';
import { createSweepLanes } from '../../adapters/sqs/lanes.ts';
import { foresight } from '../../core/delivery/claim-plan.ts';
import { newRunId, type QueueMessage } from '../../core/model/queue-message.ts';
import { whenAborted } from '../../core/model/time.ts';
import {
  awaitOutcomes,
  OUTCOME_PATIENCE_MS,
  type Outcomes,
  OutcomesUnreadableError,
} from '../../core/sweep/await-outcomes.ts';
import { sweep } from '../../core/sweep/sweep.ts';
import type { SweepRequest, SweepResult } from '../../core/sweep/sweep-run.ts';
import type { Count, Progress } from '../../terminal/progress.ts';

/** The result of the job (a contract: fields are added, never renamed). */
export type RetryJobResult = SweepResult & { readonly outcomes?: Outcomes };

export interface RetryJobRun {
  readonly result: RetryJobResult;
  /** Messages that SQS did not take: their notifications stay due. */
  readonly refused: number;
  /** Why the outcomes are not known. The result then holds those that were known before. */
  readonly failure?: string;
}

/** Milliseconds. A connection that hangs must not hold up the run; the SDK tries again on another connection. */
const REQUEST_LIMITS = { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true } as const;

/**
 * Runs BATCH-952 once in this process, with the same sweep as the dispatcher. An aborted signal ends the run early: a
 * notification that was not dispatched stays due, and one that was dispatched and has no outcome counts as UNSETTLED.
 */
export async function runRetryJob(
  request: SweepRequest,
  deployment: Deployment,
  options: { readonly wait: boolean; readonly progress: Progress; readonly signal: AbortSignal },
): Promise<RetryJobRun> {
  const { tables, lane_queues, sweep_interval_seconds, retry_policy } = deployment;
  const { progress, signal } = options;
  const { dynamodb, sqs, destroy } = createDeploymentClients(deployment, { requestHandler: REQUEST_LIMITS });
  const mark = createShardMark(dynamodb, tables.pipeline_state);
  const clock = () => new Date();
  const dispatched: QueueMessage[] = [];
  const rows = createClaimStore(dynamodb, tables.notification_log, clock);
  try {
    await catchUp(deployment, progress, signal);
    const { result, refused } = await sweep(
      request,
      { run_id: newRunId('manual', randomUUID()) },
      {
        index: createDueIndex(dynamodb, tables.notification_log, async () => (await mark.read()).work),
        lanes: createSweepLanes(sqs, lane_queues, {
          onRefused: (reason, count) =>
            progress.note(`SQS refused ${count} messages: ${reason}. They stay due for the next run.`),
        }),
        foresee: foresight({ rows, clock, policy: retry_policy }),
        sweeps: createSweepLog(dynamodb, tables.pipeline_state),
        clock,
        interval_ms: sweep_interval_seconds * 1000,
        policy: retry_policy,
        outOfTime: () => signal.aborted,
        onDispatched: (messages) => {
          for (const { message, delay_seconds } of messages) if (delay_seconds === 0) dispatched.push(message);
          progress.update({ verb: 'dispatched', done: dispatched.length });
        },
      },
    );
    if (!options.wait || request.dry_run) return { result, refused };
    const waiting = awaitOutcomes(dispatched, {
      read: rows.read,
      pause: (ms) => setTimeout(ms),
      now: Date.now,
      patience_ms: OUTCOME_PATIENCE_MS,
      onProgress: (outcomes, open) => progress.update(outcomeCount(outcomes, open)),
      signal,
    });
    return { refused, ...(await withOutcomes(result, waiting)) };
  } finally {
    progress.end();
    destroy();
  }
}

async function catchUp({ caughtUp }: Deployment, progress: Progress, signal: AbortSignal): Promise<void> {
  if (caughtUp === undefined || signal.aborted) return;
  if ((await Promise.race([caughtUp(), whenAborted(signal)])) === false) {
    progress.note('Warning: rows put in the last moments are not indexed yet; run again for them.');
  }
}

async function withOutcomes(result: SweepResult, waiting: Promise<Outcomes>): Promise<Omit<RetryJobRun, 'refused'>> {
  try {
    return { result: { ...result, outcomes: await waiting } };
  } catch (error) {
    if (!(error instanceof OutcomesUnreadableError)) throw error;
    return { result: { ...result, outcomes: error.outcomes }, failure: error.message };
  }
}

/** How far a run's notifications are. @param open notifications that have no outcome yet */
export function outcomeCount(outcomes: Outcomes, open: number): Count {
  const done = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const summary = Object.entries(outcomes)
    .map(([status, count]) => `${status} ${count}`)
    .join(' · ');
  return { verb: 'settled', done, total: done + open, summary, complete: open === 0 };
}
