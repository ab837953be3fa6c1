import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Scope } from '../../../../src/core/intake/api-scopes.ts';
import { type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';
import { deadRow } from '../../../support/cli/operations.ts';

let world: ApiWorld;
beforeAll(async () => {
  world = await startApiWorld();
});
afterAll(() => world.stop());

const EMAIL = { channel: 'email', recipient: 'a@b.example', body: 'Text' };
let made = 0;

/** A tenant of its own with a dead notification, its key, and a function that gets tokens for it. */
async function producer(scopes: readonly Scope[] = ['send', 'read', 'operate'], rate_limit?: number) {
  const n = ++made;
  const tenant_id = `TOKEN${n}`;
  const log_ids = [`TK${n}-1`, `TK${n}-2`];
  for (const log_id of log_ids) await world.put(deadRow(log_id, { tenant_id }));
  const key = await world.key(tenant_id, scopes, rate_limit);
  const tokenFor = async (body: object) =>
    (await world.call('POST', '/v1/tokens', { key: key.key, body })).body.token as string;
  return { ...key, tenant_id, log_ids, first: log_ids[0] ?? '', second: log_ids[1] ?? '', tokenFor };
}

const get = (token: string, log_id: string) => world.call('GET', `/v1/notifications/${log_id}`, { key: token });
const retry = (token: string, log_id: string) =>
  world.call('POST', `/v1/notifications/${log_id}/retry`, { key: token });

describe('POST /v1/tokens', () => {
  it('answers with a token and its end, fifteen minutes from now unless asked otherwise', async () => {
    const { key } = await producer();
    await world.atOnce(async () => {
      for (const [ttl, body] of [
        [900, { send: true }],
        [3_600, { send: true, ttl_seconds: 3_600 }],
        [5, { log_ids: ['NL1'], ttl_seconds: 5 }],
      ] as const) {
        const { status, body: answer } = await world.call('POST', '/v1/tokens', { key, body });
        expect(status).toBe(201);
        expect(answer).toEqual({
          token: expect.stringMatching(/^nrt_/),
          expires_at: new Date(world.now().getTime() + ttl * 1_000).toISOString(),
        });
      }
    });
  });

  it.each([
    [['send'], { log_ids: ['NL1'] }, /lacks the scope read and operate/],
    [['send', 'read'], { log_ids: ['NL1'] }, /lacks the scope operate/],
    [['read', 'operate'], { send: true }, /lacks the scope send/],
    [['newsletters:write'], { send: true }, /lacks the scope send/],
  ] as const)('refuses a key with %j that asks for %j', async (scopes, body, detail) => {
    const { key } = await producer(scopes);
    const answer = await world.call('POST', '/v1/tokens', { key, body });
    expect(answer).toMatchObject({ status: 403, body: { detail: expect.stringMatching(detail) } });
  });

  it.each([
    [{}, ''],
    [{ send: false }, ''],
    [{ send: true, log_ids: ['NL1'] }, ''],
    [{ log_ids: [] }, 'log_ids'],
    [{ log_ids: Array.from({ length: 51 }, (_, i) => `NL${i}`) }, 'log_ids'],
    [{ log_ids: Array.from({ length: 50 }, (_, i) => `${i}`.padEnd(50, '通')) }, 'log_ids'],
    [{ log_ids: [7] }, 'log_ids.0'],
    [{ send: true, ttl_seconds: 3_601 }, 'ttl_seconds'],
    [{ send: true, ttl_seconds: 0 }, 'ttl_seconds'],
    [{ send: true, ttl_seconds: 1.5 }, 'ttl_seconds'],
    [{ send: true, scope: 'all' }, 'scope'],
    [{ log_ids: ['NL1'], channel: 'email' }, ''],
    [{ log_ids: ['NL1'], recipient: 'a@b.example' }, ''],
    [{ log_ids: ['NL1'], integration_config_id: 'INT-1' }, ''],
    [{ send: true, channel: 'fax' }, 'channel'],
  ])('refuses %j', async (body, path) => {
    const { key } = await producer();
    const answer = await world.call('POST', '/v1/tokens', { key, body });
    expect(answer).toMatchObject({ status: 400, body: { errors: [expect.objectContaining({ path })] } });
  });

  it('never writes a token into the log', async () => {
    const { tokenFor, first } = await producer();
    const token = await tokenFor({ log_ids: [first] });
    await get(token, first);
    await get(`${token}x`, first);
    const [, payload = ''] = /^nrt_([^.]+)/.exec(token) ?? [];
    expect(world.said.join('\n')).not.toContain(payload);
    expect(world.said.join('\n')).toContain('token_id');
  });
});

describe('a token of log_ids', () => {
  it('shows and retries its notifications, and no others of its tenant', async () => {
    const { tokenFor, first, second } = await producer();
    const token = await tokenFor({ log_ids: [first] });
    expect((await get(token, first)).body).toMatchObject({ log_id: first, status: 'failed', canRetry: true });
    expect((await retry(token, first)).status).toBe(202);
    for (const answer of [await get(token, second), await retry(token, second)]) {
      expect(answer).toMatchObject({ status: 403, body: { title: 'The API key may not do this' } });
    }
  });

  it.each([
    ['GET', '/v1/notifications', undefined],
    ['POST', '/v1/notifications', EMAIL],
    ['POST', '/v1/notifications/batch', { notifications: [EMAIL] }],
    ['POST', '/v1/notifications/LOG_ID/failures', { error_type: 'UNKNOWN' }],
    ['POST', '/v1/tokens', { log_ids: ['NL1'] }],
    ['GET', '/v1/newsletters', undefined],
    ['GET', '/v1/emails', undefined],
    ['POST', '/v1/members', { members: [] }],
  ])('does not open %s %s', async (method, path, body) => {
    const { tokenFor, first } = await producer(['send', 'read', 'operate', 'newsletters:read', 'newsletters:write']);
    const key = await tokenFor({ log_ids: [first] });
    const headers = { 'idempotency-key': 'k' };
    const answer = await world.call(method, path.replace('LOG_ID', first), { key, headers, ...(body && { body }) });
    expect(answer.status).toBe(403);
  });

  it('is worth nothing for the log_id of another tenant', async () => {
    const [mine, theirs] = [await producer(), await producer()];
    const token = await mine.tokenFor({ log_ids: [theirs.first] });
    expect((await get(token, theirs.first)).status).toBe(404);
    expect((await retry(token, theirs.first)).status).toBe(404);
    expect((await world.row(theirs.first))?.['send_status']).toBe('FAILED');
  });
});

describe('a token to send', () => {
  it('hands over notifications of its tenant, each once per key, and does nothing else', async () => {
    const { tokenFor, tenant_id, first } = await producer();
    const token = await tokenFor({ send: true });
    const { status, body } = await world.post(token, 'k1', EMAIL);
    expect(status).toBe(202);
    expect((await world.row(body.log_id))?.['tenant_id']).toBe(tenant_id);
    expect((await world.post(token, 'k1', EMAIL)).headers.get('idempotent-replayed')).toBe('true');
    expect((await get(token, body.log_id)).status).toBe(403);
    expect((await retry(token, first)).status).toBe(403);
    const batch = { key: token, headers: { 'idempotency-key': 'k2' }, body: { notifications: [EMAIL] } };
    expect((await world.call('POST', '/v1/notifications/batch', batch)).status).toBe(403);
    expect((await world.call('POST', '/v1/tokens', { key: token, body: { send: true } })).status).toBe(403);
  });

  it('shares its idempotency keys with the other pages of its tenant, and with no server', async () => {
    const { tokenFor, key, tenant_id } = await producer();
    const page = await world.post(await tokenFor({ send: true }), 'k1', EMAIL);
    const server = await world.post(key, 'k1', { ...EMAIL, body: 'Another text' });
    expect([page.status, server.status]).toEqual([202, 202]);
    expect(server.body.log_id).not.toBe(page.body.log_id);

    const renewed = await world.post(await tokenFor({ send: true, ttl_seconds: 60 }), 'k1', EMAIL);
    expect(renewed.headers.get('idempotent-replayed')).toBe('true');
    const rotated = await world.key(tenant_id, ['send']);
    const token = (await world.call('POST', '/v1/tokens', { key: rotated.key, body: { send: true } })).body.token;
    expect((await world.post(token, 'k1', EMAIL)).body.log_id).toBe(page.body.log_id);
    expect((await world.post(token, 'k1', { ...EMAIL, body: 'Another text' })).status).toBe(409);
  });

  it.each([
    [{ channel: 'email' }, EMAIL, 202],
    [{ channel: 'slack' }, EMAIL, 403],
    [{ recipient: EMAIL.recipient }, EMAIL, 202],
    [{ recipient: 'c@d.example' }, EMAIL, 403],
    [{ channel: 'email', recipient: 'c@d.example' }, EMAIL, 403],
    [{ channel: 'email' }, { ...EMAIL, fallback: { channel: 'webhook', recipient: 'https://hooks.example/x' } }, 403],
    [{ channel: 'email' }, { ...EMAIL, integration_config_id: 'INT-OTHER' }, 403],
    [{ recipient: EMAIL.recipient }, { ...EMAIL, integration_config_id: 'INT-OTHER' }, 403],
    [{ integration_config_id: 'INT-1' }, { ...EMAIL, integration_config_id: 'INT-1' }, 202],
    [{ integration_config_id: 'INT-1' }, { ...EMAIL, integration_config_id: 'INT-2' }, 403],
    [{ integration_config_id: 'INT-1' }, EMAIL, 403],
    [
      { integration_config_id: 'INT-1' },
      { ...EMAIL, fallback: { channel: 'webhook', recipient: 'https://hooks.example/x' } },
      403,
    ],
    [
      {},
      {
        ...EMAIL,
        integration_config_id: 'INT-1',
        fallback: { channel: 'webhook', recipient: 'https://hooks.example/x' },
      },
      202,
    ],
  ])('for %j sends %j with %i', async (narrowed, notification, status) => {
    const { tokenFor } = await producer();
    const token = await tokenFor({ send: true, ...narrowed });
    expect(Buffer.from(token.split('.')[0]?.slice(4) ?? '', 'base64url').toString()).not.toContain('@');
    expect((await world.post(token, 'k', notification)).status).toBe(status);
  });
});

describe('a token ends', () => {
  it('at its time', async () => {
    const { tokenFor, first } = await producer();
    const token = await tokenFor({ log_ids: [first], ttl_seconds: 60 });
    expect((await get(token, first)).status).toBe(200);
    world.pass(60_000);
    expect((await get(token, first)).body).toMatchObject({
      status: 401,
      type: expect.stringMatching(/unauthenticated$/),
    });
  });

  it('with its key, when that is revoked or expires', async () => {
    for (const end of [{ revoked_at: world.now().toISOString() }, { expires_at: world.now().toISOString() }]) {
      const { tokenFor, first, key_id } = await producer();
      const token = await tokenFor({ log_ids: [first] });
      expect((await get(token, first)).status).toBe(200);
      expect(await world.keys.end(key_id, end)).toBe(true);
      expect((await get(token, first)).status).toBe(401);
    }
  });
});

describe('the rate', () => {
  it('counts what the key may not do, too: refusals fill the stage as answers do', async () => {
    const { key } = await producer(['read'], 5);
    await world.atOnce(async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, () => world.post(key, 'k', EMAIL)));
      const statuses = new Set(answers.map(({ status }) => status));
      expect([...statuses].sort()).toEqual([403, 429]);
      expect(answers.filter(({ status }) => status === 403).length).toBeLessThanOrEqual(10);
    });
  });

  it('of pages uses up nothing of what the key itself may send', async () => {
    const { tokenFor, key, first } = await producer(undefined, 1);
    await world.atOnce(async () => {
      const token = await tokenFor({ log_ids: [first] });
      const statuses: number[] = [];
      for (let i = 0; i < 4; i++) statuses.push((await get(token, first)).status);
      expect(statuses).toContain(429);
      expect((await get(key, first)).status).toBe(200);
    });
  });

  it('of one token leaves the other pages theirs', async () => {
    const { tokenFor, first } = await producer();
    await world.atOnce(async () => {
      const [greedy, other] = [await tokenFor({ log_ids: [first] }), await tokenFor({ log_ids: [first] })];
      const answers = await Promise.all(Array.from({ length: 40 }, () => get(greedy, first)));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(10);
      expect(refused[0]?.body.detail).toMatch(/^A token may make 10 requests per second/);
      expect((await get(other, first)).status).toBe(200);
    });
  });
});
