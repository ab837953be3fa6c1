import { randomUUID } from 'node:crypto';
import { createRecordStore } from '../../src/adapters/dynamodb/delivery/record-store.ts';
import { createIntakeStore } from '../../src/adapters/dynamodb/intake/intake-store.ts';
import { createReportStore } from '../../src/adapters/dynamodb/intake/report-store.ts';
import { createRequestCounts } from '../../src/adapters/dynamodb/intake/request-counts.ts';
import { readRecords } from '../../src/adapters/dynamodb/operator/operator-records.ts';
import { type ApiDeps, createApi } from '../shared/api/api-function.ts';
import { type IntakeRouteDeps, intakeRoutes } from '../shared/api/intake-routes.ts';
import { createApiDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { createApiLanes } from '../shared/runtime/clients/sqs.ts';
import { apiIntakeEnv, parseEnv } from '../shared/runtime/env.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';
import { createKeys } from '../shared/runtime/secrets-and-keys.ts';

/** Takes notifications in, each once for its idempotency key. */
export function createHandler(deps: IntakeRouteDeps & ApiDeps, observability: Observability) {
  return createApi(intakeRoutes(deps, observability), deps, observability);
}

function bind() {
  const env = parseEnv(apiIntakeEnv, process.env);
  const observability = createObservability();
  const client = createApiDynamoDb();
  const tables = {
    notification_log: env.NOTIFICATION_LOG_TABLE,
    notification_content: env.NOTIFICATION_CONTENT_TABLE,
  };
  const clock = () => new Date();
  const storage = { client, tables, ...createKeys(env) };
  const deps: IntakeRouteDeps & ApiDeps = {
    counts: createRequestCounts(client, env.PIPELINE_STATE_TABLE),
    store: createIntakeStore(storage),
    reports: createReportStore(storage, clock),
    records: createRecordStore(client, env.NOTIFICATION_RETRY_LOG_TABLE),
    recordsOf: (log_id) => readRecords(client, env.NOTIFICATION_RETRY_LOG_TABLE, log_id),
    send: createApiLanes(env.LANE_QUEUES).send,
    policy: env.RETRY_POLICY,
    clock,
    newId: randomUUID,
  };
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
