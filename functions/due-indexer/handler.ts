import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { createIndexStore } from '../../src/adapters/dynamodb/indexing/index-store.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { streamImage, toForeignRow } from '../../src/adapters/dynamodb/table/item.ts';
import { type IndexDeps, type IndexOutcome, indexRow } from '../../src/core/indexing/index-row.ts';
import { type IndexShards, shardsForWriting } from '../../src/core/model/index-shards.ts';
import { traceIdOf } from '../../src/core/model/trace.ts';
import { createDynamoDb, pipelineState } from '../shared/runtime/clients/dynamodb.ts';
import { dueIndexerEnv } from '../shared/runtime/env.ts';
import { bindFunction, count, type Observability } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

export interface DueIndexerDeps extends Omit<IndexDeps, 'shards'> {
  /** Over how many partitions new entries are spread. */
  readonly shards: () => Promise<IndexShards>;
}

/**
 * Adds rows that other systems wrote to the work index. A malformed row is set aside and stops no other row. When
 * storage fails, the stream is read again from that record on.
 */
export function createHandler(deps: DueIndexerDeps, { logger, metrics }: Observability) {
  return async (event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> => {
    const known = { ...deps, shards: await deps.shards() };
    const results = await Promise.all(newestImages(event.Records).map((record) => indexRecord(record, known, logger)));
    for (const [outcome, metric] of COUNTED) {
      const rows = results.filter((result) => result.outcome === outcome).length;
      if (rows > 0) count(metrics, metric, rows);
    }
    // Many in a burst of changes: one line for all of them.
    const outdated = results.filter(({ outcome }) => outcome === 'outdated').length;
    if (outdated > 0) logger.info('rows have changed since; their later images count', { rows: outdated });
    const failed = results.find(({ outcome }) => outcome === 'failed');
    // Lambda reads the stream again from the first failure, so one is enough.
    return { batchItemFailures: failed ? [{ itemIdentifier: failed.sequence }] : [] };
  };
}

const COUNTED = [
  ['indexed', 'RowsIndexed'],
  ['set_aside', 'RowsSetAside'],
  ['outdated', 'RowsOutdated'],
  ['failed', 'RowsFailed'],
] as const;

/** Only the newest image of each row. The records stay in the order of the stream. */
function newestImages(records: readonly DynamoDBRecord[]): DynamoDBRecord[] {
  const keyOf = (record: DynamoDBRecord) => record.dynamodb?.Keys?.['log_id']?.S ?? record.eventID;
  const newest = new Map(records.map((record) => [keyOf(record), record]));
  return records.filter((record) => newest.get(keyOf(record)) === record);
}

async function indexRecord(
  { dynamodb }: DynamoDBRecord,
  deps: IndexDeps,
  logger: Observability['logger'],
): Promise<{ outcome: IndexOutcome['outcome'] | 'failed'; sequence: string }> {
  const sequence = dynamodb?.SequenceNumber ?? '0';
  const log_id = dynamodb?.Keys?.['log_id']?.S;
  try {
    if (dynamodb?.NewImage === undefined) return { outcome: 'ignored', sequence };
    const row = toForeignRow(streamImage(dynamodb.NewImage));
    const { outcome, why } = await indexRow({ row, sequence }, deps);
    if (why !== undefined)
      logger.warn('row set aside', { log_id, tenant_id: row['tenant_id'], ...traceIdOf(row), outcome, why });
    return { outcome, sequence };
  } catch (error) {
    logger.error(`row ${log_id} could not be indexed; the stream is read again from here`, {
      log_id,
      error: error as Error,
    });
    return { outcome: 'failed', sequence };
  }
}

export const handler = bindFunction(dueIndexerEnv, (env, observability) => {
  const client = createDynamoDb();
  const { sealer, hashKey } = createSecretsAndKeys(env, client);
  const store = createIndexStore({
    client,
    tables: {
      notification_log: env.NOTIFICATION_LOG_TABLE,
      notification_content: env.NOTIFICATION_CONTENT_TABLE,
      notification_retry_log: env.NOTIFICATION_RETRY_LOG_TABLE,
    },
    sealer,
    hashKey,
  });
  const deps: DueIndexerDeps = {
    store,
    shards: shardsForWriting(env.INDEX_SHARDS, createShardMark(pipelineState(client), env.PIPELINE_STATE_TABLE)),
    policy: env.RETRY_POLICY,
    time_zone: env.TIME_ZONE,
    channels: env.CHANNELS,
    clock: () => new Date(),
  };
  return createHandler(deps, observability);
});
