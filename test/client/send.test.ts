import { statSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { problem } from '../support/client/api-stand-in.ts';
import { notification, startWorld, type World } from '../support/client/world.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(() => world.end());

describe('send', () => {
  it('hands a notification over, with the key of its content', async () => {
    const result = await world.client().send(notification(1));
    expect(result).toEqual({ state: 'accepted', log_id: 'log-1', repeat: false });
    expect(world.api.asked).toMatchObject([
      {
        path: '/v1/notifications',
        authorization: `Bearer ${world.api.apiKey}`,
        key: expect.stringMatching(/^c1-[\w-]{43}$/),
      },
    ]);
    expect(world.api.asked[0]?.body).toEqual(notification(1));
  });

  it('recognises the notification that a restarted producer sends again with its members in another order', async () => {
    await world.client().send(notification(1));
    const reordered = Object.fromEntries(Object.entries(notification(1)).reverse()) as unknown as typeof notification;
    expect(await world.client().send(reordered as never)).toEqual({ state: 'accepted', log_id: 'log-1', repeat: true });
    expect(world.api.accepted).toHaveLength(1);
  });

  it('sends two equal notifications with keys of their own', async () => {
    const client = world.client();
    await client.send(notification(1), { idempotencyKey: 'first' });
    await client.send(notification(1), { idempotencyKey: 'second' });
    expect(world.api.accepted).toHaveLength(2);
  });

  it.each([
    ['a key with a space', () => ({ idempotencyKey: 'a b' }), {}],
    ['a key of 129 characters', () => ({ idempotencyKey: 'k'.repeat(129) }), {}],
    ['an empty key', () => ({ idempotencyKey: '' }), {}],
    ['half a surrogate pair', () => ({}), { body: '\ud83d' }],
    ['a number that is none', () => ({}), { max_retry_count: Number.NaN }],
  ])('refuses %s before anything is asked', async (_, options, more) => {
    await expect(world.client().send(notification(1, more), options())).rejects.toThrow(TypeError);
    expect(world.api.asked).toHaveLength(0);
  });
});

const UNSENDABLE: readonly (readonly [what: string, given: unknown])[] = [
  ['half of an emoji', notification('bad', { body: 'Ready 😀'.slice(0, 7) })],
  ['a malformed key', { ...notification('bad'), idempotency_key: 'two words' }],
  ['a key that is no text', { ...notification('bad'), idempotency_key: 7 }],
  ['a number that is none', notification('bad', { max_retry_count: Number.NaN })],
  ['a bigint', { ...notification('bad'), max_retry_count: 3n }],
  ['a function', { ...notification('bad'), subject: () => 'secret' }],
  ['a cycle', Object.assign(notification('bad'), { self: [] as unknown[] })],
  ['a getter that throws', Object.defineProperty(notification('bad'), 'body', { enumerable: true, get: fail })],
  ['null', null],
  ['undefined', undefined],
  ['a text', 'secret'],
  ['a number', 7],
];
const cycle = UNSENDABLE.find(([what]) => what === 'a cycle')?.[1] as { self: unknown[] };
cycle.self.push(cycle);

function fail(): never {
  throw new Error('there is no body');
}

describe('sendBatch', () => {
  it.each(UNSENDABLE)('refuses %s alone, shows none of it, and sends the others', async (_, bad) => {
    const seen: unknown[] = [];
    const given = [notification(1), bad, notification(2)] as never;
    const results = await world.client().sendBatch(given, { onProgress: (progress) => seen.push(progress) });
    expect(results).toEqual([
      { state: 'accepted', log_id: 'log-1', repeat: false },
      {
        state: 'refused',
        problem: {
          type: 'urn:notification-retry:problem:invalid-request',
          title: expect.any(String),
          status: 400,
          detail: expect.not.stringContaining('secret'),
        },
      },
      { state: 'accepted', log_id: 'log-2', repeat: false },
    ]);
    expect(seen).toEqual([{ done: 3, total: 3, accepted: 2, spooled: 0, refused: 1 }]);
  });

  it.each(UNSENDABLE)('of %s alone asks nothing, and send refuses it with a TypeError', async (what, bad) => {
    expect(await world.client().sendBatch([bad as never])).toMatchObject([{ state: 'refused' }]);
    if (what !== 'a getter that throws') await expect(world.client().send(bad as never, {})).rejects.toThrow(TypeError);
    expect(world.api.asked).toEqual([]);
  });

  it('puts results where their notifications stand, whatever is refused or spooled', async () => {
    const kinds = fc.array(fc.constantFrom('good', 'bad'), { minLength: 1, maxLength: 230 });
    await fc.assert(
      fc.asyncProperty(kinds, fc.boolean(), async (given, isDown) => {
        world.api.instead = () => (isDown ? { status: 401 } : undefined);
        const all = given.map((kind, i) => notification(i, kind === 'bad' ? { body: '\ud83d' } : {}));
        const results = await world.client().sendBatch(all);
        const sent = isDown ? 'spooled' : 'accepted';
        expect(results.map(({ state }) => state)).toEqual(given.map((kind) => (kind === 'bad' ? 'refused' : sent)));
      }),
      { numRuns: 15 },
    );
  });
});

describe('what is retried (retry-and-idempotency-design.md §3)', () => {
  it.each([408, 429, 500, 501, 502, 503, 504, 599])(
    '%i: three attempts, after 1 s and 2 s, then the spool',
    async (status) => {
      world.api.instead = () => ({ status });
      expect(await world.client().send(notification(1))).toMatchObject({
        state: 'spooled',
        reason: `status ${status}`,
      });
      expect(world.api.asked).toHaveLength(3);
      expect(new Set(world.api.asked.map(({ key }) => key)).size).toBe(1);
      expect(world.waited).toEqual([1_000, 2_000]);
    },
  );

  it('a lost connection', async () => {
    world.api.instead = () => 'drop';
    expect(await world.client().send(notification(1))).toMatchObject({
      state: 'spooled',
      reason: /^no answer \(\w+\)$/,
    });
    expect(world.api.asked).toHaveLength(3);
  });

  it('a refused connection', async () => {
    await world.api.stop();
    expect(await world.client().send(notification(1))).toMatchObject({
      state: 'spooled',
      reason: 'no answer (ECONNREFUSED)',
    });
    expect(world.waited).toEqual([1_000, 2_000]);
  });

  it('a name that does not resolve', async () => {
    const client = world.client({ url: 'http://nobody.invalid' });
    expect(await client.send(notification(1))).toMatchObject({ state: 'spooled', reason: /ENOTFOUND|EAI_AGAIN/ });
    expect(world.waited).toHaveLength(2);
  });

  it('an answer that does not come in time', async () => {
    const stalled = world.client({ timeoutMs: 30 });
    world.api.instead = () => {
      const until = Date.now() + 60;
      while (Date.now() < until);
      return undefined;
    };
    expect(await stalled.send(notification(1))).toMatchObject({ state: 'spooled', reason: 'no answer (timeout)' });
    expect(world.waited).toHaveLength(2);
  });

  it('a lost answer: the second request is a repeat, and there is one notification', async () => {
    let lost = 0;
    world.api.losesAnswer = () => lost++ === 0;
    expect(await world.client().send(notification(1))).toEqual({ state: 'accepted', log_id: 'log-1', repeat: true });
    expect(world.api.accepted).toHaveLength(1);
  });

  it('succeeds at the third attempt', async () => {
    world.api.instead = () => (world.api.asked.length < 3 ? { status: 503 } : undefined);
    expect(await world.client().send(notification(1))).toMatchObject({ state: 'accepted' });
    expect(world.files('spool')).toEqual([]);
  });

  it.each([
    ['seconds', '7', 7_000, 0],
    ['a date', 'Sat, 21 Nov 2026 09:00:09 GMT', 9_000, 0],
    ['a date, by a clock that is 40 days behind', 'Sat, 21 Nov 2026 09:00:09 GMT', 9_000, -40],
    ['a date, by a clock that is 40 days ahead', 'Sat, 21 Nov 2026 09:00:09 GMT', 9_000, 40],
    ['less than the backoff', '0', 1_000, 0],
    ['nonsense', 'soon', 1_000, 0],
  ])('waits for what Retry-After says: %s', async (_, header, expected, days) => {
    const headers = { 'retry-after': header, date: 'Sat, 21 Nov 2026 09:00:00 GMT' };
    world.now = new Date(world.now.getTime() + days * 86_400_000);
    world.api.instead = () => (world.api.asked.length === 1 ? { status: 429, headers } : undefined);
    expect(await world.client().send(notification(1))).toMatchObject({ state: 'accepted' });
    expect(world.waited).toEqual([expected]);
  });

  it('does not wait for a long Retry-After, but spools the notification', async () => {
    world.api.instead = () => ({ status: 503, headers: { 'retry-after': '31' } });
    expect(await world.client().send(notification(1))).toMatchObject({ state: 'spooled' });
    expect(world.api.asked).toHaveLength(1);
  });
});

describe('what is not retried', () => {
  it.each([
    [400, 'invalid-request'],
    [400, 'idempotency-key-missing'],
    [404, 'not-found'],
    [409, 'idempotency-key-reused'],
    [409, 'conflict'],
    [413, 'too-large'],
  ])('%i %s: refused, and kept nowhere', async (status, name) => {
    world.api.instead = () => problem(name, status);
    expect(await world.client().send(notification(1))).toMatchObject({
      state: 'refused',
      problem: { type: `urn:notification-retry:problem:${name}`, status },
    });
    expect(world.api.asked).toHaveLength(1);
    expect(world.files('spool')).toEqual([]);
  });

  it('413 without a problem document: refused too, because a gateway takes it no more than the API', async () => {
    world.api.instead = () => ({ status: 413, body: { message: 'No' } });
    expect(await world.client().send(notification(1))).toEqual({
      state: 'refused',
      problem: { type: 'about:blank', title: 'The API answered 413', status: 413 },
    });
  });

  it.each([400, 406, 410, 422, 451])('%i without a problem document: spooled, not from the API', async (status) => {
    world.api.instead = () => ({ status, body: { message: 'No' } });
    expect(await world.client().send(notification(1))).toMatchObject({ state: 'spooled', reason: `status ${status}` });
    expect(world.api.asked).toHaveLength(1);
    expect(world.files('spool')).toHaveLength(1);
  });

  it.each([
    ["401: the key is an operator's matter", problem('unauthenticated', 401)],
    ['403: so are its rights', problem('forbidden', 403)],
    ['404 no-such-path: the URL is wrong', problem('no-such-path', 404)],
    ['404 of somebody else: it is, too', { status: 404, body: { message: 'Not Found' } }],
    ['405 of somebody else', { status: 405 }],
    ['409 request-in-progress: a later flush gets the stored answer', problem('request-in-progress', 409)],
    ['a redirect', { status: 302, headers: { location: 'https://elsewhere.example' } }],
    ['200 of a portal that stands in between', { status: 200, body: 'Welcome' }],
    ['202 without a log_id', { status: 202, body: {} }],
  ])('%s: spooled at once', async (_, answer) => {
    world.api.instead = () => answer;
    expect(await world.client().send(notification(1))).toMatchObject({ state: 'spooled' });
    expect(world.api.asked).toHaveLength(1);
    expect(await world.items('spool')).toMatchObject([{ body: notification(1) }]);
  });
});

describe('what is spooled', () => {
  it('is on disk, readable only by its owner, when send returns', async () => {
    await world.api.stop();
    const result = await world.client().send(notification(1));
    const [file] = world.files('spool');
    expect(result).toMatchObject({ state: 'spooled', file });
    const folder = join(world.directory, 'data', 'spool');
    expect([statSync(folder).mode & 0o777, statSync(join(folder, String(file))).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it('has the first attempt, no retry and the last error in its first line, and no recipient or content', async () => {
    world.api.instead = () => ({ status: 503, body: { type: 'x', title: 'someone-1@example.com', detail: 'Text 1' } });
    await world.client().send(notification(1));
    const [listed] = await world.spool().list('spool');
    expect(listed?.header).toEqual({
      version: 1,
      firstAttempt: '2026-11-21T09:00:00.000Z',
      retryCount: 0,
      notifications: 1,
      lastError: { at: '2026-11-21T09:00:00.000Z', reason: 'status 503' },
    });
  });

  it('is spooled at once when the signal aborts, without further waiting', async () => {
    const stop = new AbortController();
    world.api.instead = () => {
      stop.abort();
      return { status: 503 };
    };
    expect(await world.client().send(notification(1), { signal: stop.signal })).toMatchObject({ state: 'spooled' });
    expect(world.api.asked).toHaveLength(1);
  });
});

describe('reportFailure', () => {
  const failure = { error_type: 'SERVER_OVERLOAD', response_code: '503' } as const;

  it('hands over a notification with the attempt that failed', async () => {
    expect(await world.client().reportFailure(notification(1), failure)).toMatchObject({ state: 'accepted' });
    expect(world.api.asked[0]?.body).toEqual({ ...notification(1), failed_attempt: failure });
  });

  it('does not make a second notification of another failure', async () => {
    const client = world.client();
    await client.reportFailure(notification(1), failure);
    const again = await client.reportFailure(notification(1), { error_type: 'UNKNOWN' });
    expect(again).toMatchObject({ state: 'refused', problem: { type: /idempotency-key-reused/ } });
    expect(world.api.accepted).toHaveLength(1);
  });

  it('reports the failure of a notification that the API has, also from the spool', async () => {
    await world.api.stop();
    const client = world.client();
    expect(await client.reportFailure('log/7', failure)).toMatchObject({ state: 'spooled' });
    await world.api.start();
    expect(await client.flush()).toMatchObject({ accepted: 1, left: 0 });
    // API Gateway splits a path at an encoded slash: ids with one travel in base64url.
    expect(world.api.asked.at(-1)?.path).toBe('/v1/notifications/~bG9nLzc/failures');
  });

  it.each([
    ['the time of the report', {}, '2026-11-21T09:00:00.000Z'],
    ['the time it is given', { attempted_at: '2026-11-21T08:00:00Z' }, '2026-11-21T08:00:00Z'],
  ])('says %s each time it tells of the send, hours later too', async (_, given, attempted_at) => {
    world.now = new Date('2026-11-21T09:00:00.000Z');
    await world.api.stop();
    await world.client().reportFailure('log-8', { ...failure, ...given });
    await world.api.start();
    world.now = new Date('2026-11-21T12:00:00.000Z');
    await world.client().flush();
    expect(world.api.asked.at(-1)?.body).toEqual({ ...failure, attempted_at });
  });
});
