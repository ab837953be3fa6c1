import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { planClaim } from '../../../../src/core/delivery/claim-plan.ts';
import { asNotification, type ForeignRow } from '../../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';
import { type Answer, type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';
import { deadRow, stoppedRow, storedRow } from '../../../support/cli/operations.ts';

let world: ApiWorld;
let key: string;
let other: string;
let serial = 0;
const TENANT = 'tenant-1';
const fresh = () => `n-${++serial}`;
const typeOf = ({ body }: Answer) => String(body.type).split(':').at(-1);
const show = (log_id: string, by = key) => world.call('GET', `/v1/notifications/${log_id}`, { key: by });
const report = (log_id: string, body: object = { error_type: 'SERVER_OVERLOAD' }, by = key) =>
  world.call('POST', `/v1/notifications/${log_id}/failures`, { key: by, body });
const retry = (log_id: string, by = key) => world.call('POST', `/v1/notifications/${log_id}/retry`, { key: by });
const minutes = (n: number) => new Date(Date.now() + n * 60_000).toISOString();
/** As BATCH-951 leaves a notification that it is sending itself. */
const foreign = (log_id: string, changes: ForeignRow = {}): ForeignRow => ({
  log_id,
  tenant_id: TENANT,
  notification_type: 'WEBHOOK',
  recipient_type: 'WEBHOOK',
  recipient_address: 'https://example.com/foreign-secret',
  message_body: '本文',
  message_format: 'PLAIN',
  send_status: 'SENDING',
  send_attempts: 1,
  priority_level: 'HIGH',
  created_at: new Date().toISOString(),
  ...changes,
});

beforeAll(async () => {
  world = await startApiWorld();
  ({ key } = await world.key(TENANT));
  ({ key: other } = await world.key('tenant-2'));
}, 60_000);
afterAll(() => world?.stop());

describe('GET /v1/notifications/{log_id}', () => {
  it.each([
    [
      'its writer noted of its own attempt',
      TENANT,
      {},
      { writer_response_message: 'no …', writer_error_details: '{}' },
    ],
    ['nobody else noted, under a log_id of theirs', 'tenant-2', {}, {}],
    ['the API keeps no notes of', TENANT, { created_by: 'intake-api' }, {}],
  ])('tells what %s', async (_, tenant_id, changes, notes) => {
    const row = storedRow(fresh(), { tenant_id: TENANT, ...changes });
    await world.put(row);
    const noted = { response_message: 'no a@example.com', error_details: '{}' };
    const Item = toItem({ log_id: row.log_id, tenant_id, message_body: 'Secret', ...noted });
    await world.client.send(new PutItemCommand({ TableName: world.tables.notification_content, Item }));
    const { body } = await show(row.log_id);
    expect(Object.fromEntries(Object.entries(body).filter(([name]) => name.startsWith('writer_')))).toEqual(notes);
    expect(JSON.stringify(body)).not.toContain('Secret');
  });

  const claim = { send_status: 'SENDING', claim_until: minutes(1) } as const;
  const tried = {
    send_status: 'RETRY',
    work_at: minutes(5),
    next_retry_at: minutes(5),
    error_type: 'RATE_LIMITED',
  } as const;
  const untried = { send_status: 'PENDING', send_attempts: 0, last_attempt: -1 } as const;

  it.each<[string, (log_id: string) => ForeignRow, object]>([
    ['is due for the first time', (id) => storedRow(id, untried), { status: 'processing', canRetry: false }],
    ['is sent for the first time', (id) => storedRow(id, claim), { status: 'processing', canRetry: false }],
    ['waits for its time', (id) => storedRow(id, { ...untried, work_at: minutes(60) }), { status: 'saving' }],
    ['is not taken in yet', (id) => foreign(id, { send_status: 'PENDING' }), { status: 'saving', channel: 'webhook' }],
    ['is being sent by its writer', (id) => foreign(id), { status: 'processing' }],
    ['is delivered', (id) => storedRow(id, { send_status: 'SUCCESS' }), { status: 'done', canRetry: false }],
    [
      'waits for its retry',
      (id) => storedRow(id, tried),
      {
        status: 'retrying',
        canRetry: true,
        next_retry_at: tried.next_retry_at,
        errorMessage: expect.stringContaining('It is retried automatically.'),
      },
    ],
    [
      'is dead',
      (id) => deadRow(id),
      { status: 'failed', canRetry: true, errorMessage: expect.stringContaining('All retries are used up.') },
    ],
    [
      'has a wrong recipient',
      (id) => stoppedRow(id),
      { status: 'failed', canRetry: false, errorMessage: expect.stringContaining('Correct the recipient') },
    ],
    [
      'continues on its fallback channel',
      (id) => ({ ...stoppedRow(id), error_type: 'INVALID_RECIPIENT', successor_log_id: `${id}-fallback` }),
      {
        status: 'failed',
        canRetry: false,
        successor_log_id: expect.stringMatching(/^n-\d+-fallback$/),
        errorMessage: 'The recipient does not exist or does not accept messages. It continues on its fallback channel.',
      },
    ],
    [
      'is another one’s fallback',
      (id) => storedRow(id, { send_status: 'SUCCESS', predecessor_log_id: 'n-first' }),
      { status: 'done', predecessor_log_id: 'n-first' },
    ],
  ])('of one that %s', async (_, row, expected) => {
    const log_id = fresh();
    await world.put(row(log_id));
    const { status, body } = await show(log_id);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      log_id,
      retry_count: expect.any(Number),
      created_at: expect.any(String),
      ...expected,
    });
    expect(body.attempts).toEqual([]);
    expect(JSON.stringify(body)).not.toMatch(/foreign-secret|本文|work_queue|dead_message_id/);
    if (!('errorMessage' in expected)) expect(body).not.toHaveProperty('errorMessage');
  });
});

describe('GET /v1/notifications', () => {
  let lister: string;
  const list = (query = '') => world.call('GET', `/v1/notifications${query}`, { key: lister });
  beforeAll(async () => {
    ({ key: lister } = await world.key('tenant-list'));
    const changes = { tenant_id: 'tenant-list' };
    await world.put(storedRow('l-slack', { ...changes, channel: 'slack', priority: 'urgent' }));
    for (let i = 0; i < 5; i++) await world.put(storedRow(`l-${i}`, { ...changes, notification_id: 'N-list' }));
    await world.put(deadRow('l-dead', changes));
  });
  const ids = ({ body }: Answer) => body.notifications.map(({ log_id }: { log_id: string }) => log_id).sort();

  it.each([
    ['', 7],
    ['?channel=slack', 1],
    ['?priority=urgent', 1],
    ['?status=failed', 1],
    ['?status=done', 0],
    ['?notification_id=N-list', 5],
    ['?notification_id=N-list&channel=slack', 0],
    ['?notification_id=nobody', 0],
    [`?notification_id=N-list&from=${minutes(-60)}`, 5],
    [`?notification_id=N-list&to=${minutes(-60)}`, 0],
    ['?notification_id=N-list&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z', 0],
    ['?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z', 0],
  ])('%s finds %i', async (query, found) => expect(ids(await list(query))).toHaveLength(found));

  it('goes on page by page, each notification once', async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { body }: Answer = await list(`?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`);
      expect(body.notifications.length).toBeLessThanOrEqual(2);
      seen.push(...body.notifications.map(({ log_id }: { log_id: string }) => log_id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(seen).toHaveLength(7);
    expect(new Set(seen).size).toBe(7);
  });

  it.each([
    ['?status=dead', 'status'],
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?from=yesterday', 'from'],
    ['?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
    ['?from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z', 'from'],
    ['?cursor=x', 'cursor'],
    ['?colour=red', 'colour'],
  ])('%s is refused by its name', async (query, path) => {
    const answer = await list(query);
    expect([answer.status, typeOf(answer)]).toEqual([400, 'invalid-request']);
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual([path]);
  });

  it('names every parameter that is wrong or unknown', async () => {
    const { body } = await list('?colour=red&size=2&limit=0&from=2026-02-30T00:00:00Z');
    const paths = body.errors.map((error: { path: string }) => error.path).sort();
    expect(paths).toEqual(['colour', 'from', 'limit', 'size']);
  });

  it.each([
    ['of a few copies, two at a time', 'N-list', '&limit=2', 5],
    ['of more copies than are looked at for one answer', 'N-many', '&limit=100', 230],
    ['of those copies that fit', 'N-many', '&limit=3&channel=slack', 4],
  ])('pages %s end, and hold each once', async (_, notification_id, more, count) => {
    if (notification_id === 'N-many' && (await world.row('m-0')) === undefined) {
      const many = Array.from({ length: 230 }, (_, i) =>
        storedRow(`m-${i}`, { tenant_id: 'tenant-list', notification_id, channel: i % 60 === 0 ? 'slack' : 'webhook' }),
      );
      await Promise.all(many.map((row) => world.put(row)));
    }
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Answer = await list(
        `?notification_id=${notification_id}${more}${cursor === null ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...ids(page));
      cursor = page.body.next_cursor;
    } while (cursor !== null);
    expect(seen).toHaveLength(count);
    expect(new Set(seen).size).toBe(count);
  });

  it('takes the cursor of copies for no other list, and that of a list for no copies', async () => {
    const [copies, all] = await Promise.all([list('?notification_id=N-list&limit=2'), list('?limit=2')]);
    for (const query of [
      `?cursor=${copies.body.next_cursor}`,
      `?notification_id=other&cursor=${copies.body.next_cursor}`,
      `?notification_id=N-list&cursor=${all.body.next_cursor}`,
    ]) {
      const refused = await list(query);
      expect([refused.status, refused.body.errors[0].path]).toEqual([400, 'cursor']);
    }
  });

  it('tells nothing of another tenant’s notifications for its cursor, which names neither of them', async () => {
    const { body } = await list('?limit=1');
    const stolen = await world.call('GET', `/v1/notifications?cursor=${body.next_cursor}`, { key: other });
    const theirs = await world.call('GET', '/v1/notifications?limit=100', { key: other });
    const ids = ({ notifications }: { notifications: { log_id: string }[] }) =>
      notifications.map(({ log_id }) => log_id);
    expect(stolen.status).toBe(200);
    expect(ids(theirs.body)).toEqual(expect.arrayContaining(ids(stolen.body)));
    expect(ids(theirs.body)).not.toContain(body.notifications[0].log_id);
  });
});

describe('POST /v1/notifications/{log_id}/failures', () => {
  it.each([
    ['a@b.example', 400],
    ['a%40b.example', 400],
    ['山田太郎', 400],
    ['550 5.1.1', 202],
    ['xoxb-12-abcdef', 202],
  ])('takes %j as a code only if it is one', async (response_code, status) => {
    const log_id = fresh();
    await world.put(foreign(log_id));
    expect((await report(log_id, { error_type: 'UNKNOWN', response_code })).status).toBe(status);
    expect(await world.stored()).not.toMatch(/b\.example|山田|abcdef/);
  });

  it('takes a row that its writer was sending: attempt 0 recorded, recipient encrypted, retried by the policy', async () => {
    const log_id = fresh();
    await world.put(foreign(log_id, { recipient_address: 'https://example.com/moved-secret' }));
    world.sent.length = 0;
    const attempted_at = minutes(-1);
    const failure = { error_type: 'NETWORK_TIMEOUT', response_code: 'ETIMEDOUT', attempted_at };
    const { status, body } = await report(log_id, failure);
    expect([status, body.status]).toEqual([202, 'retrying']);
    const row = await world.row(log_id);
    expect(row).toMatchObject({
      send_status: 'RETRY',
      priority: 'important',
      send_attempts: 1,
      attempts_left: 7,
      last_attempt: 0,
      first_attempt_at: attempted_at,
      work_queue: expect.stringMatching(/^due#important#/),
      work_at: row?.['next_retry_at'],
      history_bucket: expect.any(String),
      recipient_hash: expect.any(String),
    });
    for (const column of ['recipient_address', 'message_body']) expect(row).not.toHaveProperty(column);
    expect(await world.stored()).not.toContain('moved-secret');
    expect((await show(log_id)).body.attempts).toEqual([
      {
        attempt: 0,
        at: attempted_at,
        status: 'FAILED',
        error_type: 'NETWORK_TIMEOUT',
        response_code: 'ETIMEDOUT',
        error_details: JSON.stringify({ reported_by: 'producer', attempted_at }),
      },
    ]);
    expect(world.sent.map(({ message }) => message)).toMatchObject([{ log_id, due: row?.['next_retry_at'] }]);
    // Told again, as after an answer that got lost, it is the same failure.
    const again = await report(log_id, failure);
    expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([202, body, 'true']);
    expect((await world.row(log_id))?.['send_attempts']).toBe(1);
  });

  it('counts a further failure of one that waits in the pipeline', async () => {
    const log_id = fresh();
    await world.put(storedRow(log_id, { send_attempts: 1, attempts_left: 1, last_attempt: 0, max_retry_count: 1 }));
    const first = await report(log_id);
    expect([first.status, first.body.status]).toEqual([202, 'failed']);
    expect(await world.row(log_id)).toMatchObject({ send_status: 'SENDING', send_attempts: 2, last_attempt: 1 });
    const { attempts } = (await show(log_id)).body;
    expect(attempts).toMatchObject([{ attempt: 1, status: 'FAILED', error_type: 'SERVER_OVERLOAD' }]);
  });

  it('told again of the one that spent the last retry, queues a run of its own, which redrives nothing', async () => {
    const log_id = fresh();
    await world.put(storedRow(log_id, { send_attempts: 1, attempts_left: 1, last_attempt: 0, max_retry_count: 1 }));
    world.sent.length = 0;
    const failure = { error_type: 'SERVER_OVERLOAD', attempted_at: minutes(-1) };
    await report(log_id, failure);
    await report(log_id, failure);
    const [message, again] = world.sent.map(({ message }) => message);
    if (message === undefined || again === undefined) throw new Error('Both reports have to queue a message.');
    expect(again.run_id).not.toBe(message.run_id);
    const died = new Date();
    const dead = { dead_run_id: message.run_id, dead_message_id: 'm-1', work_at: died.toISOString() };
    await world.put(deadRow(log_id, dead));
    const received = { message: again, message_id: 'm-2', sent_at: new Date(died.getTime() + 1), receive_count: 1 };
    const claim = { now: received.sent_at, until: minutes(1), by: 'token' };
    const row = asNotification((await world.row(log_id)) ?? {});
    expect(planClaim(row, received, claim, DEFAULT_RETRY_POLICY)).toMatchObject({ do: 'drop' });
  });

  it.each([
    ['a moment ago', -1],
    ['ahead of our clock', 60],
  ])('told again of a send %s, after another one failed too, it is the same failure', async (_, ahead) => {
    const log_id = fresh();
    await world.put(storedRow(log_id, { send_attempts: 0, attempts_left: 6, last_attempt: -1 }));
    const first = { error_type: 'SERVER_OVERLOAD', attempted_at: minutes(ahead) };
    const second = { error_type: 'UNKNOWN', attempted_at: minutes(ahead + 1) };
    for (const send of [first, first, second, first, second, first]) {
      const answer = await report(log_id, send);
      expect([answer.status, answer.body.status]).toEqual([202, 'retrying']);
    }
    expect(await world.row(log_id)).toMatchObject({ send_attempts: 2, attempts_left: 4, last_attempt: 1 });
    expect((await show(log_id)).body.attempts).toHaveLength(2);
  });

  it('ends one whose recipient is wrong', async () => {
    const log_id = fresh();
    await world.put(foreign(log_id));
    world.sent.length = 0;
    expect((await report(log_id, { error_type: 'INVALID_RECIPIENT' })).body.status).toBe('failed');
    expect(await world.row(log_id)).toMatchObject({ send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' });
    expect(world.sent).toEqual([]);
  });

  it.each<[string, (log_id: string) => ForeignRow]>([
    ['delivered', (id) => storedRow(id, { send_status: 'SUCCESS' })],
    ['delivered by its writer', (id) => foreign(id, { send_status: 'SUCCESS' })],
    ['claimed', (id) => storedRow(id, { send_status: 'SENDING', claim_until: minutes(1) })],
    ['a dead worker’s', (id) => storedRow(id, { send_status: 'SENDING', claim_until: minutes(-1) })],
    ['dead', (id) => deadRow(id)],
    ['stopped', (id) => stoppedRow(id)],
    ['deleted by its writer', (id) => foreign(id, { is_deleted: true })],
    ['malformed', (id) => foreign(id, { message_format: 'RTF' })],
    ['without content', (id) => foreign(id, { recipient_address: undefined, message_body: undefined })],
  ])('is refused with the reason on one that is %s, which stays as it is', async (_, row) => {
    const log_id = fresh();
    await world.put(row(log_id));
    const before = await world.row(log_id);
    const answer = await report(log_id);
    expect([answer.status, typeOf(answer)]).toEqual([409, 'conflict']);
    expect(answer.body.detail).toMatch(/^The failure is not recorded: .+\.$/);
    expect(await world.row(log_id)).toEqual(before);
  });

  it('names what is wrong with the report', async () => {
    const log_id = fresh();
    await world.put(foreign(log_id));
    const answer = await report(log_id, { error_type: 'EXPIRED', attempted_at: 'now', more: 1 });
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map(({ path }: { path: string }) => path).sort()).toEqual([
      'attempted_at',
      'error_type',
      'more',
    ]);
  });
});

describe('POST /v1/notifications/{log_id}/retry', () => {
  it('puts a waiting one due now, and queues it', async () => {
    const log_id = fresh();
    await world.put(storedRow(log_id, { send_status: 'RETRY', work_at: minutes(30), next_retry_at: minutes(30) }));
    world.sent.length = 0;
    const { status, body } = await retry(log_id);
    expect([status, body.status]).toEqual([202, 'retrying']);
    expect(world.sent.map(({ message }) => message)).toMatchObject([{ log_id, requested_by: 'user' }]);
    expect(Date.parse(String((await world.row(log_id))?.['work_at']))).toBeLessThanOrEqual(Date.now());
  });

  it.each<[string, ForeignRow]>([
    ['is scheduled for later', { work_at: minutes(60), scheduled_at: minutes(60) }],
    ['is due for the first time', {}],
    ['is being sent for the first time by a worker that died', { send_status: 'SENDING', claim_until: minutes(-1) }],
  ])('refuses one that %s: it is not sent before its time', async (_, changes) => {
    const log_id = fresh();
    const last_attempt = changes['send_status'] === 'SENDING' ? 0 : -1;
    await world.put({ ...storedRow(log_id, { send_status: 'PENDING', send_attempts: 0, last_attempt }), ...changes });
    const before = await world.row(log_id);
    world.sent.length = 0;
    expect((await show(log_id)).body.canRetry).toBe(false);
    const answer = await retry(log_id);
    expect([answer.status, typeOf(answer)]).toEqual([409, 'conflict']);
    expect(answer.body.detail).toBe(
      'The notification cannot be retried now: it has not failed and is sent when it is due.',
    );
    expect(world.sent).toEqual([]);
    expect(await world.row(log_id)).toEqual(before);
  });

  it('refuses one with a wrong recipient, and says what a producer can do, which has no console', async () => {
    const log_id = fresh();
    await world.put(stoppedRow(log_id));
    expect((await retry(log_id)).body.detail).toBe(
      'The notification cannot be retried now: its recipient is wrong: hand it over again under another key, or have it corrected.',
    );
  });

  it('tells to come back when SQS takes nothing and nothing was changed', async () => {
    const log_id = fresh();
    await world.put(deadRow(log_id));
    world.faults.lanes = 'away';
    const answer = await retry(log_id);
    delete world.faults.lanes;
    expect([answer.status, typeOf(answer), answer.headers.get('retry-after')]).toEqual([503, 'unavailable', '2']);
    expect(answer.body.detail).not.toMatch(/SQS|ops|command/);
    expect((await retry(log_id)).status).toBe(202);
  });

  it('refuses one that is delivered, and says so', async () => {
    const log_id = fresh();
    await world.put(storedRow(log_id, { send_status: 'SUCCESS' }));
    const answer = await retry(log_id);
    expect([answer.status, typeOf(answer)]).toEqual([409, 'conflict']);
    expect(answer.body.detail).toContain('delivered');
  });
});

it.each([
  ['GET', '/v1/nothing'],
  ['GET', '/'],
  ['POST', '/v2/notifications'],
  ['DELETE', '/v1/notifications/x'],
])('a path that there is not %s %s is told so by a problem of its own, with a key or without', async (method, path) => {
  for (const by of [{}, { key }]) {
    const answer = await world.call(method, path, by);
    expect([answer.status, typeOf(answer)]).toEqual([404, 'no-such-path']);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
  }
});

describe('who may', () => {
  const requests: [string, string, 'send' | 'read' | 'operate'][] = [
    ['POST', '/v1/notifications', 'send'],
    ['POST', '/v1/notifications/batch', 'send'],
    ['POST', '/v1/notifications/x/failures', 'send'],
    ['GET', '/v1/notifications', 'read'],
    ['GET', '/v1/notifications/x', 'read'],
    ['POST', '/v1/notifications/x/retry', 'operate'],
  ];

  it.each(requests)('%s %s needs a key with the scope %s', async (method, path, scope) => {
    const lacking = await world.key(
      TENANT,
      (['send', 'read', 'operate'] as const).filter((one) => one !== scope),
    );
    const ask = (by?: string) => world.call(method, path, { ...(by !== undefined && { key: by }) });
    expect((await ask()).status).toBe(401);
    for (const wrong of ['nope', `nrk_0000000000000000_${'A'.repeat(43)}`, `${lacking.key.slice(0, -1)}!`]) {
      const refused = await ask(wrong);
      expect([refused.status, typeOf(refused)]).toEqual([401, 'unauthenticated']);
    }
    const forbidden = await ask(lacking.key);
    expect([forbidden.status, typeOf(forbidden)]).toEqual([403, 'forbidden']);
    expect([401, 403]).not.toContain((await ask(key)).status);
  });

  it('a key that was revoked, or has expired, is none', async () => {
    const revoked = await world.key(TENANT);
    const expired = await world.key(TENANT);
    expect((await show('x', revoked.key)).status).toBe(404);
    await world.keys.end(revoked.key_id, { revoked_at: new Date().toISOString() });
    await world.keys.end(expired.key_id, { expires_at: new Date(Date.now() - 1).toISOString() });
    for (const { key: ended } of [revoked, expired]) expect((await show('x', ended)).status).toBe(401);
  });

  it('a secret with one letter changed is none, though its key id is right', async () => {
    const good = await world.key(TENANT);
    const last = good.key.at(-1) === 'A' ? 'B' : 'A';
    expect((await show('x', good.key.slice(0, -2) + last + last)).status).toBe(401);
  });

  it.each([
    ['GET', ''],
    ['POST', '/failures'],
    ['POST', '/retry'],
  ])('%s …%s answers another tenant’s notification exactly as an unknown one', async (method, path) => {
    const log_id = fresh();
    await world.put(storedRow(log_id));
    const ask = async (id: string) => {
      const body = path === '/failures' ? { error_type: 'UNKNOWN' } : undefined;
      const answer = await world.call(method, `/v1/notifications/${id}${path}`, { key: other, body });
      const headers = [...answer.headers].filter(([name]) => name !== 'date');
      return { status: answer.status, body: answer.body, headers };
    };
    const before = await world.row(log_id);
    const foreign = await ask(log_id);
    expect(foreign.status).toBe(404);
    expect(foreign).toEqual(await ask('nobody-has-this'));
    expect(foreign).toEqual(await ask('x'.repeat(60)));
    expect(await world.row(log_id)).toEqual(before);
  });

  it('lists a tenant’s own only, by its notification_id too', async () => {
    await world.put(storedRow(fresh(), { notification_id: 'N-shared' }));
    for (const query of ['', '?notification_id=N-shared']) {
      const { body } = await world.call('GET', `/v1/notifications${query}`, { key: other });
      expect(body).toEqual({ notifications: [], next_cursor: null });
    }
  });
});
