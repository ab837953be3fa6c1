import { type CopiesRequest, type ListRequest, readListRequest } from '../../../src/adapters/api/list-request.ts';
import { openApiDocument } from '../../../src/adapters/api/openapi.ts';
import { attemptOf, summaryOf } from '../../../src/core/intake/notification-summary.ts';
import { whyNoRetry } from '../../../src/core/intake/public-state.ts';
import { notFound, requireOwnRow } from '../../../src/core/intake/require-own-row.ts';
import { asNotification, type ForeignRow } from '../../../src/core/model/foreign-row.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import { Problem, unavailable } from '../../../src/core/model/problem.ts';
import { newRunId } from '../../../src/core/model/queue-message.ts';
import { type RetryDeps, retryNow } from '../../../src/core/operator/retry-now.ts';
import type { ApiAnswer, ApiRequest, Routes } from './api-function.ts';
import { logIdIn, statusUrl } from './notification-path.ts';

export interface NotificationRouteDeps extends RetryDeps {
  readonly recordsOf: (log_id: string) => Promise<readonly RetryRecord[]>;
  readonly list: (
    request: ListRequest | CopiesRequest,
  ) => Promise<{ rows: readonly ForeignRow[]; next_cursor: string | null }>;
  readonly newId: () => string;
}

/** These routes take no body. */
const MAX_BYTES = 16 * 1024;

/** The routes that show the state of notifications and retry them. */
export function notificationRoutes(deps: NotificationRouteDeps): Routes {
  const { rows, clock } = deps;
  const summary = (row: NotificationRow) => summaryOf({ ...row }, clock());

  async function show({ caller, path }: ApiRequest): Promise<ApiAnswer> {
    const row = requireOwnRow(await rows.read(logIdIn(path)), caller.tenant_id, clock());
    const attempts = (await deps.recordsOf(row.log_id)).map(attemptOf);
    return { status: 200, body: { ...summary(row), attempts }, log: { log_id: row.log_id } };
  }

  async function list({ caller, query }: ApiRequest): Promise<ApiAnswer> {
    const { rows: found, next_cursor } = await deps.list(readListRequest(query, caller.tenant_id, clock()));
    const notifications = found.map((row) => summary(asNotification(row)));
    return { status: 200, body: { notifications, next_cursor }, log: { items: notifications.length } };
  }

  async function retry({ caller, path }: ApiRequest): Promise<ApiAnswer> {
    const log_id = logIdIn(path);
    const row = requireOwnRow(await rows.read(log_id), caller.tenant_id, clock());
    const because = whyNoRetry(row, clock());
    if (because !== undefined) throw noRetry(because);
    const { results } = await retryNow([log_id], newRunId('manual', deps.newId()), { ...deps, requested_by: 'user' });
    const [result] = results;
    if (result === undefined || result.result === 'not_found') throw notFound();
    if (result.result === 'refused') throw noRetry(result.because);
    if (result.result === 'failed') throw unavailable('The retry could not be queued. Request it again.');
    return { status: 202, body: { log_id, status: 'retrying', status_url: statusUrl(log_id) }, log: { log_id } };
  }

  return {
    'GET /v1/openapi.json': { open: async () => ({ status: 200, body: openApiDocument() }) },
    'GET /v1/notifications': { scope: 'read', max_bytes: MAX_BYTES, handle: list },
    'GET /v1/notifications/{log_id}': { scope: 'read', tokens: 'log_id', max_bytes: MAX_BYTES, handle: show },
    'POST /v1/notifications/{log_id}/retry': {
      scope: 'operate',
      tokens: 'log_id',
      max_bytes: MAX_BYTES,
      handle: retry,
    },
  };
}

function noRetry(because: string | undefined): Problem {
  return new Problem('conflict', `The notification cannot be retried now: ${because}.`);
}
