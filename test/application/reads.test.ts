import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { Metrics } from '@aws-lambda-powertools/metrics';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { count } from '../../functions/shared/runtime/observability.ts';
import { recipientHash } from '../../src/adapters/signing/hashed-ids.ts';
import { HistoryUnavailableError } from '../../src/core/operator/views/outcome-series.ts';
import { deadRow, HASH_KEY, type Operations, startOperations, storedRow } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';

let ops: Operations;
let page: TestConsole;
beforeAll(async () => {
  ops = await startOperations();
  page = await startTestConsole(ops);
}, 60_000);
afterAll(async () => {
  await page?.stop();
  await ops?.stop();
});

const ids = (list: { notifications: readonly object[] }) =>
  list.notifications.map((row) => ('log_id' in row ? row.log_id : undefined)).sort();
const slack = { channel: 'slack', error_type: 'AUTH_FAILED', failure_reason: 'AUTH_FAILED' } as const;

describe('the reads of the console', () => {
  it('count by channel, and dead notifications by cause with the remedy', async () => {
    await ops.put(deadRow('O1', slack), deadRow('O2', slack), deadRow('O3'), storedRow('O4'));
    const { channels, causes, causes_complete } = await page.ok('GET /api/overview');
    expect(channels.find(({ channel }) => channel === 'slack')).toMatchObject({ dead: 2 });
    expect(causes_complete).toBe(true);
    expect(causes).toContainEqual({
      channel: 'slack',
      failure_reason: 'AUTH_FAILED',
      error_type: 'AUTH_FAILED',
      integration: null,
      count: 2,
      remedy: expect.stringContaining('credential'),
    });
  });

  it('say what was delivered in the last day, and when that is not known what to do about it', async () => {
    const metrics = new Metrics({
      namespace: 'test',
      serviceName: 'send-slack',
      defaultDimensions: { channel: 'slack' },
    });
    for (const [name, value] of [
      ['Attempts', 5],
      ['Delivered', 3],
    ] as const)
      count(metrics, name, value);
    appendFileSync(join(ops.directory, 'send-slack.log'), `${JSON.stringify(metrics.serializeMetrics())}\n`);
    // The overview is shared for two seconds.
    const fresh = await startTestConsole(ops);
    const { series, series_problem } = await fresh.ok('GET /api/overview');
    const newest = (name: string) => series.find((one) => one.name === name)?.points.findLast(({ value }) => value > 0);
    expect([newest('delivered')?.value, newest('failed')?.value, series_problem]).toEqual([3, 2, undefined]);
    await fresh.stop();

    const metricHistory = async () => {
      throw new HistoryUnavailableError('CloudWatch did not answer (AccessDenied).', 'Grant cloudwatch:GetMetricData.');
    };
    const denied = await startTestConsole({ ...ops, deployment: { ...ops.deployment, metricHistory } });
    const without = await denied.ok('GET /api/overview');
    expect(without.series_problem).toMatchObject({ remedy: expect.stringContaining('cloudwatch:GetMetricData') });
    expect(without.channels).toHaveLength(4);
    await denied.stop();

    const since = '2026-03-01T10:00:00.000Z';
    const rings = { name: 'oldest-due', severity: 'critical', meaning: 'Late', since, url: 'https://a.test/' } as const;
    const ringing = await startTestConsole({
      ...ops,
      deployment: {
        ...ops.deployment,
        metricHistory: async () => ({ read: async () => [], ringing: async () => [rings] }),
      },
    });
    expect((await ringing.ok('GET /api/overview')).alarms).toEqual([rings]);
    await ringing.stop();
  });

  it('say how each integration fared in the last day, the same for all who ask within a minute', async () => {
    const IC = 'IC-HEALTH';
    const more = { ...slack, integration_config_id: IC, error_message: 'token_revoked' };
    await ops.put(deadRow('HE1', more), storedRow('HE2', { ...more, send_status: 'SUCCESS' }));
    const fresh = await startTestConsole(ops);
    const first = await fresh.ok('GET /api/health');
    expect(first.integrations.find(({ integration }) => integration === IC)).toMatchObject({
      channel: 'slack',
      notifications: 2,
      delivered: 1,
      failing: 1,
      dead: 1,
      last_error: 'token_revoked',
    });
    await ops.put(deadRow('HE3', more));
    expect(await fresh.ok('GET /api/health')).toEqual(first);
    await fresh.stop();
  });

  it('group dead letters by what one repair brings back, each with the filter of exactly its members', async () => {
    const tenant_id = 'T-GROUPS';
    await ops.put(
      deadRow('G1', { tenant_id, ...slack, integration_config_id: 'a', error_message: 'no right for a@example.com' }),
      deadRow('G2', { tenant_id, ...slack, integration_config_id: 'a' }),
      deadRow('G3', { tenant_id, ...slack, integration_config_id: 'b' }),
      deadRow('G4', { tenant_id, ...slack, error_type: 'SERVER_OVERLOAD', integration_config_id: 'a' }),
    );
    const { groups, total, complete } = await page.ok('GET /api/dead-letters', { query: { tenant: tenant_id } });
    expect([total, complete, groups.length]).toEqual([4, true, 3]);
    const [largest] = groups;
    expect(largest).toMatchObject({ count: 2, integration: 'a', error_type: 'AUTH_FAILED' });
    expect(JSON.stringify(groups)).not.toContain('a@example.com');
    for (const group of groups) {
      const query = { status: 'dead', ...(group.filter as Record<string, string>) };
      const found = await page.ok('GET /api/notifications', { query });
      expect(ids(found)).toEqual([...group.sample].sort());
    }
  });

  it('list page by page, each notification once', async () => {
    const tenant_id = 'T-PAGES';
    await ops.put(...Array.from({ length: 25 }, (_, i) => storedRow(`P${i}`, { tenant_id })));
    for (const status of ['due', 'created'] as const) {
      const found: unknown[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const query: Record<string, string> = {
          tenant: tenant_id,
          limit: '10',
          ...(status === 'due' && { status }),
          ...(cursor !== '' && { cursor }),
        };
        const list = await page.ok('GET /api/notifications', { query });
        found.push(...ids(list));
        cursor = list.next_cursor;
      }
      expect(found.sort()).toEqual(Array.from({ length: 25 }, (_, i) => `P${i}`).sort());
    }
  });

  it('refuse a parameter that comes twice, as behind API Gateway', async () => {
    const { status } = await fetch(`${page.origin}/api/notifications?limit=5&limit=7`);
    expect(status).toBe(400);
  });

  it('refuse a cursor of another list', async () => {
    const { status, body } = await page.call('GET /api/notifications', { query: { cursor: 'bm9uc2Vuc2U' } });
    expect([status, body]).toEqual([400, expect.objectContaining({ remedy: expect.any(String) })]);
  });

  it('find a recipient by a hash, so that no URL holds the address', async () => {
    const tenant = 'T-HASH';
    const hash = recipientHash(HASH_KEY, tenant, 'mori@example.com');
    await ops.put(storedRow('H1', { tenant_id: tenant, recipient_hash: hash }), storedRow('H2', { tenant_id: tenant }));
    const body = { tenant, recipient: 'Mori@example.com ' };
    const { recipient_hash } = await page.ok('POST /api/recipient-hash', { body });
    expect(ids(await page.ok('GET /api/notifications', { query: { tenant, recipient_hash } }))).toEqual(['H1']);
  });

  it.each([undefined, 'due'] as const)(
    'find a recipient in all tenants by what only the stage opens (%s)',
    async (status) => {
      const recipient = `all-${status}@example.com`;
      const of = (tenant_id: string, whose = recipient) =>
        storedRow(`${tenant_id}-${status}`, { tenant_id, recipient_hash: recipientHash(HASH_KEY, tenant_id, whose) });
      await ops.put(of('T-ALL-1'), of('T-ALL-2'), of('T-ALL-3', 'other@example.com'));
      const { recipient_hash } = await page.ok('POST /api/recipient-hash', { body: { recipient } });
      const found = await page.ok('GET /api/notifications', { query: { recipient_hash, ...(status && { status }) } });
      expect(ids(found).sort()).toEqual([`T-ALL-1-${status}`, `T-ALL-2-${status}`]);
      const parts = recipient_hash.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
      expect(parts.join()).not.toContain('example');
      const other = `${recipient_hash.slice(0, -3)}${recipient_hash.at(-3) === 'A' ? 'B' : 'A'}${recipient_hash.slice(-2)}`;
      const refused = await page.call('GET /api/notifications', { query: { recipient_hash: other } });
      expect(refused.status).toBe(400);
      const body = { request_id: 'request-r', kind: 'redrive' as const, filter: { recipient_hash }, rate: 5 };
      const operation = await page.call('POST /api/operations', { body });
      expect([operation.status, JSON.stringify(operation.body)]).toEqual([
        400,
        expect.stringContaining('within one tenant'),
      ]);
    },
  );

  it('find a notification by its log_id', async () => {
    await ops.put(storedRow('Q1'));
    expect(ids(await page.ok('GET /api/notifications', { query: { q: 'Q1' } }))).toEqual(['Q1']);
    expect(ids(await page.ok('GET /api/notifications', { query: { q: 'nobody' } }))).toEqual([]);
  });

  it('find by the beginning of a log_id or notification_id, whatever the tenant', async () => {
    await ops.put(
      storedRow('begin-7f3a-1', { tenant_id: 'T1', notification_id: 'order-81' }),
      storedRow('begin-7f3a-2', { tenant_id: 'T2', notification_id: 'order-82' }),
      storedRow('begin-9999-3', { tenant_id: 'T2', notification_id: 'order-9' }),
    );
    const found = async (q: string) => ids(await page.ok('GET /api/notifications', { query: { q } }));
    expect(await found('begin-7f3a')).toEqual(['begin-7f3a-1', 'begin-7f3a-2']);
    expect(await found('begin-7f3a-2')).toEqual(['begin-7f3a-2']);
    expect(await found('order-8')).toEqual(['begin-7f3a-1', 'begin-7f3a-2']);
    expect(await found('order-9')).toEqual(['begin-9999-3']);
  });

  it('show a notification with what can be done, why not, and the command that does the same', async () => {
    await ops.put(deadRow("N'1; rm -rf", slack));
    const detail = await page.ok('GET /api/notifications/{log_id}', { path: { log_id: "N'1; rm -rf" } });
    expect(detail.actions).toMatchObject({ retry: { possible: true }, give_up: { possible: true } });
    expect(detail.remedy).toContain('credential');
    expect(detail.commands.map(({ command }) => command)).toContain(`npm run ops -- retry 'N'\\''1; rm -rf' --local`);
  });

  it('show an attempt as the document says it, without who claimed it and when its record expires', async () => {
    await ops.put(storedRow('A1'));
    const attempt = { original_log_id: 'A1', retry_attempt: 1, retry_log_id: 'A1#1', tenant_id: 'T', run_id: 'R' };
    const outcome = {
      channel: 'webhook',
      retry_status: 'SUCCESS',
      retry_at: '2026-11-01T10:30:00.000Z',
      trigger: 'sweep',
    };
    const stored = { ...attempt, ...outcome, duration_ms: 34, claim_id: 'C', expires_at: 1_858_501_945 };
    const TableName = ops.tables.notification_retry_log;
    await ops.dynamodb.send(new PutItemCommand({ TableName, Item: marshall(stored) }));
    const { attempts } = await page.ok('GET /api/notifications/{log_id}', { path: { log_id: 'A1' } });
    expect(attempts).toEqual([{ ...attempt, ...outcome, duration_ms: 34 }]);
  });

  it.each(['\u{59a2f}', 'not a cursor'])('refuse letters that no cursor has: %s', async (cursor) => {
    const query = { tenant: 'T', cursor };
    expect(await page.call('GET /api/emails', { query })).toMatchObject({ status: 400 });
  });

  it.each([
    ['GET /api/notifications/{log_id}', 'log_id', 'show'],
    ['GET /api/emails/{email_id}', 'email_id', 'emails status'],
  ] as const)(
    'name the command for what is missing, so that an id of a foreign link cannot run: %s',
    async (route, name, command) => {
      const { status, body } = await page.call(route, { path: { [name]: "x'; rm -rf ~" } });
      expect([status, body]).toEqual([
        404,
        expect.objectContaining({ command: `npm run ops -- ${command} 'x'\\''; rm -rf ~' --local` }),
      ]);
    },
  );

  it('answer a poll without news by 304', async () => {
    const first = await page.call('GET /api/session');
    const etag = first.headers.get('etag') ?? '';
    const second = await page.call('GET /api/session', { headers: { 'if-none-match': etag } });
    expect([first.status, second.status, second.body]).toEqual([200, 304, null]);
    const third = await page.call('GET /api/session', { headers: { 'if-none-match': 'W/"other"' } });
    expect(third.status).toBe(200);
  });

  it('pass stored markup and control characters as JSON', async () => {
    const hostile = '</script><script>alert(1)</script>\u0000\u202e';
    await ops.put(deadRow('X1', { tenant_id: hostile, error_message: hostile }));
    const { headers, body } = await page.call('GET /api/notifications/{log_id}', { path: { log_id: 'X1' } });
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(body.notification).toMatchObject({ tenant_id: hostile, error_message: hostile });
  });
});
