import type document from '../../../docs/reference/api.json';
import { NOTIFICATION_ROUTES } from '../../../src/application/contract/api/notification-routes.ts';
import type { NotificationPage } from '../../../src/application/list-notifications.ts';
import type { TenantQuery } from '../../../src/application/list-of-tenant.ts';
import { attemptOf, summaryOf } from '../../../src/core/intake/notification-summary.ts';
import { notFound, requireOwnRow, whyNoRetry } from '../../../src/core/intake/public-state.ts';
import { CHANNELS, type Channel } from '../../../src/core/model/channels.ts';
import {
  asNotification,
  type NotificationRow,
  type RetryRecord,
  type WriterNotes,
} from '../../../src/core/model/notification.ts';
import { Problem, unavailable } from '../../../src/core/model/problem.ts';
import { newRunId } from '../../../src/core/model/queue-message.ts';
import { type RetryDeps, retryNow } from '../../../src/core/operator/retry-now.ts';
import { shownNotes } from '../../../src/core/operator/views/notification-view.ts';
import { type ServedRoute, serve } from './api-function.ts';
import { logIdIn, statusUrl } from './notification-path.ts';

export interface NotificationRouteDeps extends RetryDeps {
  readonly recordsOf: (log_id: string) => Promise<readonly RetryRecord[]>;
  readonly notesOf: (row: NotificationRow) => Promise<WriterNotes>;
  readonly list: (query: TenantQuery, tenant_id: string) => Promise<NotificationPage>;
  readonly newId: () => string;
}

/** What a stage offers; by default all. */
interface Offered {
  readonly newsletters?: boolean;
  readonly channels?: readonly Channel[];
}

/** The routes that show the state of notifications, retry them, and tell of all routes. */
export function notificationRoutes(deps: NotificationRouteDeps & Offered): ServedRoute[] {
  const { rows, clock } = deps;
  const summary = (row: NotificationRow) => summaryOf({ ...row }, clock());
  return serve(NOTIFICATION_ROUTES, {
    async listNotifications({ caller, query }) {
      const { rows: found, next_cursor } = await deps.list(query(), caller.tenant_id);
      const notifications = found.map((row) => summary(asNotification(row)));
      return { body: { notifications, next_cursor }, log: { items: notifications.length } };
    },
    async getNotification({ caller, path }) {
      const row = requireOwnRow(await rows.read(logIdIn(path)), caller.tenant_id, clock());
      const [records, notes] = await Promise.all([deps.recordsOf(row.log_id), deps.notesOf(row)]);
      return {
        body: { ...summary(row), ...shownNotes(notes), attempts: records.map(attemptOf) },
        log: { log_id: row.log_id },
      };
    },
    async retryNotification({ caller, path }) {
      const log_id = logIdIn(path);
      const row = requireOwnRow(await rows.read(log_id), caller.tenant_id, clock());
      const because = whyNoRetry(row, clock());
      if (because !== undefined) throw noRetry(because);
      const run_id = newRunId('manual', deps.newId());
      const { results } = await retryNow([log_id], run_id, { ...deps, requested_by: 'user' });
      const [result] = results;
      if (result === undefined || result.result === 'not_found') throw notFound();
      if (result.result === 'refused') throw noRetry(result.because);
      if (result.result === 'failed') throw unavailable('The retry could not be queued. Request it again.');
      return { body: { log_id, status: 'retrying', status_url: statusUrl(log_id) }, log: { log_id } };
    },
    getOpenApi: async () => ({ body: await openApi(deps) }),
  });
}

const OF_NEWSLETTERS = /^(\/v1\/(newsletters|members|emails)(\/|$)|newsletters:)/;

/** Loads the document when somebody asks for it, and leaves out what the stage does without. */
export async function openApi({ newsletters = true, channels = CHANNELS }: Offered = {}) {
  const { default: all } = await import('../../../docs/reference/api.json', { with: { type: 'json' } });
  const offered = channels.length === CHANNELS.length ? all : withChannels(all, channels);
  if (newsletters) return offered;
  const paths = Object.entries(all.paths).filter(([path]) => !OF_NEWSLETTERS.test(path));
  const tags = all.tags.filter(({ name }) => !OF_NEWSLETTERS.test(name));
  return { ...offered, tags, paths: Object.fromEntries(paths) };
}

/** What is taken names the stage's channels alone. Answers may tell of rows from before a channel was switched off. */
function withChannels({ info, components, ...rest }: typeof document, channels: readonly Channel[]) {
  const { Notification, Batch } = components.schemas;
  const narrowed = JSON.stringify({ Notification, Batch }).replaceAll(
    JSON.stringify(CHANNELS),
    JSON.stringify(channels),
  );
  const description = `This stage sends on ${channels.join(', ')}. Answers name other channels where their rows are left.`;
  const schemas = { ...components.schemas, ...JSON.parse(narrowed) };
  return { ...rest, info: { ...info, description }, components: { ...components, schemas } };
}

function noRetry(because: string | undefined): Problem {
  return new Problem('conflict', `The notification cannot be retried now: ${because}.`);
}
