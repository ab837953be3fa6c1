import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pathSegment } from '../../../../src/http/paths.ts';
import { type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';

let world: ApiWorld;
let key: string;
let tenant_id: string;
let serial = 0;
const BAD = 'urn:notification-retry:problem:invalid-request';

beforeAll(async () => {
  world = await startApiWorld();
}, 60_000);
afterAll(() => world?.stop());
beforeEach(async () => {
  tenant_id = `tenant-${++serial}`;
  key = (await world.key(tenant_id)).key;
  await put('weekly');
});

const put = (id: string, body: object = { name: 'Weekly', from: 'Weekly <news@example.com>' }) =>
  world.call('PUT', `/v1/newsletters/${id}`, { key, body });
const upsert = (...members: unknown[]) => world.call('POST', '/v1/members', { key, body: { members } });
const show = (id: string) => world.call('GET', `/v1/members/${pathSegment(id)}`, { key });

describe('newsletters', () => {
  it('are made, changed, shown and listed, for one tenant', async () => {
    const made = await put('daily', {
      name: 'Daily',
      from: 'news@EXAMPLE.com',
      reply_to: ' Help@Example.COM',
      sending_domain: 'News.Example.com',
    });
    expect(made).toMatchObject({
      status: 200,
      body: { newsletter_id: 'daily', reply_to: 'Help@example.com', sending_domain: 'news.example.com' },
    });
    expect(made.body).not.toHaveProperty('tenant_id');
    const changed = await put('daily', { name: 'Every day', from: 'news@example.com' });
    expect(changed.body).toMatchObject({ name: 'Every day', created_at: made.body.created_at });
    expect(changed.body).not.toHaveProperty('reply_to');
    expect((await world.call('GET', '/v1/newsletters/daily', { key })).body).toEqual(changed.body);
    const list = await world.call('GET', '/v1/newsletters', { key });
    expect(list.body.newsletters.map(({ newsletter_id }: { newsletter_id: string }) => newsletter_id)).toEqual([
      'daily',
      'weekly',
    ]);
    const other = (await world.key('tenant-other')).key;
    expect((await world.call('GET', '/v1/newsletters', { key: other })).body).toEqual({
      newsletters: [],
      next_cursor: null,
    });
    expect((await world.call('GET', '/v1/newsletters/daily', { key: other })).status).toBe(404);
  });

  it('are listed page by page, each once, and at most a thousand by a request that names no limit', async () => {
    const tenant_id = 'tenant-many';
    const own = (await world.key(tenant_id)).key;
    const at = '2026-11-22T00:00:00.000Z';
    const ids = Array.from({ length: 1_001 }, (_, n) => `n-${1_000 + n}`);
    for (const newsletter_id of ids)
      await world.newsletters.put({
        tenant_id,
        newsletter_id,
        name: 'N',
        from: 'a@b.com',
        created_at: at,
        updated_at: at,
      });
    const page = (query = '') => world.call('GET', `/v1/newsletters${query}`, { key: own });
    const first = await page();
    expect(first.body.newsletters).toHaveLength(1_000);
    const read: string[] = [];
    let pages = 0;
    for (let next: string | null = ''; next !== null; pages++) {
      const { body } = await page(`?limit=300${next && `&cursor=${next}`}`);
      read.push(...body.newsletters.map(({ newsletter_id }: { newsletter_id: string }) => newsletter_id));
      next = body.next_cursor;
    }
    expect({ pages, read }).toEqual({ pages: 4, read: ids });
    const last = await page(`?cursor=${first.body.next_cursor}`);
    expect(last.body).toMatchObject({ newsletters: [{ newsletter_id: ids.at(-1) }], next_cursor: null });
    for (const query of ['?limit=0', '?limit=1001', '?cursor=eHggeQ', '?curser=eA'])
      expect(await page(query), query).toMatchObject({ status: 400, body: { type: BAD } });
  });

  it('are sent as addresses that their tenant may use, where it has any', async () => {
    const tenant = 'tenant-bound';
    const own = (await world.key(tenant)).key;
    const put = (id: string, body: object) =>
      world.call('PUT', `/v1/newsletters/${id}`, { key: own, body: { name: 'N', ...body } });
    const free = await put('first', { from: 'ceo@others.example' });
    expect(free.status).toBe(200);
    for (const sender of ['news@own.example', '*@xn--tda.example'])
      await world.newsletters.changeSenders(tenant, 'allow', sender);
    for (const [body, path] of [
      [{ from: 'CEO <ceo@others.example>' }, 'from'],
      [{ from: '"news@own.example" <ceo@others.example>' }, 'from'],
      [{ from: 'other@own.example' }, 'from'],
      [{ from: 'a@sub.xn--tda.example' }, 'from'],
      [{ from: 'news@own.example', sending_domain: 'others.example' }, 'sending_domain'],
      [{ from: 'news@own.example', fallback_domain: 'others.example' }, 'fallback_domain'],
    ] as const) {
      expect(await put('second', body), JSON.stringify(body)).toMatchObject({
        status: 400,
        body: { errors: [{ path, rule: 'allowed_sender' }] },
      });
    }
    for (const from of ['News <NEWS@own.example>', 'anyone@xn--tda.example', 'Ü <anyone@ü.example>'])
      expect((await put('second', { from })).status, from).toBe(200);
    expect((await put('third', { from: 'ceo@others.example' })).status).toBe(400);
  });

  it.each([
    ['from', { name: 'N', from: 'nobody' }, 'address'],
    ['from', { name: 'N', from: 'A <a@b.com>, B <b@b.com>' }, 'address'],
    ['from', { name: 'N', from: 'A <a@b.com>\r\nBcc: x@b.com' }, 'regex'],
    ['reply_to', { name: 'N', from: 'a@b.com', reply_to: 'x' }, 'address'],
    ['sending_domain', { name: 'N', from: 'a@b.com', sending_domain: 'not a domain' }, 'address'],
    ['name', { from: 'a@b.com' }, 'required'],
    ['colour', { name: 'N', from: 'a@b.com', colour: 'red' }, 'unknown'],
  ])('are refused for a bad %s: %j', async (path, body, rule) => {
    const answer = await put('bad', body);
    expect(answer).toMatchObject({ status: 400, body: { type: BAD, errors: [{ path, rule }] } });
  });

  it('have ids without surprises', async () => {
    for (const id of ['a%20b', 'x'.repeat(51), pathSegment('a/b'), '%E6%97%A5']) {
      expect(await put(id)).toMatchObject({ status: 400, body: { errors: [{ path: 'newsletter_id' }] } });
      expect((await world.call('GET', `/v1/newsletters/${id}`, { key })).status).toBe(404);
    }
  });
});

describe('members', () => {
  it('are added, with their address in the form in which it is sent to', async () => {
    const answer = await upsert({
      member_id: 'm-1',
      email: ' Ann.Lee@Example.COM ',
      name: 'Ann',
      status: 'paid',
      labels: ['vip'],
      newsletters: ['weekly'],
    });
    expect(answer).toMatchObject({
      status: 200,
      body: { results: [{ index: 0, status: 200, member_id: 'm-1', created: true }] },
    });
    const { status, body } = await show('m-1');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      member_id: 'm-1',
      email: 'Ann.Lee@example.com',
      name: 'Ann',
      status: 'paid',
      labels: ['vip'],
      newsletters: ['weekly'],
      unsubscribed: {},
    });
    for (const hidden of ['tenant_id', 'email_hash', 'sealed_identity', 'suppressed'])
      expect(body).not.toHaveProperty(hidden);
    expect(world.said.join()).not.toMatch(/ann/i);
  });

  it('keep what an upsert does not give', async () => {
    await upsert({
      member_id: 'm-1',
      email: 'a@example.com',
      name: 'Ann',
      status: 'paid',
      labels: ['vip'],
      newsletters: ['weekly'],
    });
    const before = (await show('m-1')).body;
    expect((await upsert({ member_id: 'm-1', email: 'a@example.com' })).body.results).toMatchObject([
      { created: false },
    ]);
    expect((await show('m-1')).body).toEqual({ ...before, updated_at: expect.any(String) });
    await upsert({ member_id: 'm-1', email: 'a@example.com', name: null, labels: [], status: 'free' });
    const after = (await show('m-1')).body;
    expect(after).toMatchObject({ labels: [], status: 'free', newsletters: ['weekly'] });
    expect(after).not.toHaveProperty('name');
  });

  it('are taken one by one: a bad one is named and stops no other', async () => {
    const { status, body } = await upsert(
      { member_id: 'good', email: 'good@example.com' },
      { member_id: 'bad', email: 'bad at example.com', status: 'gold', labels: 'vip', colour: 1 },
      { member_id: 'unknown', email: 'u@example.com', newsletters: ['weekly', 'nightly'] },
      7,
      { email: 'no-id@example.com' },
      { member_id: 'good-2', email: 'good2@example.com', newsletters: ['weekly'] },
    );
    expect(status).toBe(200);
    expect(body.results.map((one: { status: number }) => one.status)).toEqual([200, 400, 400, 400, 400, 200]);
    const paths = body.results[1].problem.errors.map(
      ({ path, rule }: { path: string; rule: string }) => `${path} ${rule}`,
    );
    expect(paths.sort()).toEqual(['colour unknown', 'email address', 'labels array', 'status one_of']);
    expect(body.results[2].problem.errors).toMatchObject([{ path: 'newsletters.1', rule: 'existing_newsletter' }]);
    expect(JSON.stringify(body)).not.toContain('bad at example');
    expect((await show('good-2')).status).toBe(200);
    expect((await show('unknown')).status).toBe(404);
  });

  it('with the same id in one request are one member', async () => {
    const { body } = await upsert(
      { member_id: 'm', email: 'a@example.com', name: 'Ann' },
      { member_id: 'm', email: 'b@example.com', labels: ['x'] },
    );
    expect(body.results).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect((await show('m')).body).toMatchObject({ email: 'b@example.com', name: 'Ann', labels: ['x'] });
  });

  it('come up to 500 at once', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ member_id: `m-${i}`, email: `${i}@example.com` }));
    const { status, body } = await upsert(...many(500));
    expect(status).toBe(200);
    expect(body.results.every((one: { status: number }) => one.status === 200)).toBe(true);
    expect(await upsert(...many(501))).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'members', rule: 'max_length' }] },
    });
    expect((await upsert()).status).toBe(400);
  });

  it('that storage fails for are named, and can be sent again', async () => {
    const many = Array.from({ length: 110 }, (_, i) => ({ member_id: `m-${i}`, email: `${i}@example.com` }));
    world.faults.members = {
      upsert: (members) => (members.length === 10 ? Promise.reject(new Error('down')) : world.members.upsert(members)),
    };
    const answer = await upsert(...many);
    world.faults.members = { upsert: () => Promise.reject(new Error('down')) };
    const none = await upsert(...many);
    delete world.faults.members;
    const statuses: number[] = answer.body.results.map((one: { status: number }) => one.status);
    expect([statuses.filter((one) => one === 503).length, statuses.length]).toEqual([10, 110]);
    expect(answer.headers.get('retry-after')).toBe('2');
    expect(none.status).toBe(503);
  });

  it('are deleted, and seen by their tenant only', async () => {
    await upsert({ member_id: 'm', email: 'a@example.com' });
    const other = (await world.key('tenant-other')).key;
    expect((await world.call('GET', '/v1/members/m', { key: other })).status).toBe(404);
    expect((await world.call('DELETE', '/v1/members/m', { key: other })).status).toBe(404);
    expect(await world.call('DELETE', '/v1/members/m', { key })).toMatchObject({
      status: 200,
      body: { member_id: 'm' },
    });
    expect((await world.call('DELETE', '/v1/members/m', { key })).status).toBe(404);
    expect((await show('m')).status).toBe(404);
  });

  it('who unsubscribed stay so, until they are subscribed again by name', async () => {
    await upsert({ member_id: 'm', email: 'a@example.com', newsletters: ['weekly'] });
    const at = world.now().toISOString();
    const hash = (await world.members.read(tenant_id, 'm'))?.email_hash ?? '';
    await world.members.unsubscribe(tenant_id, hash, 'weekly', at);
    await world.members.suppress(tenant_id, hash, { reason: 'complained', at });
    await upsert({ member_id: 'm', email: 'A@example.com', newsletters: ['weekly'] });
    await world.call('DELETE', '/v1/members/m', { key });
    await upsert({ member_id: 'm', email: 'a@example.com' });
    expect((await show('m')).body).toMatchObject({
      unsubscribed: { weekly: at },
      suppressed: { reason: 'complained', at },
    });
    // The person takes the decision along to another address.
    await upsert({ member_id: 'm', email: 'new@example.com' });
    expect((await show('m')).body).toMatchObject({
      unsubscribed: { weekly: at },
      suppressed: { reason: 'complained' },
    });

    const again = (body: object) => world.call('POST', '/v1/members/m/resubscribe', { key, body });
    expect(await again({ newsletter_id: 'nightly' })).toMatchObject({
      status: 400,
      body: { errors: [{ rule: 'existing_newsletter' }] },
    });
    const { status, body } = await again({ newsletter_id: 'weekly' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ newsletters: ['weekly'], unsubscribed: {}, suppressed: { reason: 'complained' } });
    expect(
      (await world.call('POST', '/v1/members/none/resubscribe', { key, body: { newsletter_id: 'weekly' } })).status,
    ).toBe(404);
  });

  it('need the scopes of newsletters', async () => {
    const reader = (await world.key(tenant_id, ['newsletters:read'])).key;
    const sender = (await world.key(tenant_id, ['send', 'read', 'operate'])).key;
    const body = { members: [{ member_id: 'm', email: 'a@example.com' }] };
    expect((await world.call('POST', '/v1/members', { key: reader, body })).status).toBe(403);
    expect((await world.call('GET', '/v1/newsletters', { key: reader })).status).toBe(200);
    expect((await world.call('GET', '/v1/newsletters', { key: sender })).status).toBe(403);
    expect((await world.call('DELETE', '/v1/members/m', { key: reader })).status).toBe(403);
    // Who may read one after the other would have the list.
    await world.call('POST', '/v1/members', {
      key,
      body: { members: [{ member_id: 'm', email: 'a@example.com', name: 'A' }] },
    });
    const [open, closed] = await Promise.all(
      [key, reader].map(async (by) => (await world.call('GET', '/v1/members/m', { key: by })).body),
    );
    expect(open).toMatchObject({ member_id: 'm', email: 'a@example.com', name: 'A' });
    expect(closed).toEqual(
      Object.fromEntries(Object.entries(open).filter(([name]) => !['email', 'name'].includes(name))),
    );
  });

  it('take an idempotency key, and refuse a malformed one', async () => {
    const call = (idempotencyKey: string) =>
      world.call('POST', '/v1/members', {
        key,
        body: { members: [{ member_id: 'm', email: 'a@example.com' }] },
        headers: { 'idempotency-key': idempotencyKey },
      });
    expect((await call('one')).status).toBe(200);
    expect((await call('one')).status).toBe(200);
    expect((await call('with space')).status).toBe(400);
  });
});

describe('members that come from elsewhere, and go there', () => {
  const JOINED = '2024-05-01T10:20:30.000Z';
  const LEFT = '2025-01-02T03:04:05.000Z';
  const page = (query: Record<string, string>, by = key) => {
    const search = new URLSearchParams(query);
    return world.call('GET', `/v1/members?${search}`, { key: by });
  };
  async function exported(limit: number, lengths: number[] = []): Promise<readonly Record<string, unknown>[]> {
    const found: Record<string, unknown>[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body } = await page({ limit: String(limit), ...(cursor && { cursor }) });
      expect(status).toBe(200);
      found.push(...body.members);
      lengths.push(body.members.length);
      cursor = body.next_cursor;
    }
    return found;
  }

  it('keep when they joined, what they unsubscribed from, and why they are suppressed', async () => {
    const given = { member_id: 'a', email: 'ann@example.com', newsletters: ['weekly'] };
    const facts = { unsubscribed: { weekly: LEFT }, suppressed: { reason: 'complained', at: LEFT } };
    // With a zone of its own: it is stored in UTC.
    expect((await upsert({ ...given, ...facts, created_at: '2024-05-01T12:20:30+02:00' })).body.results).toMatchObject([
      { status: 200, created: true },
    ]);
    expect((await show('a')).body).toMatchObject({ created_at: JOINED, ...facts });
    const later = '2026-01-01T00:00:00.000Z';
    const bounced = { reason: 'bounced', at: later };
    await upsert({ ...given, unsubscribed: { weekly: later }, suppressed: bounced, created_at: later });
    await upsert({ ...given, unsubscribed: {} });
    expect((await show('a')).body).toMatchObject({ created_at: JOINED, ...facts });
  });

  it('are refused one by one where they name no newsletter of the tenant, or no time', async () => {
    const { results } = (
      await upsert(
        { member_id: 'a', email: 'a@example.com', unsubscribed: { other: LEFT } },
        { member_id: 'b', email: 'b@example.com', unsubscribed: { weekly: 'yesterday' } },
        { member_id: 'c', email: 'c@example.com', suppressed: { reason: 'bored', at: LEFT } },
        { member_id: 'd', email: 'd@example.com', created_at: '2026-02-30T00:00:00Z' },
        { member_id: 'e', email: 'e@example.com' },
      )
    ).body;
    expect(results.map(({ status }: { status: number }) => status)).toEqual([400, 400, 400, 400, 200]);
    expect(JSON.stringify(results[0])).toContain('unsubscribed.other');
  });

  it('lose no unsubscription of a member who is in a request twice', async () => {
    await put('daily');
    const member = { member_id: 'a', email: 'a@example.com' };
    await upsert({ ...member, unsubscribed: { weekly: LEFT } }, { ...member, unsubscribed: { daily: LEFT } });
    expect((await show('a')).body.unsubscribed).toEqual({ weekly: LEFT, daily: LEFT });
  });

  it('is refused where a name would get lost, as of a newsletter that is called like what every object has', async () => {
    await put('constructor');
    const { body } = await upsert(
      { member_id: 'a', email: 'a@example.com', unsubscribed: { constructor: LEFT } },
      { member_id: 'b', email: 'b@example.com', newsletters: ['constructor'] },
    );
    expect(body.results).toMatchObject([
      { status: 400, problem: { errors: [{ path: 'unsubscribed.constructor', rule: 'unknown' }] } },
      { status: 200 },
    ]);
  });

  it('keep what each address of a member who is in a request twice decided', async () => {
    const suppressed = { reason: 'complained', at: LEFT };
    await upsert(
      { member_id: 'a', email: 'a@example.com', suppressed: { reason: 'bounced', at: LEFT } },
      { member_id: 'a', email: 'b@example.com' },
      { member_id: 'c', email: 'c@example.com', suppressed, unsubscribed: { weekly: LEFT } },
      { member_id: 'c', email: 'd@example.com' },
    );
    await upsert({ member_id: 'a2', email: 'a@example.com' }, { member_id: 'c2', email: 'c@example.com' });
    expect((await show('a2')).body).toMatchObject({ suppressed: { reason: 'bounced', at: LEFT } });
    expect((await show('c2')).body).toMatchObject({ suppressed, unsubscribed: { weekly: LEFT } });
    // As if they had come one after the other: the person keeps what it decided, and a bounce is the address's alone.
    expect((await show('a')).body).toMatchObject({ email: 'b@example.com' });
    expect((await show('a')).body.suppressed ?? null).toBeNull();
    expect((await show('c')).body).toMatchObject({
      email: 'd@example.com',
      suppressed,
      unsubscribed: { weekly: LEFT },
    });
  });

  it('are read page by page, each once, and stored by another tenant they are the same', async () => {
    const members = Array.from({ length: 23 }, (_, i) => ({
      member_id: `m-${String(i).padStart(2, '0')}`,
      // Two with one address.
      email: `reader${i === 22 ? 21 : i}@example.com`,
      labels: ['vip'],
      newsletters: ['weekly'],
      created_at: JOINED,
      ...(i % 5 === 0 && { name: `Reader ${i}`, unsubscribed: { weekly: LEFT } }),
      ...(i === 7 && { suppressed: { reason: 'bounced', at: LEFT } }),
    }));
    await upsert(...members);
    const byId = (found: readonly Record<string, unknown>[]) =>
      found.toSorted((a, b) => String(a['member_id']).localeCompare(String(b['member_id'])));
    const first = byId(await exported(4));
    expect(first.map((member) => member['member_id'])).toEqual(members.map(({ member_id }) => member_id));
    expect(first[0]).toMatchObject(members[0] ?? {});
    expect(first[7]).toMatchObject(members[7] ?? {});
    key = (await world.key(`${tenant_id}-next`)).key;
    await put('weekly');
    await upsert(...first.map(({ member_uuid: _, updated_at: __, ...member }) => member));
    const same = (all: readonly Record<string, unknown>[]) =>
      all.map(({ member_uuid: _, updated_at: __, ...member }) => member);
    expect(same(byId(await exported(200)))).toEqual(same(first));
  });

  it('are read, and given again, also where nobody can read the address of one any more', async () => {
    await upsert({ member_id: 'a', email: 'a@example.com', name: 'Ann' }, { member_id: 'b', email: 'b@example.com' });
    const { members } = world;
    const [a, b] = await Promise.all(['a', 'b'].map((id) => members.read(tenant_id, id)));
    if (a === undefined || b === undefined) throw new Error('no members');
    await members.upsert([{ ...a, sealed_identity: b.sealed_identity }]);
    expect((await exported(200)).map(({ member_id, email }) => [member_id, email]).sort()).toEqual([
      ['a', undefined],
      ['b', 'b@example.com'],
    ]);
    await upsert({ member_id: 'a', email: 'a@example.com' }, { member_id: 'b', email: 'b@example.com' });
    expect((await exported(200)).map(({ email }) => email).sort()).toEqual(['a@example.com', 'b@example.com']);
  });

  it('come in pages of bounded length, however many share an address', async () => {
    const ids = Array.from({ length: 11 }, (_, i) => `m-${String(i).padStart(2, '0')}`);
    await upsert(...ids.map((member_id) => ({ member_id, email: 'nobody@example.com' })));
    await upsert({ member_id: 'other', email: 'other@example.com' });
    const lengths: number[] = [];
    const found = (await exported(4, lengths)).map((member) => String(member['member_id']));
    expect(found.sort()).toEqual([...ids, 'other']);
    expect(Math.max(...lengths)).toBeLessThan(8);
  });

  it('are not for a key that may only read, nor for another tenant', async () => {
    await upsert({ member_id: 'a', email: 'a@example.com' });
    const reader = (await world.key(tenant_id, ['newsletters:read'])).key;
    expect((await page({}, reader)).status).toBe(403);
    expect((await page({}, (await world.key('another')).key)).body).toEqual({ members: [], next_cursor: null });
    expect((await page({ cursor: '***' })).status).toBe(400);
  });
});
