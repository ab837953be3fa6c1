import { setTimeout } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import { createIndexStore } from '../../src/adapters/dynamodb/indexing/index-store.ts';
import { createRowScan, createScanProgress } from '../../src/adapters/dynamodb/indexing/row-scan.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { parseReconcileEvent, type ReconcileAnswer, type ReconcilePart } from '../../src/adapters/lambda/events.ts';
import {
  type ProgressStore,
  type ReconcileCounts,
  type ReconcileDeps,
  reconcile,
  scheduledScan,
} from '../../src/core/indexing/reconcile.ts';
import { type IndexShards, shardsForWriting } from '../../src/core/model/index-shards.ts';
import { createDynamoDb, pipelineState } from '../shared/runtime/clients/dynamodb.ts';
import { reconcilerEnv } from '../shared/runtime/env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

export interface ReconcilerDeps
  extends Omit<ReconcileDeps, 'outOfTime' | 'onMissed' | 'onFailed' | 'onProgress' | 'shards'> {
  /** Over how many partitions new entries are spread. */
  readonly shards: () => Promise<IndexShards>;
  readonly progress: ProgressStore;
  /** Invokes this function again, without waiting for the result. */
  readonly continueWith: (event: { readonly continued: true }) => Promise<void>;
}

const NOTHING: ReconcileCounts = { scanned: 0, missed: 0, taken_in: 0, set_aside: 0, failed: 0 };

/** Milliseconds reserved for the rows of the last pages and for starting the next invocation. */
const RESERVE_MS = 150_000;

/** Finds rows that the due-indexer never took in, by schedule or part by part for an operator, and takes them in. */
export function createHandler(deps: ReconcilerDeps, { logger, metrics }: Observability) {
  const onMissed: ReconcileDeps['onMissed'] = (log_id, outcome, why) =>
    logger.warn('the due-indexer never took this row in', { log_id, outcome, ...(why !== undefined && { why }) });
  const onFailed: ReconcileDeps['onFailed'] = (log_id, error) =>
    logger.error('missed row could not be taken in; the next scan meets it again', { log_id, error: error as Error });

  const byOperator = async ({ dry_run, seconds, after }: ReconcilePart, late: () => boolean) => {
    const until = deps.clock().getTime() + seconds * 1000;
    const outOfTime = () => late() || deps.clock().getTime() >= until;
    return reconcile(
      { dry_run, ...(after && { after }) },
      { ...deps, shards: await deps.shards(), outOfTime, onFailed, ...(!dry_run && { onMissed }) },
    );
  };

  return async (event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>): Promise<ReconcileAnswer> => {
    const late = () => context.getRemainingTimeInMillis() < RESERVE_MS;
    const asked = parseReconcileEvent(event);
    if ('part' in asked) {
      const { counts, next } = await byOperator(asked.part, late);
      report(counts, { counted: !asked.part.dry_run });
      return { ...counts, ...(next && { next: { ...next } }) };
    }
    const done = await scheduledScan(asked, {
      ...deps,
      shards: await deps.shards(),
      outOfTime: late,
      onMissed,
      onFailed,
    });
    if (done === undefined) logger.info('another scan is under way');
    if (done?.reached.next) await deps.continueWith({ continued: true });
    const counts = done?.counts ?? NOTHING;
    report(counts, { counted: true });
    return counts;
  };

  function report(counts: ReconcileCounts, { counted }: { readonly counted: boolean }): void {
    logger.info('reconciled', { ...counts });
    if (!counted) return;
    count(metrics, 'RowsScanned', counts.scanned);
    count(metrics, 'RowsMissed', counts.missed);
  }
}

export const handler = bindFunction(reconcilerEnv, (env, observability) => {
  const client = createDynamoDb();
  const { sealer, hashKey } = createSecretsAndKeys(env, client);
  const tables = {
    notification_log: env.NOTIFICATION_LOG_TABLE,
    notification_content: env.NOTIFICATION_CONTENT_TABLE,
    notification_retry_log: env.NOTIFICATION_RETRY_LOG_TABLE,
  };
  const deps: ReconcilerDeps = {
    scan: createRowScan(client, tables),
    store: createIndexStore({ client, tables, sealer, hashKey }),
    progress: createScanProgress(client, env.PIPELINE_STATE_TABLE),
    shards: shardsForWriting(env.INDEX_SHARDS, createShardMark(pipelineState(client), env.PIPELINE_STATE_TABLE)),
    policy: env.RETRY_POLICY,
    time_zone: env.TIME_ZONE,
    channels: env.CHANNELS,
    units_per_second: env.READ_UNITS_PER_SECOND,
    clock: () => new Date(),
    pause: (ms) => setTimeout(ms),
    continueWith: async (event) => (await import('../shared/runtime/clients/lambda.ts')).invokeAgain(event),
  };
  return createHandler(deps, observability);
});
