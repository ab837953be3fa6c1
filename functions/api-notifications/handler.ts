import { randomUUID } from 'node:crypto';
import { createList } from '../../src/adapters/api/list-notifications.ts';
import { createRequestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { readRecords } from '../../src/adapters/dynamodb/operator/operator-records.ts';
import { createOperatorRows } from '../../src/adapters/dynamodb/operator/operator-rows.ts';
import { type ApiDeps, createApi } from '../shared/api/api-function.ts';
import { type NotificationRouteDeps, notificationRoutes } from '../shared/api/notification-routes.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { createApiLanes } from '../shared/runtime/clients/sqs.ts';
import { apiNotificationsEnv, parseEnv } from '../shared/runtime/env.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';

/** Tells what became of notifications, and has one retried. */
export function createHandler(deps: NotificationRouteDeps & ApiDeps, observability: Observability) {
  return createApi(notificationRoutes(deps), deps, observability);
}

function bind() {
  const env = parseEnv(apiNotificationsEnv, process.env);
  const observability = createObservability();
  const client = createApiDynamoDb();
  const table = env.NOTIFICATION_LOG_TABLE;
  const clock = () => new Date();
  const deps: NotificationRouteDeps & ApiDeps = {
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
    rows: createOperatorRows(client, table, clock),
    records: (log_id) => readRecords(client, env.NOTIFICATION_RETRY_LOG_TABLE, log_id),
    list: createList(client, table, clock),
    send: createApiLanes(env.LANE_QUEUES).send,
    policy: env.RETRY_POLICY,
    clock,
    newId: randomUUID,
  };
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
