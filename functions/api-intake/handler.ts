import { createRecordStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { createIntakeStore, createReportStore } from '../../src/adapters/dynamodb/intake/intake-store.ts';
import { shardsForWriting } from '../../src/core/model/index-shards.ts';
import { createApi } from '../shared/api/api-function.ts';
import { bindApi } from '../shared/api/bind-api.ts';
import { intakeRoutes } from '../shared/api/intake-routes.ts';
import { apiIntakeEnv } from '../shared/runtime/env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../shared/runtime/secrets-and-keys.ts';

/** Accepts notifications, each once per idempotency key. */
export const handler = bindFunction(apiIntakeEnv, (env, observability) => {
  const { client, ...shared } = bindApi(env);
  const tables = {
    notification_log: env.NOTIFICATION_LOG_TABLE,
    notification_content: env.NOTIFICATION_CONTENT_TABLE,
    notification_retry_log: env.NOTIFICATION_RETRY_LOG_TABLE,
  };
  const storage = { client, tables, ...createSecretsAndKeys(env, client) };
  const deps = {
    ...shared,
    hashKey: storage.hashKey,
    store: createIntakeStore(storage),
    reports: createReportStore(storage, shared.clock),
    records: createRecordStore(client, env.NOTIFICATION_RETRY_LOG_TABLE),
    shards: shardsForWriting(env.INDEX_SHARDS, createShardMark(client, env.PIPELINE_STATE_TABLE)),
    policy: env.RETRY_POLICY,
  };
  return createApi(intakeRoutes(deps, observability), deps, observability);
});
