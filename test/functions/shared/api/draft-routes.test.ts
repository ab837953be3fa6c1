import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDryRunStore } from '../../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createNewsletterStore } from '../../../../src/adapters/dynamodb/newsletter/newsletter-store.ts';
import { continueDryRun } from '../../../../src/core/newsletter/lifecycle/dry-run.ts';
import { lockEmail } from '../../../../src/core/newsletter/lifecycle/lock.ts';
import type { CandidatePage } from '../../../../src/core/newsletter/preparation/ports.ts';
import { type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';
import { candidate } from '../../../support/newsletter/job-world.ts';

let world: ApiWorld;
let key: string;
let tenant_id: string;
let serial = 0;

beforeAll(async () => {
  world = await startApiWorld();
}, 60_000);
afterAll(() => world?.stop());
beforeEach(async () => {
  ({ tenant_id, key } = await world.publisher());
});

const POST = { newsletter_id: 'weekly', subject: 'Hello', body: 'Dear {name}', format: 'markdown' };
const publish = (body: unknown, idempotency = `key-${++serial}`) =>
  world.call('POST', '/v1/emails', { key, body, headers: { 'idempotency-key': idempotency } });
const inHours = (hours: number) => new Date(world.now().getTime() + hours * 3_600_000).toISOString();
const emailsListed = async () => (await world.call('GET', '/v1/emails', { key })).body.emails;

async function giveMembers(): Promise<void> {
  const subscribed = { newsletters: ['weekly'] };
  const { status } = await world.call('POST', '/v1/members', {
    key,
    body: {
      members: [
        { member_id: 'a', email: 'ann@example.com', name: 'Ann', status: 'paid', ...subscribed },
        { member_id: 'b', email: 'ben@example.com', status: 'free', ...subscribed },
        { member_id: 'c', email: 'cat@example.com', status: 'free', ...subscribed },
        { member_id: 'd', email: 'ANN@example.com', ...subscribed },
        { member_id: 'e', email: 'eve@example.com', newsletters: [] },
      ],
    },
  });
  expect(status).toBe(200);
}

describe('a newsletter that does not say who sends it', () => {
  const missing = /^The newsletter weekly has no postal_address, no contact: .*CAN-SPAM, 15 USC 7704/;
  const warned = [expect.stringMatching(missing)];
  const says = async (more: object) => {
    const body = { name: 'Weekly', from: 'Weekly <n@example.com>', sender_name: 'K & Co', ...more };
    return (await world.call('PUT', '/v1/newsletters/weekly', { key, body })).body;
  };

  it('is told so wherever it is set up, tried, published and replaced', async () => {
    await giveMembers();
    expect(await says({})).toMatchObject({ sender_name: 'K & Co', warnings: warned });
    const post = { ...POST, body: 'Dear all' };
    expect((await publish({ ...post, dry_run: true })).body).toMatchObject({ recipients: 3, warnings: warned });
    const { body } = await publish({ ...post, scheduled_at: inHours(1) });
    expect(body).toMatchObject({ status: 'pending', warnings: warned });
    const replaced = await world.call('PUT', `/v1/emails/${body.email_id}`, { key, body: post });
    expect(replaced.body).toMatchObject({ status: 'pending', warnings: warned });
    expect(await says({ postal_address: 'Tokyo', contact: '+81 3 1234' })).not.toHaveProperty('warnings');
    expect((await publish(post)).body).not.toHaveProperty('warnings');
  });

  it('publishes nothing where the stage asks for it', async () => {
    await says({});
    world.faults.require_address = true;
    try {
      for (const dry_run of [false, true]) {
        expect(await publish({ ...POST, dry_run })).toMatchObject({
          status: 400,
          body: {
            errors: [{ path: 'newsletter_id', rule: 'identification', message: expect.stringMatching(missing) }],
          },
        });
      }
      await says({ sender_name: ' ', postal_address: '-', contact: '\u3000' });
      expect((await publish(POST)).status).toBe(400);
      expect(await emailsListed()).toEqual([]);
      await says({ postal_address: 'Tokyo', contact: '+81 3 1234' });
      expect((await publish(POST)).status).toBe(202);
    } finally {
      world.faults.require_address = false;
    }
  });

  it('has every field of its own checked by its rule', async () => {
    const bad = { contact: 'a\nb', language: 'fr', accent_color: 'red', logo_url: 'http://a.example/x.png' };
    expect(await says(bad)).toMatchObject({ errors: Object.keys(bad).map((path) => ({ path })) });
    expect(await publish({ ...POST, preheader: 'Hi {nmae}' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'preheader', rule: 'merge-field' }] },
    });
    expect(await publish({ ...POST, preheader: 'Hi {first_name}', dry_run: true })).toMatchObject({ status: 200 });
  });
});

describe('a dry run', () => {
  it('says who would get what, who would not and why, and keeps and sends nothing', async () => {
    await giveMembers();
    const before = await world.count();
    const body = { ...POST, format: 'html', body: '<p>{name}</p><div data-gh-segment="status:paid">more</div>' };
    expect(await publish({ ...body, dry_run: true })).toMatchObject({
      status: 200,
      body: {
        dry_run: true,
        status: 'done',
        recipients: 3,
        excluded: 1,
        excluded_by_reason: { repeated_address: 1 },
        renderings: [
          { segments: [], recipients: 2 },
          { segments: ['status:paid'], recipients: 1 },
        ],
        missing_fields: { name: 2 },
        error: expect.stringMatching(/merge field \{name\} is missing for 2 of 3 members/),
      },
    });
    expect((await publish({ ...body, segment: 'status:paid', dry_run: true })).body).toMatchObject({
      recipients: 1,
      missing_fields: {},
    });
    expect(await world.count()).toBe(before);
    expect(world.emails.queued).toEqual([]);
    expect(world.emails.calls).toEqual([]);
  });

  it('warns of a post of which Gmail would hide the end from those who get it', async () => {
    await giveMembers();
    const part = (segment: string) => `<div data-gh-segment="${segment}">${'<p>あいう</p>'.repeat(4_000)}</div>`;
    const warnings = async (body: string) => {
      const run = await publish({ ...POST, format: 'html', body, dry_run: true });
      expect(run.body.status).toBe('done');
      return run.body.warnings;
    };
    expect(await warnings(part('status:paid') + part('status:free'))).toBeUndefined();
    expect(await warnings(`${part('status:paid')}${part('status:-free')}`)).toEqual([
      expect.stringMatching(
        /^The HTML is about 128 KB as it is sent, 3 KB of it the template's and the footer's\. Gmail shows 102 KB/,
      ),
    ]);
  });

  it('refuses what a publication would refuse, and leaves the key to the publication', async () => {
    await giveMembers();
    expect((await publish({ ...POST, body: '{nmae}', dry_run: true })).status).toBe(400);
    expect((await publish({ ...POST, dry_run: true }, 'same')).status).toBe(200);
    expect((await publish(POST, 'same')).status).toBe(202);
    expect(await emailsListed()).toHaveLength(1);
  });

  /** Three pages of members, more than a request waits for. */
  const members = 20_001;
  async function withMany(
    run: (deps: ApiWorld['emails']['deps']) => Promise<void>,
    candidatesOf: (page: number) => CandidatePage['candidates'] = (i) => [candidate(i)],
  ): Promise<void> {
    const { deps } = world.emails;
    const all: CandidatePage[] = Array.from({ length: 3 }, (_, i) => ({
      position: String(i),
      members,
      candidates: candidatesOf(i),
    }));
    const original = deps.candidates;
    const candidates = {
      async *pages(_: unknown, after = '') {
        yield* all.filter(({ position }) => position > after);
      },
    };
    Object.assign(deps, { candidates });
    await run(deps).finally(() => Object.assign(deps, { candidates: original }));
  }

  it('is one for all that ask at the same moment under one key, and another email is told so', async () => {
    await withMany(async (deps) => {
      const subjects = ['One', 'One', 'One', 'Two', 'Two', 'Two'];
      const original = deps.dry_runs;
      const all = Promise.withResolvers<void>();
      let reads = 0;
      // Each has found nothing before any of them writes.
      const read: typeof original.read = async (id) => {
        const found = await original.read(id);
        if (++reads === subjects.length) all.resolve();
        await all.promise;
        return found;
      };
      Object.assign(deps, { dry_runs: { ...original, read } });
      const answers = await Promise.all(
        subjects.map((subject) => publish({ ...POST, body: 'Hello', subject, dry_run: true }, 'together')),
      ).finally(() => Object.assign(deps, { dry_runs: original }));
      const taken = answers.filter(({ status }) => status === 202);
      expect(taken).toHaveLength(3);
      expect(new Set(taken.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(3);
      expect(world.emails.queued).toHaveLength(1);
    });
  });

  it('whose message was not queued is queued by the next request under its key, and by no more', async () => {
    await withMany(async (deps) => {
      const ask = () => publish({ ...POST, body: 'Hello', dry_run: true }, 'again');
      const message = (email_id: string) => ({ version: 1, kind: 'dry-run', email_id });
      world.faults.queues = { prepare: () => Promise.reject(new Error('away')) };
      expect((await ask()).status).toBeGreaterThanOrEqual(500);
      delete world.faults.queues;
      const { status, body } = await ask();
      expect([status, body.status]).toEqual([202, 'running']);
      await ask();
      expect(world.emails.queued).toEqual([message(body.email_id)]);
      // Its function died, or its message was lost.
      world.pass(21 * 60_000);
      await Promise.all([ask(), ask()]);
      expect(world.emails.queued).toEqual([message(body.email_id), message(body.email_id)]);
      await continueDryRun(body.email_id, { ...deps, remaining_ms: () => 0 });
      await ask();
      expect(world.emails.queued).toHaveLength(3);
    });
  });

  it('goes on after its message could not be queued, when the earlier one comes again', async () => {
    await withMany(async (deps) => {
      const { body } = await publish({ ...POST, body: 'Hello', dry_run: true });
      const queues = { prepare: () => Promise.reject(new Error('away')) };
      const first = continueDryRun(body.email_id, { ...deps, queues, remaining_ms: () => 0 });
      await expect(first).rejects.toThrow('away');
      const run = await continueDryRun(body.email_id, { ...deps, remaining_ms: () => 900_000 });
      expect(run?.result?.recipients).toBe(3);
    });
  });

  it('goes on where the request took back its mark of a message that was queued after all', async () => {
    await withMany(async (deps) => {
      const { body } = await publish({ ...POST, body: 'Hello', dry_run: true });
      const { read, put } = deps.dry_runs;
      const during: typeof put = async (next, was) => {
        const { queued_at: _, ...unmarked } = (await read(body.email_id)) ?? next;
        await put(unmarked, was);
        return put(next, was);
      };
      world.emails.queued.length = 0;
      await continueDryRun(body.email_id, { ...deps, dry_runs: { read, put: during }, remaining_ms: () => 0 });
      expect(world.emails.queued).toHaveLength(1);
    });
  });

  it('fits into what is stored, however many combinations of parts the members see', async () => {
    const bits = Array.from({ length: 17 }, (_, i) => i);
    const labelled = (n: number) => {
      const { member, ...rest } = candidate(n);
      return { ...rest, member: { ...member, labels: bits.flatMap((i) => ((n >> i) & 1 ? [`label-${i}`] : [])) } };
    };
    const parts = bits.map((i) => `<div data-gh-segment="label:label-${i}">more</div>`).join('');
    const body = { ...POST, format: 'html', body: parts, dry_run: true };
    await withMany(
      async (deps) => {
        const { status, body: started } = await publish(body, 'many-parts');
        expect(status).toBe(202);
        const run = await continueDryRun(started.email_id, { ...deps, remaining_ms: () => 900_000 });
        const { recipients, renderings = [], other_recipients = 0 } = run?.result ?? {};
        expect(recipients).toBe(3 * 15_000);
        expect(renderings.length).toBeGreaterThan(50);
        expect(JSON.stringify(run?.result).length).toBeLessThan(100_000);
        expect(renderings.reduce((sum, one) => sum + one.recipients, other_recipients)).toBe(recipients);
      },
      (page) => Array.from({ length: 15_000 }, (_, i) => labelled(page * 15_000 + i)),
    );
  });

  it('goes on once, whatever messages come twice', async () => {
    await withMany(async (deps) => {
      const { body } = await publish({ ...POST, body: 'Hello', dry_run: true });
      const twice = () => continueDryRun(body.email_id, { ...deps, remaining_ms: () => 0 });
      await Promise.all([twice(), twice()]);
      expect(world.emails.queued).toHaveLength(2);
    });
  });

  it('of more than 20,000 members goes on in the background, and its result is kept for a day', async () => {
    await withMany(async (deps) => {
      const { status, body } = await publish({ ...POST, body: 'Hello', dry_run: true }, 'large');
      expect({ status, body }).toMatchObject({ status: 202, body: { status: 'running', members } });
      const message = { version: 1, kind: 'dry-run', email_id: body.email_id };
      expect(world.emails.queued).toEqual([message]);
      expect((await publish({ ...POST, body: 'Hello', dry_run: true }, 'large')).body).toEqual(body);
      expect(await publish({ ...POST, body: 'Other', dry_run: true }, 'large')).toMatchObject({
        status: 409,
        body: { detail: expect.stringContaining('in progress under this Idempotency-Key') },
      });
      expect(world.emails.queued).toEqual([message]);
      const shown = (by = key) => world.call('GET', `/v1/emails/${body.email_id}/dry-run`, { key: by });
      expect((await shown()).body).toEqual(body);
      expect((await shown((await world.key('another')).key)).status).toBe(404);
      expect(await emailsListed()).toEqual([]);

      await continueDryRun(body.email_id, { ...deps, remaining_ms: () => 0 });
      expect((await shown()).body).toMatchObject({ status: 'running', members: 2 * members });
      expect(world.emails.queued).toEqual([message, message]);
      await continueDryRun(body.email_id, { ...deps, remaining_ms: () => 900_000 });
      expect((await shown()).body).toMatchObject({ status: 'done', recipients: 3, excluded: 0 });
      const kept = (days: number) =>
        createDryRunStore(world.client, world.tables.emails, () => new Date(world.now().getTime() + days * 86_400_000));
      expect(await kept(0.99).read(body.email_id)).toBeDefined();
      expect(await kept(1.01).read(body.email_id)).toBeUndefined();
    });
  });
});

it('a mail, published or not, is shown as a member would get it, or with sample values, and nothing of that is kept', async () => {
  const member = { member_id: 'm-1', email: 'mia@example.com', name: 'Mia', newsletters: ['weekly'] };
  await world.call('POST', '/v1/members', { key, body: { members: [member] } });
  const preview = (more: object) =>
    world.call('POST', '/v1/emails/preview', { key, body: { ...POST, subject: 'Hi {name}', ...more } });
  const { status, body } = await preview({ member_id: 'm-1' });
  expect([status, body.member_id, body.subject, body.headers.To]).toEqual([200, 'm-1', 'Hi Mia', 'mia@example.com']);
  expect(body.html).toContain('<!doctype html>');
  expect((await preview({})).body.subject).toBe('Hi Sample Reader');
  expect((await preview({ member_id: 'nobody' })).status).toBe(404);
  expect(await emailsListed()).toEqual([]);

  const { email_id } = (await publish({ ...POST, subject: 'Hi {name}', scheduled_at: inHours(1) })).body;
  const stored = (more: object, by = key) =>
    world.call('POST', `/v1/emails/${email_id}/preview`, { key: by, body: more });
  const shown = await stored({ member_id: 'm-1' });
  expect([shown.status, shown.body.subject, shown.body.html]).toEqual([200, 'Hi Mia', body.html]);
  expect((await stored({})).body).toMatchObject({ subject: 'Hi Sample Reader', notes: expect.any(Array) });
  expect((await stored({ member_id: 'nobody' })).status).toBe(404);
  expect((await stored({ member_id: 'm-1' }, (await world.publisher()).key)).status).toBe(404);
});

it('a test of what is not published goes to the addresses with sample values, and nothing of it is kept', async () => {
  const to = ['ann@example.com', 'refused@example.com'];
  const { status, body } = await world.call('POST', '/v1/emails/test', { key, body: { ...POST, to } });
  expect(status).toBe(200);
  expect(body.results).toMatchObject([{ accepted: true }, { accepted: false }]);
  expect(world.emails.calls[0]?.rendering.subject).toEqual(['[Test] ', 'Hello']);
  expect(await emailsListed()).toEqual([]);
  const wrong = await world.call('POST', '/v1/emails/test', { key, body: { ...POST, body: '{nmae}', to } });
  expect(wrong.status).toBe(400);
});

describe('test mails', () => {
  const test = (to: readonly string[], path = '/v1/emails/test', post: object = POST) =>
    world.call('POST', path, { key, body: { ...post, to } });
  const mails = (count: number) => Array.from({ length: count }, (_, i) => `reader${i}@example.com`);

  it('are 100 per hour for a tenant, by whatever route, and other tenants have theirs', async () => {
    const { email_id } = (await publish({ ...POST, scheduled_at: inHours(1) })).body;
    // However slow the machine is: what real time limits has none.
    const late = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort());
    const answers = await world
      .atOnce(() =>
        Promise.all(
          Array.from({ length: 12 }, (_, i) =>
            i % 2 === 0 ? test(mails(10)) : test(mails(10), `/v1/emails/${email_id}/test`, {}),
          ),
        ),
      )
      .finally(() => late.mockRestore());
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.detail).toBe('A tenant may send 100 test mails per hour.');
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(world.emails.calls).toHaveLength(10);
    key = (await world.key(`${tenant_id}-other`)).key;
    await world.call('PUT', '/v1/newsletters/weekly', { key, body: { name: 'Weekly', from: 'n@example.com' } });
    expect((await test(mails(10))).status).toBe(200);
  });

  it('take from the rate of newsletters, and are not sent where it is used up', async () => {
    world.emails.allowed.mails = 2;
    expect((await test(mails(2))).status).toBe(200);
    expect(await test(mails(3))).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('other mail') },
    });
    expect(world.emails.calls).toHaveLength(1);
  });

  it('tell the budget when SES refuses them for its rate', async () => {
    const { deps } = world.emails;
    const { provider } = deps;
    const refusal = { class: 'throttled', reason: 'account_throttled' } as const;
    Object.assign(deps, { provider: { send: async () => ({ kind: 'refused', refusal }) } });
    await test(mails(1)).finally(() => Object.assign(deps, { provider }));
    expect(world.emails.limited).toEqual(['throttled']);
  });

  it('go out as no sender that was taken from the tenant since the email was published', async () => {
    const { newsletters } = world.emails.deps;
    const store = createNewsletterStore(world.client, world.tables.newsletters);
    await store.changeSenders(tenant_id, 'allow', 'n@example.com');
    const { email_id } = (await publish({ ...POST, scheduled_at: inHours(1) })).body;
    const stored = () => test(mails(1), `/v1/emails/${email_id}/test`, {});
    expect((await stored()).status).toBe(200);
    const { senders } = newsletters;
    Object.assign(newsletters, { senders: async () => ['other@example.com'] });
    const answer = await stored().finally(() => Object.assign(newsletters, { senders }));
    expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('ops senders allow') } });
    expect(world.emails.calls).toHaveLength(1);
    // Nobody else could write as it.
    await store.changeSenders(tenant_id, 'revoke', 'n@example.com');
  });
});

describe('a sender that a tenant has', () => {
  const store = () => createNewsletterStore(world.client, world.tables.newsletters);
  const put = (tenant: { readonly key: string }, body: object) =>
    world.call('PUT', '/v1/newsletters/weekly', { key: tenant.key, body: { name: 'Weekly', ...body } });
  const errors = (...paths: string[]) => paths.map((path) => ({ path, rule: 'allowed_sender' }));

  it.each(['*@owned.example', 'news@owned.example'])('is no other’s, by any field or spelling: %s', async (sender) => {
    const [owner, other] = [await world.publisher(), await world.publisher()];
    await store().changeSenders(owner.tenant_id, 'allow', sender);
    const from = 'Weekly <News@Owned.Example>';
    expect((await put(owner, { from })).status).toBe(200);
    expect(await put(other, { from })).toMatchObject({ status: 400, body: { errors: errors('from') } });
    const domains = { sending_domain: 'owned.example', fallback_domain: 'OWNED.example' };
    expect(await put(other, { from: 'news@example.com', ...domains })).toMatchObject({
      status: 400,
      body: { errors: errors('sending_domain', 'fallback_domain') },
    });
    await store().changeSenders(other.tenant_id, 'allow', '*@owned.example');
    expect((await put(other, { from })).status).toBe(200);
    for (const { tenant_id } of [owner, other]) {
      for (const one of [sender, '*@owned.example']) await store().changeSenders(tenant_id, 'revoke', one);
    }
  });

  it('is no other’s any more, from when it is allowed: what was set up before is not published or tested', async () => {
    const [owner, other] = [await world.publisher(), await world.publisher()];
    expect((await put(other, { from: 'news@late.example' })).status).toBe(200);
    await store().changeSenders(owner.tenant_id, 'allow', '*@late.example');
    const send = (path: string, body: object) =>
      world.call('POST', path, { key: other.key, headers: { 'idempotency-key': 'k' }, body: { ...POST, ...body } });
    expect(await send('/v1/emails', {})).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'newsletter_id', rule: 'allowed_sender' }] },
    });
    expect((await send('/v1/emails/test', { to: ['me@example.com'] })).status).toBe(400);
  });

  it('is the only one in a closed stage: without it nothing is set up, published, replaced or tested, with it all is', async () => {
    const { tenant_id: other, key: by } = await world.publisher();
    const from = 'news@free.example';
    const asked = (method: string, path: string, body: object) => world.call(method, path, { key: by, body });
    const tested = (path: string, more: object = {}) => asked('POST', path, { ...more, to: ['me@example.com'] });
    const publish = (more: object) =>
      world.call('POST', '/v1/emails', {
        key: by,
        headers: { 'idempotency-key': `closed-${++serial}` },
        body: { ...POST, ...more },
      });
    expect((await put({ key: by }, { from })).status).toBe(200);
    const { email_id } = (await publish({ scheduled_at: inHours(1) })).body;
    const all = async () => [
      (await put({ key: by }, { from })).status,
      (await publish({ dry_run: true })).status,
      (await publish({})).status,
      (await asked('PUT', `/v1/emails/${email_id}`, { ...POST, scheduled_at: inHours(2) })).status,
      (await tested('/v1/emails/test', POST)).status,
      (await tested(`/v1/emails/${email_id}/test`)).status,
    ];
    const stores = [world.newsletters, world.emails.deps.newsletters];
    const close = (own_senders_only: boolean) => stores.map((one) => Object.assign(one, { own_senders_only }));
    try {
      close(true);
      expect(await all()).toEqual([400, 400, 400, 400, 400, 409]);
      await store().changeSenders(other, 'allow', from);
      expect(await all()).toEqual([200, 200, 202, 202, 200, 200]);
    } finally {
      close(false);
      await store().changeSenders(other, 'revoke', from);
    }
  });
});

it('a test to an address that is suppressed is not mailed, and says so in its place', async () => {
  await giveMembers();
  const hash = (await world.members.find(tenant_id, ['a'])).members[0]?.email_hash ?? '';
  await world.members.suppress(tenant_id, hash, { reason: 'complained', at: world.now().toISOString() });
  const test = (to: readonly string[]) => world.call('POST', '/v1/emails/test', { key, body: { ...POST, to } });
  const { body } = await test(['ANN@example.com', 'ben@example.com', 'refused@example.com']);
  expect(body.results).toMatchObject([
    { index: 0, accepted: false, reason: 'suppressed' },
    { index: 1, accepted: true, message_id: 'message-ben@example.com' },
    { index: 2, accepted: false, reason: 'message_rejected' },
  ]);
  expect(world.emails.calls.map(({ entries }) => entries.map(({ to }) => to))).toEqual([
    ['ben@example.com', 'refused@example.com'],
  ]);
  expect((await test(['ann@example.com'])).body.results).toMatchObject([{ accepted: false, reason: 'suppressed' }]);
  expect(world.emails.calls).toHaveLength(1);
});

describe('an email that has not started', () => {
  const replace = (email_id: string, body: unknown, by = key) =>
    world.call('PUT', `/v1/emails/${email_id}`, { key: by, body });

  async function scheduled(): Promise<string> {
    return (await publish({ ...POST, segment: 'status:paid', scheduled_at: inHours(1) })).body.email_id;
  }

  it('is replaced as a whole: content, segment, time and schedule', async () => {
    const email_id = await scheduled();
    const test = () => world.call('POST', `/v1/emails/${email_id}/test`, { key, body: { to: ['ann@example.com'] } });
    await test();
    const scheduled_at = inHours(2);
    const next = { ...POST, subject: 'Other', body: 'Hello', scheduled_at };
    expect(await replace(email_id, next)).toMatchObject({ status: 202, body: { email_id, status: 'pending' } });
    const { body } = await world.call('GET', `/v1/emails/${email_id}`, { key });
    expect(body).toMatchObject({ scheduled_at, email_count: null });
    expect(body).not.toHaveProperty('segment');
    expect(world.emails.scheduled.get(email_id)).toBe(scheduled_at);
    await test();
    expect(world.emails.calls.at(-1)?.rendering.subject).toEqual(['[Test] ', 'Other']);
    expect(await emailsListed()).toHaveLength(1);
  });

  it('starts at once without a time, and the new one is what goes out', async () => {
    const email_id = await scheduled();
    world.emails.queued.length = 0;
    expect((await replace(email_id, { ...POST, subject: 'Other' })).status).toBe(202);
    expect(world.emails.queued).toContainEqual({ version: 1, kind: 'start', email_id });
    expect((await world.emails.deps.emails.content(email_id))?.subject).toBe('Other');
  });

  it('is not replaced once it starts, and of two that replace it at once each is whole', async () => {
    const email_id = await scheduled();
    const { deps } = world.emails;
    const times = [inHours(3), inHours(4)];
    const bodies = times.map((scheduled_at) => ({ ...POST, subject: scheduled_at, scheduled_at }));
    await Promise.all(bodies.map((body) => replace(email_id, body)));
    const row = await deps.emails.read(email_id);
    const content = await deps.emails.content(email_id);
    expect(times).toContain(row?.scheduled_at);
    expect(row?.scheduled_at).toBe(content?.subject);
    const started = row && (await lockEmail(row, 'claim', deps));
    expect(started?.status).toBe('submitting');
    expect(await replace(email_id, { ...POST, scheduled_at: inHours(1) })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('has started') },
    });
  });

  it('is not replaced by another tenant, nor by what could not be published', async () => {
    const email_id = await scheduled();
    expect((await replace(email_id, POST, (await world.key('another')).key)).status).toBe(404);
    expect((await replace(email_id, { ...POST, body: '{nmae}' })).status).toBe(400);
    expect((await replace(email_id, { ...POST, scheduled_at: inHours(-1) })).status).toBe(400);
  });
});
