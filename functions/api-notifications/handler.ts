import { createShardMark } from '../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { createOperatorRows } from '../../src/adapters/dynamodb/table/guarded-update.ts';
import { type ApiDeps, createApi } from '../shared/api/api-function.ts';
import { bindApi } from '../shared/api/bind-api.ts';
import { listOfTenant } from '../shared/api/list-of-tenant.ts';
import {
  type NotificationRouteDeps,
  notificationRoutes,
  type Offered,
  openApi,
} from '../shared/api/notification-routes.ts';
import { apiNotificationsEnv } from '../shared/runtime/env.ts';
import { parseEnv } from '../shared/runtime/env-values.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';

/** Shows the state of notifications and retries them. */
export function createHandler(deps: NotificationRouteDeps & ApiDeps & Offered, observability: Observability) {
  return createApi([...notificationRoutes(deps), openApi(deps)], deps, observability);
}

function bind() {
  const env = parseEnv(apiNotificationsEnv, process.env);
  const observability = createObservability();
  const { client, ...shared } = bindApi(env);
  const mark = createShardMark(client, env.PIPELINE_STATE_TABLE);
  const listing = {
    dynamodb: client,
    deployment: { tables: { notification_log: env.NOTIFICATION_LOG_TABLE } },
    clock: shared.clock,
    shards: mark.read,
  };
  const deps: Parameters<typeof createHandler>[0] = {
    ...shared,
    rows: createOperatorRows(client, env.NOTIFICATION_LOG_TABLE, shared.clock),
    list: (query, tenant_id) => listOfTenant(query, tenant_id, listing),
    policy: env.RETRY_POLICY,
    newsletters: !env.WITHOUT_NEWSLETTERS,
  };
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
