import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { createIndexStore } from '../../src/adapters/dynamodb/index-store.ts';
import { toForeignRow } from '../../src/adapters/dynamodb/item.ts';
import { type IndexDeps, type IndexOutcome, indexRow } from '../../src/core/index-row.ts';
import { createDynamoDb, toRetryPolicy } from '../shared/bindings.ts';
import { dueIndexerEnv, parseEnv } from '../shared/env.ts';
import { createKeys } from '../shared/keys.ts';
import { createObservability, type Observability, withObservability } from '../shared/middleware.ts';

/**
 * Takes rows that others wrote into the work index. A malformed row is set aside and stops no other; when storage
 * fails, the stream is read again from that record on.
 */
export function createHandler(deps: IndexDeps, { logger, metrics }: Observability) {
  return async (event: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> => {
    const results = await Promise.all(event.Records.map((record) => indexRecord(record, deps, logger)));
    for (const outcome of ['indexed', 'set_aside'] as const) {
      const count = results.filter((result) => result.outcome === outcome).length;
      if (count > 0) metrics.addMetric(outcome === 'indexed' ? 'RowsIndexed' : 'RowsSetAside', 'Count', count);
    }
    const failed = results.find(({ outcome }) => outcome === 'failed');
    // Lambda reads the stream on from the first failure, so one is enough.
    return { batchItemFailures: failed ? [{ itemIdentifier: failed.sequence }] : [] };
  };
}

async function indexRecord(
  record: DynamoDBRecord,
  deps: IndexDeps,
  logger: Observability['logger'],
): Promise<{ outcome: IndexOutcome | 'failed'; sequence: string }> {
  const sequence = record.dynamodb?.SequenceNumber ?? '';
  const image = record.dynamodb?.NewImage;
  if (image === undefined) return { outcome: 'ignored', sequence };
  const row = toForeignRow(image as Record<string, AttributeValue>);
  const ids = { log_id: row['log_id'], tenant_id: row['tenant_id'] };
  try {
    const { outcome, why } = await indexRow(row, deps);
    if (outcome === 'set_aside') logger.warn('row set aside', { ...ids, error_type: 'FORMAT_ERROR', why });
    return { outcome, sequence };
  } catch (error) {
    logger.error('row could not be indexed; the stream is read again from here', { ...ids, error });
    return { outcome: 'failed', sequence };
  }
}

function bind() {
  const env = parseEnv(dueIndexerEnv, process.env);
  const observability = createObservability();
  const { cipher, hashKey } = createKeys(env);
  const store = createIndexStore({
    client: createDynamoDb(),
    tables: { notification_log: env.NOTIFICATION_LOG_TABLE, notification_content: env.NOTIFICATION_CONTENT_TABLE },
    cipher,
    hashKey,
  });
  const deps: IndexDeps = { store, policy: toRetryPolicy(env.RETRY_POLICY), clock: () => new Date() };
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
