import { randomUUID } from 'node:crypto';
import { onFirstUse } from '../../../src/adapters/batching/gather.ts';
import { readRecords } from '../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createRequestCounts } from '../../../src/adapters/dynamodb/intake/request-counts.ts';
import { channelsIn, type StageLanes } from '../../../src/core/model/channels.ts';
import { createApiDynamoDb } from '../runtime/clients/api-dynamodb.ts';
import type { SendMessages } from './intake-routes.ts';

interface ApiEnv {
  readonly NOTIFICATION_RETRY_LOG_TABLE: string;
  readonly PIPELINE_STATE_TABLE: string;
  readonly LANE_QUEUES: StageLanes<string>;
}

/** The dependencies that all functions of the API share, on the deployed tables and queues. */
export function bindApi(env: ApiEnv) {
  const client = createApiDynamoDb();
  // SQS's client is loaded with the first notification that is to be sent at once.
  const lanes = onFirstUse(async () => (await import('./api-lanes.ts')).createApiLanes(env.LANE_QUEUES));
  const send: SendMessages = async (messages) => (await lanes()).send(messages);
  return {
    client,
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
    recordsOf: (log_id: string) => readRecords(client, env.NOTIFICATION_RETRY_LOG_TABLE, log_id),
    send,
    channels: channelsIn(env.LANE_QUEUES),
    clock: () => new Date(),
    newId: randomUUID,
  };
}
