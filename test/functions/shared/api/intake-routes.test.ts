import { Metrics } from '@aws-lambda-powertools/metrics';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createRequestCounts } from '../../../../src/adapters/dynamodb/intake/request-counts.ts';
import { PROBLEMS, problemType } from '../../../../src/core/model/problem.ts';
import { type Answer, type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';

let world: ApiWorld;
let key: string;
let serial = 0;
const fresh = () => `key-${++serial}`;
const notification = (changes: object = {}) => ({
  channel: 'webhook',
  recipient: 'https://example.com/secret-hook',
  body: 'とても秘密の本文',
  ...changes,
});
const typeOf = ({ body }: Answer) => String(body.type).split(':').at(-1);

beforeAll(async () => {
  world = await startApiWorld();
  ({ key } = await world.key('T1'));
}, 60_000);
afterAll(() => world?.stop());
beforeEach(() => {
  world.sent.length = 0;
});

describe('POST /v1/notifications', () => {
  it('answers 202 with where to ask, and queues ids only', async () => {
    const { status, body, headers } = await world.post(key, fresh(), notification({ notification_id: 'N-1' }));
    expect(status).toBe(202);
    expect(body).toEqual({
      log_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      status: 'processing',
      status_url: `/v1/notifications/${body.log_id}`,
    });
    expect(headers.get('idempotent-replayed')).toBeNull();
    expect(world.sent.map(({ message }) => message.log_id)).toEqual([body.log_id]);
    expect(JSON.stringify(world.sent)).not.toMatch(/secret-hook|秘密/);
    expect((await world.call('GET', body.status_url, { key })).status).toBe(200);
  });

  it('gives a repeat the same status and body, marked', async () => {
    const idempotencyKey = fresh();
    const first = await world.post(key, idempotencyKey, notification({ subject: 'a', priority: 'urgent' }));
    // The same in canonical form: another order of keys.
    const repeat = await world.post(key, idempotencyKey, { priority: 'urgent', subject: 'a', ...notification() });
    expect([repeat.status, repeat.body]).toEqual([first.status, first.body]);
    expect(repeat.headers.get('idempotent-replayed')).toBe('true');
    expect(world.sent).toHaveLength(1);
  });

  it('takes the trace of the body before that of the header, and another one with each try', async () => {
    const trace = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
    const post = (idempotencyKey: string, header: string, traceparent?: string) =>
      world.call('POST', '/v1/notifications', {
        key,
        body: notification(traceparent === undefined ? {} : { traceparent }),
        headers: { 'idempotency-key': idempotencyKey, traceparent: header },
      });
    const idempotencyKey = fresh();
    const first = await post(idempotencyKey, trace('a'));
    const again = await post(idempotencyKey, trace('b'), trace('c'));
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(await world.row(first.body.log_id)).toMatchObject({ traceparent: trace('a') });
    const own = await post(fresh(), trace('b'), trace('c'));
    expect(await world.row(own.body.log_id)).toMatchObject({ traceparent: trace('c') });
    const without = await post(fresh(), 'nonsense');
    expect(await world.row(without.body.log_id)).not.toHaveProperty('traceparent');
    const malformed = await post(fresh(), trace('a'), 'nonsense');
    expect(await world.row(malformed.body.log_id)).toMatchObject({ traceparent: trace('a') });
    const batch = await world.call('POST', '/v1/notifications/batch', {
      key,
      body: { notifications: [notification(), notification({ traceparent: trace('d') })] },
      headers: { 'idempotency-key': fresh(), traceparent: trace('b') },
    });
    const [taken, kept] = batch.body.results;
    expect(await world.row(taken.log_id)).toMatchObject({ traceparent: trace('b') });
    expect(await world.row(kept.log_id)).toMatchObject({ traceparent: trace('d') });
  });

  it('refuses another body under the same key', async () => {
    const idempotencyKey = fresh();
    await world.post(key, idempotencyKey, notification());
    const other = await world.post(key, idempotencyKey, notification({ body: 'other' }));
    expect([other.status, typeOf(other)]).toEqual([409, 'idempotency-key-reused']);
    expect(world.sent).toHaveLength(1);
  });

  it('counts every request whose key an earlier one has, refused ones too', async () => {
    const add = vi.spyOn(Metrics.prototype, 'addMetric');
    const counted = (name: string) =>
      add.mock.calls.filter(([added]) => added === name).reduce((sum, [, , value]) => sum + value, 0);
    const idempotencyKey = fresh();
    await world.post(key, idempotencyKey, notification());
    expect(counted('IdempotentRepeats')).toBe(0);
    await world.post(key, idempotencyKey, notification());
    await world.post(key, idempotencyKey, notification({ body: 'other' }));
    await world.post(key, fresh(), notification({ body: '' }));
    expect([counted('IdempotentRequests'), counted('IdempotentRepeats')]).toEqual([3, 2]);
    const items = fresh();
    for (const body of ['b', 'changed']) {
      const notifications = [notification(), notification({ body })];
      await world.call('POST', '/v1/notifications/batch', {
        key,
        body: { notifications },
        headers: { 'idempotency-key': items },
      });
    }
    expect([counted('IdempotentRequests'), counted('IdempotentRepeats'), counted('Accepted')]).toEqual([7, 4, 3]);
    add.mockRestore();
  });

  it('takes an old key as new', async () => {
    const idempotencyKey = fresh();
    const first = await world.post(key, idempotencyKey, notification());
    world.pass(72 * 3_600_000);
    const next = await world.post(key, idempotencyKey, notification({ body: 'the next one' }));
    expect(next.status).toBe(202);
    expect(next.body.log_id).not.toBe(first.body.log_id);
  });

  it('makes exactly one notification of 100 concurrent requests with one key', async () => {
    const idempotencyKey = fresh();
    const ask = () => world.post(key, idempotencyKey, notification({ notification_id: 'N-100' }));
    const answers = await world.atOnce(() => Promise.all(Array.from({ length: 100 }, ask)));
    for (const answer of answers) {
      if (answer.status === 202) continue;
      expect([answer.status, typeOf(answer)]).toEqual([409, 'request-in-progress']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    const ids = new Set(answers.flatMap(({ body }) => body.log_id ?? []));
    expect(ids.size).toBe(1);
    expect(world.sent).toHaveLength(1);
    const { body } = await world.call('GET', '/v1/notifications?notification_id=N-100', { key });
    expect(body.notifications).toHaveLength(1);
  });

  it.each([
    ['none', {}],
    ['an empty one', { 'idempotency-key': '' }],
    ['one with a space', { 'idempotency-key': 'a b' }],
    ['one that is too long', { 'idempotency-key': 'a'.repeat(129) }],
  ])('wants an Idempotency-Key: %s is refused', async (_, headers) => {
    for (const path of ['/v1/notifications', '/v1/notifications/batch']) {
      const answer = await world.call('POST', path, { key, body: notification(), headers });
      expect([answer.status, typeOf(answer)]).toEqual([400, 'idempotency-key-missing']);
    }
  });

  it.each([
    ['an escape character', 'N\x1b[2J'],
    ['a line break', 'N\n1'],
    ['a character that turns the text', 'N\u202e1'],
  ])('refuses %s in an id', async (_, id) => {
    const ids = { notification_id: id, setting_id: id, template_id: id, integration_config_id: id };
    const { status, body } = await world.post(key, fresh(), notification({ ...ids, subject: 'a\tb' }));
    expect(status).toBe(400);
    expect(body.errors.map(({ path, rule }: { path: string; rule: string }) => [path, rule]).sort()).toEqual(
      Object.keys(ids)
        .sort()
        .map((path) => [path, 'regex']),
    );
    const fallback = { channel: 'slack', recipient: '#a', integration_config_id: id };
    expect((await world.post(key, fresh(), notification({ fallback }))).status).toBe(400);
  });

  it('counts characters as its document does, not UTF-16 units', async () => {
    const fits = await world.post(key, fresh(), notification({ notification_id: '👍'.repeat(50) }));
    expect(fits.status).toBe(202);
    expect((await world.post(key, fresh(), notification({ notification_id: '👍'.repeat(51) }))).status).toBe(400);
  });

  it('refuses a body that is not UTF-8 instead of altering it', async () => {
    const text = JSON.stringify(notification({ body: 'caf_' }));
    const body = Buffer.from(text.replace('_', '\xe9'), 'latin1');
    const headers = { 'idempotency-key': fresh(), authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${world.url}/v1/notifications`, { method: 'POST', headers, body });
    expect([answer.status, ((await answer.json()) as { errors: { rule: string }[] }).errors[0]?.rule]).toEqual([
      400,
      'json',
    ]);
  });

  it('refuses a cursor with half a surrogate pair', async () => {
    const cursor = Buffer.from('{"notification_id":"N-1","after":"\\ud800"}').toString('base64url');
    const answer = await world.call('GET', `/v1/notifications?notification_id=N-1&cursor=${cursor}`, { key });
    expect(answer.status).toBe(400);
  });

  it('stores the recipient encrypted, the fallback’s too, and tells it to no log', async () => {
    await world.post(key, fresh(), {
      channel: 'email',
      recipient: 'hanako.secret@example.com',
      body: '秘密の本文',
      fallback: { channel: 'slack', recipient: '#very-secret', integration_config_id: 'IC-1' },
    });
    const stored = await world.stored();
    expect(stored).not.toMatch(/hanako\.secret|very-secret/);
    expect(stored).toContain('"fallback_channel":{"S":"slack"}');
    expect(world.said.join('\n')).not.toMatch(/secret|秘密|nrk_/);
    expect(world.said.join('\n')).toContain('POST /v1/notifications');
  });

  it('keeps no address of what a producer quotes of its provider', async () => {
    const failed_attempt = {
      error_type: 'UNKNOWN',
      response_message: 'mailbox taro.quoted@example.com of タロウさん is full',
    };
    const email = { channel: 'email', recipient: 'taro.quoted@example.com', body: 'タロウさん、こんにちは' };
    const { body } = await world.post(key, fresh(), { ...email, failed_attempt });
    expect(body.status).toBe('retrying');
    expect(await world.stored()).not.toContain('taro.quoted');
    expect(JSON.stringify(await world.row(body.log_id))).not.toContain('タロウさん');
  });

  it('answers 503 with Retry-After when storage fails, and nothing is lost by asking again', async () => {
    const idempotencyKey = fresh();
    world.faults.store = { putRow: () => Promise.reject(new Error('slow down')) };
    const failed = await world.post(key, idempotencyKey, notification());
    delete world.faults.store;
    expect([failed.status, typeOf(failed), failed.headers.get('retry-after')]).toEqual([503, 'unavailable', '2']);
    const early = await world.post(key, idempotencyKey, notification());
    expect([early.status, typeOf(early)]).toEqual([409, 'request-in-progress']);
    world.pass(5_000);
    const again = await world.post(key, idempotencyKey, notification());
    expect(again.status).toBe(202);
    expect(world.sent).toHaveLength(1);
  });
});

const LONG = (length: number, letter = 'a') => letter.repeat(length);

describe('what the channel can never take', () => {
  const webhook = (recipient: string, more: object = {}) => notification({ channel: 'webhook', recipient, ...more });
  it.each([
    ['email', notification({ channel: 'email', recipient: 'not-an-address' }), 'recipient', 'email'],
    [
      'two addresses',
      notification({ channel: 'email', recipient: 'a@example.com, b@example.com' }),
      'recipient',
      'email',
    ],
    ['another scheme', webhook('ftp://example.com/hook'), 'recipient', 'url'],
    ['plain http', webhook('http://example.com/hook'), 'recipient', 'url'],
    ['no URL', webhook('#ops'), 'recipient', 'url'],
    ['a password in a URL', webhook('https://user:secret@example.com/'), 'recipient', 'url'],
    [
      'Slack without integration',
      notification({ channel: 'slack', recipient: '#ops' }),
      'integration_config_id',
      'required',
    ],
    [
      'Slack at another scheme',
      notification({ channel: 'slack', recipient: 'ftp://example.com/' }),
      'recipient',
      'url',
    ],
    [
      'Teams without integration',
      notification({ channel: 'teams', recipient: 'ops' }),
      'integration_config_id',
      'required',
    ],
    [
      'a fallback',
      notification({ fallback: { channel: 'email', recipient: 'nobody' } }),
      'fallback.recipient',
      'email',
    ],
    [
      'a fallback to Slack',
      notification({ fallback: { channel: 'slack', recipient: '#ops' } }),
      'fallback.integration_config_id',
      'required',
    ],
  ])('is refused with the field that is wrong, and without its value: %s', async (_, body, path, rule) => {
    const answer = await world.post(key, fresh(), body);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path, rule }] } });
    expect(answer.body.errors).toHaveLength(1);
    expect(JSON.stringify(answer.body)).not.toMatch(/not-an-address|secret|example\.com|#ops/);
  });

  it.each([
    notification({ channel: 'email', recipient: ' yamada@例え.jp ' }),
    webhook('https://example.com:8443/hook?a=1'),
    webhook('anything', { integration_config_id: 'hook' }),
    webhook('http://127.0.0.1:4000/ok'),
    notification({ channel: 'slack', recipient: '#ops', integration_config_id: 'bot' }),
    notification({ channel: 'slack', recipient: 'https://hooks.slack.com/services/T/B/x' }),
    notification({ channel: 'teams', recipient: 'https://example.com/workflow' }),
  ])('is not what an integration or the recipient can make right: %j', async (body) => {
    expect((await world.post(key, fresh(), body)).status).toBe(202);
  });
});

describe('a wrong field', () => {
  it.each<[object | string, string, string]>([
    [{ channel: 'fax' }, 'channel', 'one_of'],
    [{ channel: undefined }, 'channel', 'required'],
    [{ recipient: undefined }, 'recipient', 'required'],
    [{ recipient: '' }, 'recipient', 'min_length'],
    [{ recipient: LONG(501) }, 'recipient', 'max_length'],
    [{ recipient: 42 }, 'recipient', 'string'],
    [{ body: undefined }, 'body', 'required'],
    [{ body: '' }, 'body', 'min_length'],
    [{ body: 'half a \ud83d pair' }, 'body', 'well_formed_unicode'],
    [{ body: LONG(262_145) }, 'body', 'max_bytes'],
    [{ channel: 'slack', body: LONG(40_001) }, 'body', 'max_characters'],
    [{ channel: 'teams', body: LONG(10_000, '漢') }, 'body', 'max_bytes'],
    [{ body: LONG(40_001), fallback: { channel: 'slack', recipient: '#ops' } }, 'fallback.channel', 'max_characters'],
    [
      { body: LONG(10_000, '漢'), fallback: { channel: 'teams', recipient: 'https://example.com' } },
      'fallback.channel',
      'max_bytes',
    ],
    [{ priority: 'HIGH' }, 'priority', 'one_of'],
    [{ subject: LONG(501) }, 'subject', 'max_length'],
    [{ format: 'RTF' }, 'format', 'one_of'],
    [{ recipient_type: 'ROBOT' }, 'recipient_type', 'one_of'],
    ...['integration_config_id', 'notification_id', 'setting_id', 'template_id'].map(
      (name): [object, string, string] => [{ [name]: LONG(51) }, name, 'max_length'],
    ),
    [{ scheduled_at: 'tomorrow' }, 'scheduled_at', 'iso_timestamp'],
    [{ scheduled_at: '2020-01-01T00:00:00Z' }, 'scheduled_at', 'expired'],
    [{ scheduled_at: '2099-01-01T00:00:00Z' }, 'scheduled_at', 'max_days_ahead'],
    [{ scheduled_at: '2026-02-30T09:00:00Z' }, 'scheduled_at', 'existing_time'],
    [{ max_retry_count: -1 }, 'max_retry_count', 'min_value'],
    [{ max_retry_count: 101 }, 'max_retry_count', 'max_value'],
    [{ max_retry_count: 1.5 }, 'max_retry_count', 'integer'],
    [{ max_retry_count: '3' }, 'max_retry_count', 'number'],
    [{ fallback: { channel: 'slack' } }, 'fallback.recipient', 'required'],
    [{ fallback: { channel: 'x', recipient: 'a' } }, 'fallback.channel', 'one_of'],
    [{ failed_attempt: {} }, 'failed_attempt.error_type', 'required'],
    [{ failed_attempt: { error_type: 'MAX_RETRIES' } }, 'failed_attempt.error_type', 'one_of'],
    [{ failed_attempt: { error_type: 'UNKNOWN', attempted_at: 'x' } }, 'failed_attempt.attempted_at', 'iso_timestamp'],
    [{ priorty: 'urgent' }, 'priorty', 'unknown'],
    [{ toString: 1 }, 'toString', 'unknown'],
    [{ [LONG(5_000)]: 1 }, `${LONG(100)}…`, 'unknown'],
    ['"text"', '', 'strict_object'],
    ['not json', '', 'json'],
    ['[]', 'channel', 'required'],
  ])('%o is named by its path %s and rule %s, and nothing is stored', async (changes, path, rule) => {
    const before = await world.count();
    const body = typeof changes === 'string' ? changes : notification(changes);
    const headers = { 'idempotency-key': fresh() };
    const answer = await world.call('POST', '/v1/notifications', { key, body, headers });
    expect([answer.status, typeOf(answer)]).toEqual([400, 'invalid-request']);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body.errors).toContainEqual({ path, rule, message: expect.any(String) });
    expect(await world.count()).toBe(before);
    expect(world.sent).toEqual([]);
  });

  it('does not hide the others: all are named at once', async () => {
    const answer = await world.post(key, fresh(), {
      channel: 'slack',
      body: LONG(40_001),
      priority: 'x',
      max_retry_count: 101,
      extra: 1,
    });
    const paths = answer.body.errors.map(({ path }: { path: string }) => path).sort();
    expect(paths).toEqual(['body', 'extra', 'max_retry_count', 'priority', 'recipient']);
  });

  it.each<[string, object, readonly string[]]>([
    [
      'unknown ones, nested ones too',
      {
        ...notification({ one: 1, two: 2 }),
        fallback: { channel: 'slack', recipient: '#ops', integration_config_id: 'bot', three: 3, four: 4 },
        failed_attempt: { error_type: 'UNKNOWN', five: 5 },
      },
      ['failed_attempt.five', 'fallback.four', 'fallback.three', 'one', 'two'],
    ],
    [
      'a time that has passed',
      notification({ channel: 'fax', scheduled_at: '2001-01-01T00:00:00Z' }),
      ['channel', 'scheduled_at'],
    ],
    [
      'a time that is too far off',
      notification({ priority: 'info', extra: 1, scheduled_at: '2099-01-01T00:00:00Z' }),
      ['extra', 'scheduled_at'],
    ],
  ])('does not hide %s', async (_, body, paths) => {
    const single = await world.post(key, fresh(), body);
    const headers = { 'idempotency-key': fresh() };
    const call = { key, headers, body: { notifications: [body] } };
    const [result] = (await world.call('POST', '/v1/notifications/batch', call)).body.results;
    for (const { errors } of [single.body, result.problem]) {
      expect(errors.map(({ path }: { path: string }) => path).sort()).toEqual(paths);
    }
  });

  it('is named with 49 others at most, and their number: the answer stays readable', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 13_000 }, (_, i) => [`unknown-${i}`, 1]));
    const { body } = await world.post(key, fresh(), notification({ channel: 'fax', ...unknown }));
    expect(body.errors).toHaveLength(50);
    expect(body.errors[0].path).toBe('channel');
    expect(body.errors.at(-1)).toEqual({ path: '', rule: 'more', message: 'breaks rules at 12952 more places' });
    expect(body.detail.length).toBeLessThan(5_000);
    expect(body.detail).toMatch(/; and 12991 more$/);
  });

  it('is never quoted', async () => {
    const answer = await world.post(key, fresh(), notification({ channel: 'SECRET-1', priority: 'SECRET-2' }));
    expect(JSON.stringify(answer.body)).not.toContain('SECRET');
  });
});

describe('POST /v1/notifications/batch', () => {
  const batch = (idempotencyKey: string, notifications: unknown) =>
    world.call('POST', '/v1/notifications/batch', {
      key,
      body: { notifications },
      headers: { 'idempotency-key': idempotencyKey },
    });

  it('gives each its result, and one bad item stops no other', async () => {
    const { status, body } = await batch(fresh(), [notification(), { channel: 'fax' }, 7, notification({ body: 'b' })]);
    expect(status).toBe(200);
    expect(body.results).toEqual([
      expect.objectContaining({ index: 0, status: 202, log_id: expect.any(String), status_url: expect.any(String) }),
      expect.objectContaining({ index: 1, status: 400, problem: expect.objectContaining({ status: 400 }) }),
      expect.objectContaining({ index: 2, status: 400 }),
      expect.objectContaining({ index: 3, status: 202 }),
    ]);
    expect(world.sent).toHaveLength(2);
  });

  it('repeats what it took in before, item by item', async () => {
    const idempotencyKey = fresh();
    const first = await batch(idempotencyKey, [notification(), notification({ body: 'b' })]);
    const again = await batch(idempotencyKey, [notification(), notification({ body: 'changed' }), notification()]);
    expect(again.body.results[0]).toEqual({ ...first.body.results[0], repeat: true });
    expect(again.body.results[1]).toMatchObject({
      status: 409,
      problem: { type: problemType('idempotency-key-reused') },
    });
    expect(again.body.results[2]).toMatchObject({ status: 202 });
    expect(again.body.results[2]).not.toHaveProperty('repeat');
  });

  it('shares its items’ keys with single requests, and takes the same key twice as a repeat', async () => {
    const idempotency_key = fresh();
    const single = await world.post(key, idempotency_key, notification());
    const items = [notification({ idempotency_key }), notification({ idempotency_key })];
    const { body } = await batch(fresh(), items);
    for (const result of body.results) {
      expect(result).toMatchObject({ status: 202, log_id: single.body.log_id, repeat: true });
    }
    const own = fresh();
    const { body: twice } = await batch(own, [
      notification({ idempotency_key: `${own}-x` }),
      notification({ idempotency_key: `${own}-x` }),
    ]);
    expect(twice.results.map(({ repeat }: { repeat?: true }) => repeat)).toEqual([undefined, true]);
    const bySingle = await world.post(key, `${own}-x`, notification());
    expect(bySingle.headers.get('idempotent-replayed')).toBe('true');
  });

  it('lends its items no key that another request may have, too', async () => {
    const own = fresh();
    const { body } = await batch(own, [notification()]);
    const single = await world.post(key, `${own}:0`, notification({ body: 'another one' }));
    expect(single.status).toBe(202);
    expect(single.body.log_id).not.toBe(body.results[0].log_id);
  });

  it('takes a hundred, and no more', async () => {
    const items = Array.from({ length: 101 }, (_, i) => notification({ body: `body ${i}` }));
    const full = await batch(fresh(), items.slice(1));
    expect(full.body.results.every(({ status }: { status: number }) => status === 202)).toBe(true);
    expect(world.sent).toHaveLength(100);
    for (const wrong of [items, [], 'x', undefined]) {
      const answer = await batch(fresh(), wrong);
      expect([answer.status, typeOf(answer)]).toEqual([400, 'invalid-request']);
    }
  });

  it('tells of an item for which storage fails that it is to be sent again, and the others are taken in', async () => {
    const idempotencyKey = fresh();
    let calls = 0;
    const failing = () => (++calls === 1 ? Promise.reject(new Error('slow down')) : Promise.resolve(undefined));
    world.faults.store = { putRow: failing };
    const items = [notification({ body: '1' }), notification({ body: '2' }), { channel: 'fax' }];
    const { status, body, headers } = await batch(idempotencyKey, items);
    delete world.faults.store;
    expect([status, headers.get('retry-after')]).toEqual([200, '2']);
    const statuses = body.results.map((result: { status: number }) => result.status);
    expect(statuses.sort()).toEqual([202, 400, 503]);
    expect(body.results.find((result: { status: number }) => result.status === 503).problem).toMatchObject({
      type: problemType('unavailable'),
      status: 503,
    });
    expect(world.sent).toHaveLength(1);
    world.pass(5_000);
    const again = await batch(idempotencyKey, items.slice(0, 2));
    expect(again.body.results.map((result: { status: number }) => result.status)).toEqual([202, 202]);
    expect(again.headers.get('retry-after')).toBeNull();
  });

  it('answers 503 when storage fails for all', async () => {
    world.faults.store = { putRow: () => Promise.reject(new Error('slow down')) };
    const failed = await batch(fresh(), [notification({ body: '1' }), notification({ body: '2' })]);
    delete world.faults.store;
    expect([failed.status, typeOf(failed), failed.headers.get('retry-after')]).toEqual([503, 'unavailable', '2']);
  });

  it('queues what is stored without waiting for an item that storage keeps waiting', async () => {
    let answer: () => void = () => {};
    const hanging = new Promise<undefined>((resolve) => {
      answer = () => resolve(undefined);
    });
    let calls = 0;
    world.faults.store = { putRow: () => (++calls === 1 ? hanging : Promise.resolve(undefined)) };
    const asked = batch(
      fresh(),
      Array.from({ length: 20 }, (_, i) => notification({ body: `${i}` })),
    );
    await vi.waitFor(() => expect(world.sent).toHaveLength(19), { timeout: 5_000 });
    answer();
    expect((await asked).body.results).toHaveLength(20);
    delete world.faults.store;
    expect(world.sent).toHaveLength(20);
  });
});

describe('limits', () => {
  it('of size: a request beyond 1 MB is too large', async () => {
    const answer = await world.post(key, fresh(), notification({ body: LONG(1024 * 1024) }));
    expect([answer.status, typeOf(answer)]).toEqual([413, 'too-large']);
  });

  it('of rate: a key that asks too fast is told when to come back, and others are not', async () => {
    const slow = await world.key('T1', ['read'], 1);
    const ask = () => world.call('GET', '/v1/notifications?limit=1', { key: slow.key });
    const answers = await world.atOnce(async () => [await ask(), await ask(), await ask()]);
    const limited = answers.at(-1);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(limited && typeOf(limited)).toBe('rate-limited');
    expect(limited?.headers.get('retry-after')).toBe('1');
    expect((await world.call('GET', '/v1/notifications?limit=1', { key })).status).toBe(200);
    world.pass(1_000);
    expect((await ask()).status).toBe(200);
  });
});

it.each([
  ['GET', '/v1/notifications'],
  ['POST', '/v1/notifications'],
])('%s %s is refused when other instances have let through what its key may ask', async (method, path) => {
  const spent = await world.key('T1', ['read', 'send'], 1);
  const counts = createRequestCounts(world.client, world.tables.pipeline_state);
  const now = Math.floor(world.now().getTime() / 1000);
  for (let second = now; second < now + 20; second++) await counts.add(spent.key_id, second, 5);
  const answer = await world.call(method, path, { key: spent.key });
  expect([answer.status, typeOf(answer), answer.headers.get('retry-after')]).toEqual([429, 'rate-limited', '1']);
});

it('has a problem document for every status it refuses with', () => {
  for (const { status, title } of Object.values(PROBLEMS)) {
    expect(status).toBeGreaterThanOrEqual(400);
    expect(title).not.toBe('');
  }
});
