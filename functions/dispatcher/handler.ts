import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import { createRecordStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createOperatorRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { createPacingStore } from '../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { createDueIndex, createSweepLog } from '../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { parseSweepEvent, type SweepEvent } from '../../src/adapters/lambda/events.ts';
import { createSweepLanes } from '../../src/adapters/sqs/lanes.ts';
import { foresight } from '../../src/core/delivery/claim-plan.ts';
import { TABLE_CALL_MS } from '../../src/core/delivery/policy/attempt-times.ts';
import { malformedEntries } from '../../src/core/delivery/take-over.ts';
import { channelsIn } from '../../src/core/model/channels.ts';
import { shardsForReading } from '../../src/core/model/index-shards.ts';
import { newRunId } from '../../src/core/model/queue-message.ts';
import { isWaiting } from '../../src/core/pacing/budget-status.ts';
import { isWalked, type ShortLanes, type SweepDeps, sweep } from '../../src/core/sweep/sweep.ts';
import { isBetweenSweeps, type SweepLog, type SweepResult } from '../../src/core/sweep/sweep-run.ts';
import { createDynamoDb, pipelineState } from '../shared/runtime/clients/dynamodb.ts';
import { createSqs } from '../shared/runtime/clients/sqs.ts';
import { dispatcherEnv } from '../shared/runtime/env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';

export interface SweepFunctionDeps
  extends Omit<SweepDeps, 'outOfTime' | 'onDispatched' | 'onSetAside' | 'onSetAsideFailed' | 'sweeps' | 'short_lanes'> {
  /** For scheduled sweeps; what an operator asks for is sent at once. */
  readonly short_lanes: ShortLanes;
  readonly newId: () => string;
  readonly log: SweepLog;
  /** Invokes this function again with the event, without waiting for the result. */
  readonly continueWith: (event: SweepEvent) => Promise<void>;
}

/** Milliseconds for the messages of a page; what SQS has not taken by then is skipped, and the next sweep finds it. */
const PAGE_SENT_WITHIN_MS = 12_000;
/** Milliseconds reserved for reading and sending the last page and for starting the next invocation. */
const RESERVE_MS = 30_000;
if (TABLE_CALL_MS + PAGE_SENT_WITHIN_MS + 5_000 > RESERVE_MS)
  throw new Error('The last page of a sweep may be cut off.');

/** Messages that a lane may hold whatever it takes: a few seconds of a fast one, some minutes of a slow one. */
const LEAST_PER_LANE = 500;

/** Runs a sweep for the schedule and for the job: both have the same options and the same answer. */
export function createHandler(deps: SweepFunctionDeps, { logger, metrics }: Observability) {
  return async (event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>): Promise<SweepResult> => {
    const { request, from, scheduled, run_id: given } = parseSweepEvent(event);
    const run_id = given ?? newRunId(scheduled ? 'sweep' : 'manual', deps.newId());
    const started = deps.clock();
    const outOfTime = () => context.getRemainingTimeInMillis() < RESERVE_MS;
    const onSetAside: SweepDeps['onSetAside'] = ({ log_id }, why) => {
      count(metrics, 'EntriesSetAside');
      logger.warn('malformed row left the work index', { log_id, why });
    };
    const onSetAsideFailed: SweepDeps['onSetAsideFailed'] = ({ log_id }, error) =>
      logger.error('malformed row could not be set aside', { log_id, error: error as Error });
    const everything = Object.values(request).every((option) => option === undefined);
    const { short_lanes, ...rest } = deps;
    const bound = scheduled && everything && { short_lanes };
    const { result, next, refused } = await sweep(
      request,
      { run_id, ...(from && { from }) },
      { ...rest, ...bound, sweeps: deps.log, outOfTime, onSetAside, onSetAsideFailed },
    );
    const complete = isWalked(next);
    if (next)
      await deps.continueWith({
        ...request,
        run_id,
        cursor: next as NonNullable<SweepEvent['cursor']>,
      });
    const { targets: _, ...counts } = result;
    logger.info('sweep', { ...counts, continued: next !== undefined });
    const started_at = from?.started ?? started.toISOString();
    const { express_minutes, ahead, ...part } = request;
    if (isBetweenSweeps(request) && Object.keys(part).length === 0 && next === undefined && refused === 0) {
      await (ahead ? deps.log.recordAhead(started_at) : deps.log.recordExpress(started_at)).catch((error: unknown) =>
        logger.warn('the run between two sweeps could not be recorded', { run_id, error: error as Error }),
      );
    }
    if (result.dry_run || isBetweenSweeps(request)) return result;
    const duration_ms = deps.clock().getTime() - started.getTime();
    count(metrics, 'SweepDue', result.due);
    count(metrics, 'SweepDispatched', result.dispatched);
    count(metrics, 'SweepSkipped', result.skipped);
    count(metrics, 'SweepDuration', duration_ms);
    if (scheduled && complete && (from === undefined || !isWalked(from))) count(metrics, 'Sweeps');
    const { due, dispatched, skipped } = result;
    await deps.log
      .record({ run_id, started_at, duration_ms, due, dispatched, skipped, complete, everything })
      // A failure here would repeat the whole sweep; without the record, the next sweep only skips less.
      .catch((error: unknown) => logger.warn('the sweep could not be recorded', { run_id, error: error as Error }));
    return result;
  };
}

export const handler = bindFunction(dispatcherEnv, (env, observability) => {
  const dynamodb = createDynamoDb();
  const clock = () => new Date();
  const state = pipelineState(dynamodb);
  const budgets = createPacingStore(state, env.PIPELINE_STATE_TABLE);
  const shards = shardsForReading(env.INDEX_SHARDS, createShardMark(state, env.PIPELINE_STATE_TABLE));
  const rows = createOperatorRows(dynamodb, env.NOTIFICATION_LOG_TABLE, clock);
  const deps: SweepFunctionDeps = {
    index: createDueIndex(
      dynamodb,
      env.NOTIFICATION_LOG_TABLE,
      async () => (await shards()).work,
      channelsIn(env.LANE_QUEUES),
    ),
    malformed: malformedEntries({
      rows,
      records: createRecordStore(dynamodb, env.NOTIFICATION_RETRY_LOG_TABLE),
      clock,
    }),
    foresee: foresight({ rows, clock, policy: env.RETRY_POLICY }),
    log: createSweepLog(state, env.PIPELINE_STATE_TABLE),
    lanes: createSweepLanes(createSqs(), env.LANE_QUEUES, {
      // Unknown, it counts as no: then more rows get a second message, each of which costs a failed claim.
      isWaiting: async (channel, lane) =>
        budgets.read(channel).then(
          (registers) => isWaiting(registers, lane, new Date()),
          () => false,
        ),
      within_ms: PAGE_SENT_WITHIN_MS,
      onRefused: (reason, count) =>
        observability.logger.error('messages not queued; the next sweep finds them', { reason, count }),
    }),
    clock,
    interval_ms: env.SWEEP_INTERVAL_SECONDS * 1000,
    policy: env.RETRY_POLICY,
    short_lanes: { seconds: env.LANE_SECONDS, least: LEAST_PER_LANE, pause: (ms) => setTimeout(ms) },
    newId: randomUUID,
    continueWith: async (event) => (await import('../shared/runtime/clients/lambda.ts')).invokeAgain(event),
  };
  return createHandler(deps, observability);
});
