import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQSRecord } from 'aws-lambda';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHandler as createChannelFunction } from '../../functions/shared/channel/channel-function.ts';
import { jobLog } from '../../functions/shared/newsletter/bind-newsletter.ts';
import { opened } from '../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../src/core/breaker/breaker-policy.ts';
import type { SendResult } from '../../src/core/delivery/ports.ts';
import type { ScanProgress } from '../../src/core/indexing/reconcile.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { BASE_SHARDS } from '../../src/core/model/index-shards.ts';
import { METRICS, type MetricName, servicesOf } from '../../src/core/model/metrics.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { budgetStatus } from '../../src/core/pacing/budget-status.ts';
import type { SweepRecord } from '../../src/core/sweep/sweep-run.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { type Emitted, emittedBy, valuesOf } from '../support/emf.ts';
import { baseShards } from '../support/index-shards.ts';
import { unpaced } from '../support/pacing.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';
import { at, CONTENT, dueRow, iso, messageFor, T0, unasked } from '../support/rows.ts';

const FUNCTIONS = join(PROJECT_ROOT, 'functions');
const PATIENT = { getRemainingTimeInMillis: () => 600_000 };
const refused = (error_type: 'AUTH_FAILED' | 'INVALID_RECIPIENT' | 'NETWORK_TIMEOUT'): SendResult => ({
  ok: false,
  error_type,
  message: 'no',
});
/** By log_id. */
const ANSWERS: Readonly<Record<string, SendResult>> = {
  'delivered-1': { ok: true, response_code: '200' },
  'delivered-2': { ok: true, response_code: '200' },
  'dead-1': refused('AUTH_FAILED'),
  'dead-2': refused('AUTH_FAILED'),
  stopped: refused('INVALID_RECIPIENT'),
  retried: refused('NETWORK_TIMEOUT'),
};

let emitted: Record<'send-webhook' | 'dispatcher' | 'monitor' | 'due-indexer', Emitted[]>;
let sweeps: SweepRecord[];
let expressRuns: string[];
let server: FauxqsServer;

beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false });
  // Modules bind themselves to their environment on import, as Lambda loads them.
  const urls = { express: 'http://q/1', standard: 'http://q/2' };
  Object.assign(process.env, {
    NOTIFICATION_LOG_TABLE: 'log',
    NOTIFICATION_RETRY_LOG_TABLE: 'records',
    NOTIFICATION_CONTENT_TABLE: 'content',
    DATA_KEYS_TABLE: 'data-keys',
    PIPELINE_STATE_TABLE: 'state',
    ALERTS_TOPIC_ARN: 'topic',
    STACK_NAME: 'stack',
    SWEEP_INTERVAL_SECONDS: '3600',
    INDEX_SHARDS: JSON.stringify(BASE_SHARDS),
    READ_UNITS_PER_SECOND: '50',
    LANE_SECONDS: '300',
    LANE_QUEUES: JSON.stringify({ email: urls, slack: urls, teams: urls, webhook: urls }),
    LOCAL_SECRETS_FILE: '/none',
    RETRY_POLICY: JSON.stringify({
      base_interval_seconds: 300,
      max_retries: { urgent: 10, important: 7, normal: 5, info: 3 },
      retention_hours: { urgent: 24, important: 12, normal: 6, info: 3 },
    }),
  });
  sweeps = [];
  expressRuns = [];
  emitted = {
    'send-webhook': await channelFunction(),
    dispatcher: await dispatcher(),
    monitor: await monitor(),
    'due-indexer': await dueIndexer(),
  };
});
afterAll(() => server.stop());

/** By an end user, and by an operator. */
const ASKED_FOR: Readonly<Record<string, object>> = {
  retried: { run_id: 'manual-1', requested_by: 'user' },
  'dead-1': { run_id: 'manual-2', requested_by: 'operator' },
};

/** A batch with every fate: due two minutes ago, queued half a minute ago. */
async function channelFunction(): Promise<Emitted[]> {
  const tables = new MemoryTables(() => T0);
  const Records = [...Object.keys(ANSWERS), 'faulty'].map((log_id): SQSRecord => {
    const first = log_id === 'delivered-1' || log_id === 'stopped';
    const row = dueRow({ log_id, work_at: iso(-120_000), ...(first && { last_attempt: -1 }) });
    tables.log.set(log_id, { ...row });
    tables.content.set(log_id, { ...CONTENT, tenant_id: row.tenant_id });
    const attributes = { SentTimestamp: String(at(-30_000).getTime()), ApproximateReceiveCount: '1' };
    return {
      messageId: log_id,
      body: JSON.stringify(messageFor(row, ASKED_FOR[log_id])),
      attributes: attributes as SQSRecord['attributes'],
      receiptHandle: 'none',
      messageAttributes: {},
      md5OfBody: '',
      eventSource: 'aws:sqs',
      eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:other',
      awsRegion: 'us-east-1',
    };
  });
  const claim = tables.rows.claim;
  const rows: typeof tables.rows = {
    ...tables.rows,
    claim: (message, until, by) =>
      message.log_id === 'faulty' ? Promise.reject(new Error('storage is away')) : claim(message, until, by),
  };
  return emittedBy('send-webhook', { channel: 'webhook' }, (observability) =>
    createChannelFunction(
      {
        admission: unpaced(),
        giveBack: async (_, returned) => returned.length,
        queues: { express: 'http://q/express', standard: 'http://q/standard' },
        deliver: {
          rows,
          records: tables.records,
          contents: tables.contents,
          sender: { send: async ({ log_id }) => ANSWERS[log_id] ?? { ok: true, response_code: '200' } },
          successors: tables.successors,
          retries: { send: async () => {} },
          policy: DEFAULT_RETRY_POLICY,
          clock: () => T0,
          random: () => 0,
          claim_ms: 65_000,
          inSendTime: (send) => send(new AbortController().signal),
          pause: async () => {},
        },
      },
      observability,
    )({ Records }, PATIENT),
  );
}

/** A scheduled sweep, one by hand, a look ahead and a dry run, over three that are due. */
async function dispatcher(): Promise<Emitted[]> {
  const { createHandler } = await import('../../functions/dispatcher/handler.ts');
  const tables = new MemoryTables(() => T0);
  for (const log_id of ['a', 'b']) tables.log.set(log_id, { ...dueRow({ log_id }) });
  const work_queue = workQueueOf('due', 'urgent', 'c');
  tables.log.set('c', { ...dueRow({ log_id: 'c', priority: 'urgent', work_queue }) });
  let lanesRefuse = false;
  return emittedBy('dispatcher', {}, async (observability) => {
    const handle = createHandler(
      {
        index: tables.dueIndex,
        foresee: unasked,
        lanes: { backlog: async () => 0, send: async (messages) => (lanesRefuse ? [...messages] : []) },
        clock: () => T0,
        interval_ms: 3_600_000,
        policy: DEFAULT_RETRY_POLICY,
        short_lanes: { seconds: 300, least: 500, pause: async () => {} },
        newId: () => 'id',
        continueWith: async () => {},
        log: {
          lastCompleted: async () => undefined,
          lastExpress: async () => undefined,
          lastAhead: async () => undefined,
          recordAhead: async () => {},
          recordExpress: async (started_at) => {
            expressRuns.push(started_at);
          },
          record: async (part) => {
            sweeps.push(part);
          },
        },
      },
      observability,
    );
    await handle({ source: 'aws.events' }, PATIENT);
    await handle({ channel: 'webhook' }, PATIENT);
    await handle({ ahead: true }, PATIENT);
    await handle({ express_minutes: 5 }, PATIENT);
    for (const part of [{ tenant: 'T1' }, { limit: 1 }, { dry_run: true }]) {
      await handle({ express_minutes: 5, ...part }, PATIENT);
    }
    lanesRefuse = true;
    await handle({ express_minutes: 5 }, PATIENT);
    lanesRefuse = false;
    await handle({ dry_run: true }, PATIENT);
  });
}

/** Normal e-mail is paused, too: 170 of 220, and two seconds' worth stay free. */
const BUDGET = { per_second: 20, max_24h: 220, sent_24h: 150, granted: 20, read_at: T0.getTime() };

const downSince = (id: string) =>
  opened({ id, error_type: 'UNKNOWN' }, undefined, { now: T0, policy: DEFAULT_BREAKER_POLICY });

async function monitor(): Promise<Emitted[]> {
  const { createHandler } = await import('../../functions/monitor/handler.ts');
  const tables = new MemoryTables(() => T0);
  tables.log.set('due', { ...dueRow({ log_id: 'due', work_at: iso(-60_000) }) });
  const work_queue = workQueueOf('dead', 'normal', 'dead');
  const work_at = iso(-600_000);
  tables.log.set('dead', { ...dueRow({ log_id: 'dead', work_queue, work_at, failure_reason: 'EXPIRED' }) });
  return emittedBy('monitor', {}, (observability) =>
    createHandler(
      {
        index: tables.dueIndex,
        rows: { read: async (log_id) => tables.row(log_id) },
        mark: { read: async () => undefined, write: async () => {} },
        publish: async () => {},
        channels: CHANNELS,
        providers: { list: async () => ['slack#a', 'slack#b'].map(downSince), note: async () => {} },
        budget: async () => budgetStatus('email', BUDGET, T0),
        stack: 'stack',
        clock: () => T0,
      },
      observability,
    )(),
  );
}

async function dueIndexer(): Promise<Emitted[]> {
  const { createHandler } = await import('../../functions/due-indexer/handler.ts');
  const tables = new MemoryTables(() => T0);
  const text = (S: string) => ({ S });
  const row = (log_id: string, notification_type: string) => ({
    log_id: text(log_id),
    tenant_id: text('T1'),
    notification_type: text(notification_type),
    recipient_address: text('https://example.com/h'),
    message_body: text('b'),
    send_status: text('FAILED'),
  });
  const images = [row('fine', 'WEBHOOK'), row('malformed', 'PIGEON'), row('changed', 'WEBHOOK')];
  for (const image of images) {
    const plain = Object.fromEntries(Object.entries(image).map(([name, { S }]) => [name, S]));
    tables.log.set(image.log_id.S, image.log_id.S === 'changed' ? { ...plain, send_status: 'PENDING' } : plain);
  }
  return emittedBy('due-indexer', {}, (observability) =>
    createHandler(
      { store: tables, shards: baseShards, policy: DEFAULT_RETRY_POLICY, clock: () => T0 },
      observability,
    )({
      Records: images.map((NewImage, i) => ({
        dynamodb: { Keys: { log_id: NewImage.log_id }, NewImage, SequenceNumber: String(i) },
      })),
    }),
  );
}

describe('what the functions emit', () => {
  it('is in the catalogue, with the catalogue’s unit and dimensions', () => {
    const all = Object.entries(emitted).flatMap(([service, metrics]) => metrics.map((one) => ({ service, ...one })));
    expect(all.length).toBeGreaterThan(20);
    for (const { service, name, unit, dimensions } of all) {
      const definition = METRICS[name as MetricName];
      expect(definition, name).toBeDefined();
      expect(unit, name).toBe(definition.unit);
      expect(Object.keys(dimensions).sort(), name).toEqual(['service', ...definition.by].sort());
      expect(servicesOf(name as MetricName), name).toContain(service);
      expect(dimensions['service'], name).toBe(service);
    }
  });

  it('of a newsletter is the job’s, whichever function it comes from', async () => {
    const told = await emittedBy('newsletter-events', {}, async (observability) => {
      jobLog(observability).count?.('failed');
    });
    expect(told).toMatchObject([{ name: 'NewslettersFailed', dimensions: { service: 'newsletter-job' } }]);
  });

  it('is all of the catalogue', () => {
    const driven = new Set(Object.values(emitted).flatMap((metrics) => metrics.map(({ name }) => name)));
    const source = sourceOf(FUNCTIONS);
    const silent = Object.keys(METRICS).filter((name) => !driven.has(name) && !source.includes(`'${name}'`));
    expect(silent).toEqual([]);
  });

  it('comes from functions that there are', () => {
    const services = new Set([...readdirSync(FUNCTIONS), 'newsletter-job']);
    const strangers = (Object.keys(METRICS) as MetricName[]).filter(
      (name) => !servicesOf(name).every((service) => services.has(service)),
    );
    expect(strangers).toEqual([]);
  });
});

describe('a channel function', () => {
  it.each([
    ['Attempts', [6]],
    ['Delivered', [2]],
    ['Retries', [2]],
    ['RetriesDelivered', [1]],
    ['ManualRetries', [1]],
    ['Retried', [1]],
    ['Stopped', [1]],
    ['DeadLettered', [2]],
    ['Faults', [1]],
    ['ProcessingDelay', Array(4).fill(120)],
    ['LaneDelay', Array(6).fill(30)],
  ])('sums up its batch: %s is %j', (name, values) => expect(valuesOf(emitted['send-webhook'], name)).toEqual(values));

  it('tells failures and what was given up by error type, a line each for the whole batch', () => {
    const by = (name: string, error_type: string) => valuesOf(emitted['send-webhook'], name, { error_type });
    expect(by('FailedAttempts', 'AUTH_FAILED')).toEqual([2]);
    expect(by('FailedAttempts', 'NETWORK_TIMEOUT')).toEqual([1]);
    expect(by('GivenUp', 'AUTH_FAILED')).toEqual([2]);
    expect(by('GivenUp', 'INVALID_RECIPIENT')).toEqual([1]);
    expect(valuesOf(emitted['send-webhook'], 'GivenUp')).toHaveLength(2);
  });
});

describe('the dispatcher', () => {
  it('counts a scheduled sweep as one that was not missing, and a dry run not at all', () => {
    expect(valuesOf(emitted.dispatcher, 'Sweeps')).toEqual([1]);
    expect(valuesOf(emitted.dispatcher, 'SweepDue')).toEqual([3, 3]);
    expect(valuesOf(emitted.dispatcher, 'SweepDispatched')).toEqual([3, 3]);
  });

  it('records the sweeps that sent something', () => {
    const record = { started_at: iso(), due: 3, dispatched: 3, skipped: 0, duration_ms: 0, complete: true };
    expect(sweeps).toEqual([
      { ...record, run_id: 'sweep-id', everything: true },
      { ...record, run_id: 'manual-id', everything: false },
    ]);
  });

  it('records an express run that sent all it found, and none of a part', () => expect(expressRuns).toEqual([iso()]));
});

it('the due-indexer counts the rows that storage refuses, though Lambda sees no error', async () => {
  const { createHandler } = await import('../../functions/due-indexer/handler.ts');
  const refuse = () => Promise.reject(new Error('slow down'));
  const store = { index: refuse, putContent: refuse, hasContent: refuse };
  const text = (S: string) => ({ S });
  const NewImage = {
    log_id: text('a'),
    tenant_id: text('T1'),
    notification_type: text('WEBHOOK'),
    recipient_address: text('https://example.com/h'),
    message_body: text('b'),
    send_status: text('FAILED'),
  };
  const metrics = await emittedBy('due-indexer', {}, (observability) =>
    createHandler(
      { store, shards: baseShards, policy: DEFAULT_RETRY_POLICY, clock: () => T0 },
      observability,
    )({ Records: [{ dynamodb: { Keys: { log_id: NewImage.log_id }, NewImage, SequenceNumber: '1' } }] }),
  );
  expect(valuesOf(metrics, 'RowsFailed')).toEqual([1]);
});

it('the reconciler counts what it looked at and what was missed, dry runs excepted, and continues itself', async () => {
  const { createHandler } = await import('../../functions/reconciler/handler.ts');
  const tables = new MemoryTables(() => T0);
  const row = { tenant_id: 't', notification_type: 'WEBHOOK', send_status: 'FAILED' };
  const content = { recipient_address: 'https://example.com/h', message_body: 'b' };
  for (const log_id of ['a', 'b']) tables.log.set(log_id, { log_id, ...row, ...content });
  const events: unknown[] = [];
  let stored: ScanProgress | undefined;
  const metrics = await emittedBy('reconciler', {}, async (observability) => {
    const handle = createHandler(
      {
        scan: tables.scan,
        store: tables,
        policy: DEFAULT_RETRY_POLICY,
        clock: () => T0,
        pause: async () => {},
        shards: baseShards,
        units_per_second: 50,
        progress: {
          read: async () => stored,
          write: async (progress) => {
            stored = progress;
          },
        },
        continueWith: async (event) => void events.push(event),
      },
      observability,
    );
    expect(await handle({ dry_run: true, seconds: 60 }, PATIENT)).toMatchObject({ missed: 2, taken_in: 0 });
    expect(await handle({ source: 'aws.events' }, PATIENT)).toMatchObject({ missed: 2, taken_in: 2 });
    for (let i = 0; i < 300; i++) tables.log.set(`c-${i}`, { ...dueRow({ log_id: `c-${i}` }) });
    await handle({ source: 'aws.events' }, { getRemainingTimeInMillis: () => 1_000 });
    await expect(handle({ seconds: 'x' }, PATIENT)).rejects.toThrow('seconds');
  });
  expect(events).toEqual([{ continued: true }]);
  expect(valuesOf(metrics, 'RowsScanned')).toEqual([2, 250]);
  expect(valuesOf(metrics, 'RowsMissed')).toEqual([2, 0]);
});

describe('the monitor', () => {
  it('tells of every channel, also that there is nothing', () => {
    expect(valuesOf(emitted.monitor, 'OldestDueAge')).toEqual([0, 0, 0, 60]);
    expect(valuesOf(emitted.monitor, 'DeadNotifications', { channel: 'webhook' })).toEqual([1]);
    expect(valuesOf(emitted.monitor, 'OpenBreakers', { channel: 'slack' })).toEqual([2]);
    expect(valuesOf(emitted.monitor, 'DeadNotificationsReported')).toEqual([1]);
    expect(valuesOf(emitted.monitor, 'SendRate', { channel: 'email' })).toEqual([expect.closeTo(19.6)]);
    expect(valuesOf(emitted.monitor, 'DailyQuotaUsed', { channel: 'email' })).toEqual([170]);
    expect(valuesOf(emitted.monitor, 'PausedUses', { channel: 'email' })).toEqual([3]);
  });

  it.each(['index', 'mark', 'providers', 'budget'] as const)(
    'measures the rest when the %s fails, and fails itself so that someone hears of it',
    async (part) => {
      const { createHandler } = await import('../../functions/monitor/handler.ts');
      const broken = () => Promise.reject(new Error(`${part} is away`));
      const metrics = await emittedBy('monitor', {}, async (observability) => {
        const deps = {
          index: { shards: async () => 8, page: part === 'index' ? broken : async () => ({ items: [] }) },
          rows: { read: async () => undefined },
          mark: { read: part === 'mark' ? broken : async () => undefined, write: async () => {} },
          publish: async () => {},
          channels: CHANNELS,
          providers: { list: part === 'providers' ? broken : async () => [], note: async () => {} },
          budget: part === 'budget' ? broken : async () => budgetStatus('email', BUDGET, T0),
          stack: 'stack',
          clock: () => T0,
        };
        await expect(createHandler(deps, observability)()).rejects.toThrow(`${part} is away`);
      });
      const measured = new Set(metrics.map(({ name }) => name));
      expect(measured.has('OpenBreakers')).toBe(part !== 'providers');
      expect(measured.has('OldestDueAge')).toBe(part !== 'index');
      expect(measured.has('DailyQuotaUsed')).toBe(part !== 'budget');
    },
  );
});

function sourceOf(directory: string): string {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(directory, file), 'utf8'))
    .join('\n');
}
