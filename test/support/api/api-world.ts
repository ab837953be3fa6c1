import { randomUUID } from 'node:crypto';
import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { createApi, type ServedRoute } from '../../../functions/shared/api/api-function.ts';
import { emailRoutes } from '../../../functions/shared/api/email-routes.ts';
import { type IntakeRouteDeps, intakeRoutes } from '../../../functions/shared/api/intake-routes.ts';
import { memberRoutes, newsletterRoutes } from '../../../functions/shared/api/newsletter-routes.ts';
import { notificationRoutes } from '../../../functions/shared/api/notification-routes.ts';
import { tokenRoutes } from '../../../functions/shared/api/token-routes.ts';
import { createApiKeyStore, newApiKey } from '../../../src/adapters/api-keys/api-key.ts';
import { readNotes } from '../../../src/adapters/dynamodb/delivery/content-items.ts';
import { createRecordStore, readRecords } from '../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createOperatorRows } from '../../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import { createShardMark } from '../../../src/adapters/dynamodb/indexing/shard-mark.ts';
import { createIntakeStore, createReportStore } from '../../../src/adapters/dynamodb/intake/intake-store.ts';
import { createRequestCounts, createTestCounts } from '../../../src/adapters/dynamodb/intake/request-counts.ts';
import { createBatchStore, createChunkStore } from '../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createDryRunStore, createEmailStore } from '../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../../../src/adapters/dynamodb/newsletter/event-store.ts';
import { createMemberStore } from '../../../src/adapters/dynamodb/newsletter/member-store.ts';
import { createNewsletterStore } from '../../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { toForeignRow, toItem } from '../../../src/adapters/dynamodb/table/item.ts';
import { createCandidateReader } from '../../../src/adapters/nql/candidate-reader.ts';
import { createPartSegments, createRenderings } from '../../../src/adapters/post/post-renderer.ts';
import { createMemberSealing } from '../../../src/adapters/recipient/member-sealing.ts';
import type { DraftDeps } from '../../../src/application/emails/drafts.ts';
import type { PreviewDeps } from '../../../src/application/emails/preview.ts';
import { listOfTenant } from '../../../src/application/list-of-tenant.ts';
import type { TenantMembersDeps } from '../../../src/application/members/tenant-members.ts';
import { SCOPES, type Scope } from '../../../src/core/intake/api-scopes.ts';
import type { ForeignRow } from '../../../src/core/model/notification.ts';
import type { QueuedMessage } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { PrepareMessage, SendMessage } from '../../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS } from '../../../src/core/newsletter/model/job-limits.ts';
import type { BulkCall } from '../../../src/core/newsletter/model/provider.ts';
import { createLateExclusions } from '../../../src/core/newsletter/sending/exclusion-checks.ts';
import { PLANNED_SHARE } from '../../../src/core/pacing/pacing-policy.ts';
import { serve } from '../../../src/http/loopback-server.ts';
import { createHttpApi } from '../../../src/local/emulator/http-api/http-api.ts';
import { startTestDynamoDb } from '../dynamodb.ts';
import { sealerOn } from '../sealer.ts';
import { createTables } from '../tables.ts';

const AUTHORIZER = { functionName: 'authorizer', header: 'authorization', ttlSeconds: 0 };

/** The API's functions in this process, on a DynamoDB stand-in, behind API Gateway as the local runtime plays it. */
export type ApiWorld = Awaited<ReturnType<typeof startApiWorld>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly body: any;
}

/** @param more routes beside those of the API */
export async function startApiWorld(more: readonly ServedRoute[] = []) {
  const dynamodb = await startTestDynamoDb();
  const { client } = dynamodb;
  const tables = await createTables(client, 'api');
  let moved = 0;
  let still: number | undefined;
  const clock = () => new Date((still ?? Date.now()) + moved);
  const storage = { client, tables, sealer: sealerOn(client, tables), hashKey: async () => 'key' };
  const sent: QueuedMessage[] = [];
  const faults: {
    store?: Partial<IntakeRouteDeps['store']>;
    members?: Partial<TenantMembersDeps['members']>;
    queues?: Partial<DraftDeps['queues']>;
    lanes?: 'away';
    require_address?: boolean;
  } = {};
  const said: string[] = [];
  const metrics = new Metrics({ namespace: 'test' });
  // Powertools prints a single metric at once.
  metrics.singleMetric = () => new Metrics({ namespace: 'test' });
  const observability = { logger: quiet(said), metrics };
  const send = async (messages: readonly QueuedMessage[]) => {
    if (faults.lanes === 'away') return messages;
    sent.push(...messages);
    return [];
  };
  const store = createIntakeStore(storage);
  const counts = createRequestCounts(client, tables.pipeline_state);
  const intake = intakeRoutes(
    {
      hashKey: storage.hashKey,
      store: new Proxy(store, {
        get: (real, name) => Reflect.get(faults.store ?? {}, name) ?? Reflect.get(real, name),
      }),
      reports: createReportStore(storage, clock),
      records: createRecordStore(client, tables.notification_retry_log),
      recordsOf: (log_id) => readRecords(client, tables.notification_retry_log, log_id),
      send,
      policy: DEFAULT_RETRY_POLICY,
      shards: createShardMark(client, tables.pipeline_state).read,
      clock,
      newId: randomUUID,
    },
    observability,
  );
  const shards = createShardMark(client, tables.pipeline_state).read;
  const notifications = [
    ...notificationRoutes({
      rows: createOperatorRows(client, tables.notification_log, clock),
      recordsOf: (log_id) => readRecords(client, tables.notification_retry_log, log_id),
      notesOf: (row) => readNotes(client, tables.notification_content, row),
      list: (query, tenant_id) =>
        listOfTenant(query, tenant_id, { dynamodb: client, deployment: { tables }, clock, shards }),
      send,
      policy: DEFAULT_RETRY_POLICY,
      clock,
      newId: randomUUID,
    }),
    ...more,
  ];
  const members = createMemberStore(client, tables.members, clock);
  const newsletterDeps = {
    members: new Proxy(members, {
      get: (real, name) => Reflect.get(faults.members ?? {}, name) ?? Reflect.get(real, name),
    }),
    newsletters: createNewsletterStore(client, tables.newsletters),
    sealing: createMemberSealing(storage.sealer, storage.hashKey),
    clock,
    newId: randomUUID,
  };
  const newsletters = [...newsletterRoutes(newsletterDeps), ...memberRoutes(newsletterDeps, observability)];
  const emailDeps = emailRouteDeps({ ...storage, clock, faults });
  process.env['API_KEYS_TABLE'] = tables.api_keys;
  const { createHandler } = await import('../../../functions/api-authorizer/handler.ts');
  const keys = createApiKeyStore(client, tables.api_keys);
  const secret = async () => 'the secret of the tokens, at least thirty-two characters';
  const authorizer = createHandler({ keys, tokenSecret: secret, clock }, observability);
  const routes: Readonly<Record<string, readonly ServedRoute[]>> = {
    intake,
    notifications,
    newsletters,
    emails: emailRoutes(emailDeps.deps),
    tokens: tokenRoutes({ secret, clock }),
  };
  const functions: Readonly<Record<string, (event: never) => Promise<unknown>>> = {
    ...Object.fromEntries(
      Object.entries(routes).map(([name, own]) => [name, createApi(own, { clock, counts }, observability)]),
    ),
    authorizer,
  };
  const api = createHttpApi(
    {
      routes: [
        ...Object.entries(routes).flatMap(([functionName, own]) =>
          own.map(({ key: routeKey, scope }) => ({
            routeKey,
            functionName,
            ...(scope !== 'none' && { authorizer: AUTHORIZER }),
          })),
        ),
        { routeKey: '$default', functionName: 'notifications' },
      ],
    },
    async (name, event) => ({ ok: true, result: JSON.stringify(await functions[name]?.(JSON.parse(event) as never)) }),
  );
  const server = await serve(api, 0, 'the API');

  async function items() {
    const all = [tables.notification_log, tables.notification_content, tables.notification_retry_log];
    const scans = await Promise.all(all.map((TableName) => client.send(new ScanCommand({ TableName }))));
    return scans.flatMap(({ Items = [] }) => Items);
  }

  return {
    /** All that are served. */
    routes: Object.values(routes).flat(),
    tables,
    client,
    sent,
    said,
    faults,
    keys,
    members,
    newsletters: newsletterDeps.newsletters,
    /** What the routes of emails stored, queued, scheduled and sent. */
    emails: emailDeps,
    url: server.url,
    now: clock,
    pass: (ms: number) => {
      moved += ms;
    },

    /** Time stands still for everybody in it, however long it takes. */
    async atOnce<T>(run: () => Promise<T>): Promise<T> {
      still = Date.now();
      return run().finally(() => {
        still = undefined;
      });
    },

    async key(tenant_id: string, scopes: readonly Scope[] = SCOPES, rate_limit = 10_000) {
      const { key_id, key, secret_hash } = newApiKey();
      const created_at = clock().toISOString();
      await keys.create({ key_id, secret_hash, tenant_id, scopes, rate_limit, created_at });
      return { key, key_id };
    },

    /** A tenant of its own with the newsletter `weekly`; what earlier ones queued and sent is forgotten. */
    async publisher() {
      emailDeps.queued.length = 0;
      emailDeps.calls.length = 0;
      emailDeps.limited.length = 0;
      emailDeps.scheduled.clear();
      emailDeps.unverified.clear();
      emailDeps.allowed.mails = Number.POSITIVE_INFINITY;
      const tenant_id = `tenant-${randomUUID()}`;
      const { key } = await this.key(tenant_id);
      const says = { sender_name: 'K & Co', postal_address: '1-1 Chiyoda, Tokyo', contact: 'ask@example.com' };
      const body = { name: 'Weekly', from: 'Weekly <n@example.com>', ...says };
      await this.call('PUT', '/v1/newsletters/weekly', { key, body });
      return { tenant_id, key };
    },

    async call(method: string, path: string, { key, body, headers = {} }: CallOptions = {}): Promise<Answer> {
      const answer = await fetch(`${server.url}${path}`, {
        method,
        headers: {
          ...(key && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
    },

    /** Hands a notification over. */
    post(key: string, idempotencyKey: string, body: object): Promise<Answer> {
      return this.call('POST', '/v1/notifications', { key, body, headers: { 'idempotency-key': idempotencyKey } });
    },

    async put(row: ForeignRow): Promise<void> {
      await client.send(new PutItemCommand({ TableName: tables.notification_log, Item: toItem(row) }));
    },

    async row(log_id: string): Promise<ForeignRow | undefined> {
      const Key = { log_id: { S: log_id } };
      const input = { TableName: tables.notification_log, Key, ConsistentRead: true };
      const { Item } = await client.send(new GetItemCommand(input));
      return Item && toForeignRow(Item);
    },

    /** Everything in the tables, as text. */
    stored: async () => JSON.stringify(await items()),
    count: async () => (await items()).length,

    async stop(): Promise<void> {
      await server.close();
      await dynamodb.stop();
    },
  };
}

/** The routes of emails on the tables, with queues, schedules and a provider that remember. */
function emailRouteDeps({
  client,
  tables,
  sealer,
  hashKey,
  clock,
  faults,
}: {
  readonly client: Awaited<ReturnType<typeof startTestDynamoDb>>['client'];
  readonly tables: Awaited<ReturnType<typeof createTables>>;
  readonly sealer: ReturnType<typeof sealerOn>;
  readonly hashKey: () => Promise<string>;
  readonly clock: () => Date;
  readonly faults: { readonly queues?: Partial<DraftDeps['queues']>; readonly require_address?: boolean };
}) {
  const queued: (PrepareMessage | SendMessage)[] = [];
  const scheduled = new Map<string, string>();
  const calls: BulkCall[] = [];
  const unverified = new Set<string>();
  const allowed = { mails: Number.POSITIVE_INFINITY };
  const limited: string[] = [];
  const members = createMemberStore(client, tables.members, clock);
  const sealing = createMemberSealing(sealer, hashKey);
  const deps: PreviewDeps = {
    hashKey,
    members,
    sealing,
    get require_address() {
      return faults.require_address === true;
    },
    emails: createEmailStore(client, tables.emails, clock),
    batches: createBatchStore(client, tables.email_batches, clock),
    chunks: createChunkStore(client, { table: tables.email_recipients, sealer, clock }),
    events: createEventStore(client, tables.email_batches, clock),
    newsletters: createNewsletterStore(client, tables.newsletters),
    queues: {
      prepare: async (message) => {
        if (faults.queues?.prepare !== undefined) return faults.queues.prepare(message);
        queued.push(message);
      },
      send: async (message) => void queued.push(message),
    },
    schedules: {
      create: async (email_id, at) => void scheduled.set(email_id, at),
      remove: async (email_id) => void scheduled.delete(email_id),
    },
    provider: {
      send: async (call) => {
        calls.push(call);
        const entries = call.entries.map(({ to }) =>
          to.startsWith('refused')
            ? { accepted: false as const, refusal: { class: 'recipient' as const, reason: 'message_rejected' } }
            : { accepted: true as const, message_id: `message-${to}` },
        );
        return { kind: 'answered', entries };
      },
    },
    renderings: createRenderings(),
    parts: createPartSegments(),
    candidates: createCandidateReader(members, sealing),
    exclusions: createLateExclusions(members, sealing),
    pacing: {
      reserve: async (count) => ({ granted: Math.min(count, allowed.mails) }),
      refused: async (limit) => void limited.push(limit),
    },
    pause: async () => {},
    countTests: createTestCounts(client, tables.pipeline_state),
    dry_runs: createDryRunStore(client, tables.emails, clock),
    senderFault: async (from) =>
      unverified.has(from) ? `SES has not verified the sender of this newsletter.` : undefined,
    budgets: { read: async () => ({ per_second: 14 / PLANNED_SHARE, read_at: 0 }) },
    clock,
    newId: randomUUID,
    limits: DEFAULT_JOB_LIMITS,
    log: { info: () => {}, warn: () => {}, error: () => {} },
  };
  return { deps, queued, scheduled, calls, unverified, allowed, limited };
}

interface CallOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A logger whose lines a test can look into. */
function quiet(said: string[]): Logger {
  const logger = new Logger({ logLevel: 'SILENT' });
  for (const level of ['info', 'warn', 'error'] as const) {
    logger[level] = (message, ...extra) => {
      const text = JSON.stringify([message, ...extra], (_, value) =>
        value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value,
      );
      said.push(text);
    };
  }
  return logger;
}
