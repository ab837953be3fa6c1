import { readNotes } from '../../src/adapters/dynamodb/delivery/content-items.ts';
import { createOperatorRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { listOfTenant, type TenantQuery } from '../../src/application/list-of-tenant.ts';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { createApi } from '../shared/api/api-function.ts';
import { bindApi } from '../shared/api/bind-api.ts';
import { notificationRoutes } from '../shared/api/notification-routes.ts';
import { apiNotificationsEnv } from '../shared/runtime/env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';

export const handler = bindFunction(apiNotificationsEnv, (env, observability) => {
  const { client, ...shared } = bindApi(env);
  const mark = createShardMark(client, env.PIPELINE_STATE_TABLE);
  const listing = {
    dynamodb: client,
    deployment: { tables: { notification_log: env.NOTIFICATION_LOG_TABLE } },
    clock: shared.clock,
    shards: mark.read,
  };
  const deps = {
    ...shared,
    rows: createOperatorRows(client, env.NOTIFICATION_LOG_TABLE, shared.clock),
    list: (query: TenantQuery, tenant_id: string) => listOfTenant(query, tenant_id, listing),
    notesOf: (row: NotificationRow) => readNotes(client, env.NOTIFICATION_CONTENT_TABLE, row),
    policy: env.RETRY_POLICY,
    newsletters: !env.WITHOUT_NEWSLETTERS,
  };
  return createApi(notificationRoutes(deps), deps, observability);
});
