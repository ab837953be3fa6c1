import { randomUUID } from 'node:crypto';
import { createRequestCounts } from '../../../src/adapters/dynamodb/intake/request-counts.ts';
import { readRecords } from '../../../src/adapters/dynamodb/operator/operator-records.ts';
import type { PerLane } from '../../../src/core/model/channels.ts';
import { createApiDynamoDb } from '../runtime/clients/dynamodb.ts';
import { createApiLanes } from './api-lanes.ts';

interface ApiEnv {
  readonly NOTIFICATION_RETRY_LOG_TABLE: string;
  readonly PIPELINE_STATE_TABLE: string;
  readonly LANE_QUEUES: PerLane<string>;
}

/** The dependencies that all functions of the API share, on the deployed tables and queues. */
export function bindApi(env: ApiEnv) {
  const client = createApiDynamoDb();
  return {
    client,
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
    recordsOf: (log_id: string) => readRecords(client, env.NOTIFICATION_RETRY_LOG_TABLE, log_id),
    send: createApiLanes(env.LANE_QUEUES).send,
    clock: () => new Date(),
    newId: randomUUID,
  };
}
