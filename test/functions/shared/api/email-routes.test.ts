import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defined } from '../../../../src/core/model/collections.ts';
import { countStates } from '../../../../src/core/newsletter/accounting/counts.ts';
import { EXCLUDED_BATCH } from '../../../../src/core/newsletter/model/batch.ts';
import { withBits } from '../../../../src/core/newsletter/model/batch-events.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import { type Answer, type ApiWorld, startApiWorld } from '../../../support/api/api-world.ts';
import { batchRow, recipient } from '../../../support/newsletter/job-rows.ts';

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

const POST = { newsletter_id: 'weekly', subject: 'Hello', body: 'Dear {name, "reader"}', format: 'markdown' };
const publish = (body: unknown = POST, idempotency = `key-${++serial}`): Promise<Answer> =>
  world.call('POST', '/v1/emails', { key, body, headers: { 'idempotency-key': idempotency } });
const get = (path: string, by = key) => world.call('GET', `/v1/emails/${path}`, { key: by });
const post = (path: string, body?: unknown) =>
  world.call('POST', `/v1/emails/${path}`, { key, ...(body !== undefined && { body }) });
const inAnHour = () => new Date(world.now().getTime() + 3_600_000).toISOString();

async function published(body: object = POST): Promise<string> {
  const { body: answer } = await publish(body);
  return answer.email_id;
}

/** Changes the row as the job does. */
async function change(email_id: string, given: { [K in keyof Email]?: Email[K] | undefined }): Promise<void> {
  const { emails } = world.emails.deps;
  const email = await emails.read(email_id);
  if (email === undefined) throw new Error('no email');
  const remove = Object.keys(given).filter((name) => given[name as keyof Email] === undefined) as (keyof Email)[];
  await emails.change(email, { set: defined(given) as Partial<Email>, remove });
}

/** A prepared email: one batch with the states, and two excluded recipients. */
async function prepared(
  email_id: string,
  states: string,
  reasons: Record<string, string> = {},
  more = {},
): Promise<void> {
  const { batches, chunks } = world.emails.deps as never as {
    batches: { put(batch: unknown): Promise<void> };
    chunks: { put(chunks: unknown): Promise<void> };
  };
  const base = { version: 1, tries: {}, unanswered: {}, message_ids: {}, processed: {}, ...more };
  const put = async (batch_id: string, codes: string, why: Record<string, string>, first: number) => {
    const place = { email_id, batch_id, chunk: 0 };
    const recipients = [...codes].map((_, n) => recipient(first + n));
    await chunks.put([
      { chunk: { ...place, tenant_id, recipients }, state: { ...place, ...base, states: codes, reasons: why } },
    ]);
    const byReason = Object.fromEntries(Object.values(why).map((reason) => [reason, 1]));
    const excluded = batch_id === EXCLUDED_BATCH;
    await batches.put(
      batchRow({
        email_id,
        batch_id,
        tenant_id,
        status: 'submitting',
        counts: countStates(codes),
        [excluded ? 'excluded_by_reason' : 'failed_by_reason']: byReason,
      }),
    );
  };
  await put('00000', states, reasons, 0);
  await put(EXCLUDED_BATCH, 'xx', { 0: 'suppressed', 1: 'unsubscribed' }, 100);
  const recipients = states.length + 2;
  await change(email_id, {
    status: 'submitting',
    email_count: recipients,
    slots: { 0: { batch_id: '00000', since: world.now().toISOString() } },
    prepared: { recipients, excluded: 2, excluded_by_reason: {}, batches: 1, at: world.now().toISOString() },
  });
}

describe('an email is published', () => {
  it('once for a key, and its count and its job are started', async () => {
    const first = await publish(POST, 'same');
    expect(first).toMatchObject({ status: 202, body: { status: 'pending' } });
    expect(Object.keys(first.body)).toEqual(['email_id', 'status']);
    const { email_id } = first.body;
    expect(world.emails.queued).toEqual([
      { version: 1, kind: 'count', email_id },
      { version: 1, kind: 'start', email_id },
    ]);
    const again = await publish(POST, 'same');
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await publish({ ...POST, subject: 'Other' }, 'same')).toMatchObject({
      status: 409,
      body: { type: 'urn:notification-retry:problem:idempotency-key-reused' },
    });
    expect((await world.call('GET', '/v1/emails', { key })).body.emails).toHaveLength(1);
  });

  it('at its time, by a schedule; a repeat after that time still gets its answer', async () => {
    const scheduled_at = new Date(world.now().getTime() + 60_000).toISOString();
    const body = { ...POST, scheduled_at, segment: 'status:paid', delivery_window_minutes: 60 };
    const { body: first } = await publish(body, 'later');
    expect(world.emails.scheduled.get(first.email_id)).toBe(scheduled_at);
    expect(world.emails.queued).toEqual([{ version: 1, kind: 'count', email_id: first.email_id }]);
    expect((await get(first.email_id)).body).toMatchObject({
      phase: 'scheduled',
      segment: 'status:paid',
      email_count: null,
    });
    world.pass(120_000);
    expect((await publish(body, 'later')).status).toBe(202);
  });

  it.each<[string, object, string, string]>([
    ['newsletter', { newsletter_id: 'nobody' }, 'newsletter_id', 'existing_newsletter'],
    ['segment', { segment: 'colour:red' }, 'segment', 'segment'],
    ['time in a segment', { segment: 'created_at:>now-99999999999y' }, 'segment', 'segment'],
    ['format', { format: 'pdf' }, 'format', 'one_of'],
    ['merge field', { body: 'Dear {nmae}' }, 'body', 'merge-field'],
    ['merge field’s form', { subject: 'Dear {name, “reader”}' }, 'subject', 'merge-field'],
    ['part', { body: '<div data-gh-segment="colour:red">x</div>', format: 'html' }, 'body', 'segment'],
    ['time that has passed', { scheduled_at: '2020-01-01T00:00:00Z' }, 'scheduled_at', 'future'],
    ['time too far ahead', { scheduled_at: '2199-01-01T00:00:00Z' }, 'scheduled_at', 'max_value'],
    ['window', { delivery_window_minutes: 0 }, 'delivery_window_minutes', 'min_value'],
    ['body too long', { body: 'あ'.repeat(100_000) }, 'body', 'max_bytes'],
    ['body, rendered, too long', { body: '"'.repeat(200_000), format: 'text' }, 'body', 'max_bytes'],
    ['text that cannot be made', { body: `${'<div>'.repeat(20_000)}x`, format: 'html' }, 'body', 'nesting'],
    ['subject of two lines', { subject: 'a\nBcc: b' }, 'subject', 'regex'],
    ['field', { colour: 'red' }, 'colour', 'unknown'],
  ])('unless its %s is wrong: nothing is stored or queued', async (_, changes, path, rule) => {
    const answer = await publish({ ...POST, ...changes });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path, rule }] } });
    expect(answer.body.errors[0].message.length).toBeGreaterThan(10);
    expect(world.emails.queued).toEqual([]);
    expect((await world.call('GET', '/v1/emails', { key })).body.emails).toEqual([]);
  });

  it.each<[object, string]>([
    [{ scheduled_at: '2199-01-01T00:00:00Z' }, 'The scheduled time is more than a year ahead: choose an earlier one.'],
    [{ delivery_window_minutes: '60' }, 'delivery_window_minutes must be a whole number of minutes, 1 to 10080'],
    [{ delivery_window_minutes: 20_000 }, 'delivery_window_minutes must be a whole number of minutes, 1 to 10080'],
    [{ body: 'あ'.repeat(100_000) }, 'The body has 300000 bytes in UTF-8; at most 262144 are possible: shorten it.'],
  ])('unless it breaks a rule, and the sentence says what is right: %#', async (changes, sentence) => {
    expect((await publish({ ...POST, ...changes })).body.detail).toBe(sentence);
  });

  it('unless its tenant may not write as its sender any more', async () => {
    await world.newsletters.changeSenders(tenant_id, 'allow', '*@others.example');
    const refused = await publish();
    await world.newsletters.changeSenders(tenant_id, 'allow', 'n@example.com');
    const taken = await publish();
    for (const sender of ['*@others.example', 'n@example.com'])
      await world.newsletters.changeSenders(tenant_id, 'revoke', sender);
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ rule: 'allowed_sender' }] } });
    expect(taken.status).toBe(202);
  });

  it('unless SES has not verified its sender', async () => {
    world.emails.unverified.add('Weekly <n@example.com>');
    expect(await publish()).toMatchObject({ status: 400, body: { errors: [{ rule: 'verified_sender' }] } });
  });

  it('with all that is wrong named at once', async () => {
    const { body } = await publish({
      ...POST,
      newsletter_id: 'nobody',
      segment: '((',
      body: 'Dear {nmae}',
      scheduled_at: '2020-01-01T00:00:00Z',
    });
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual([
      'newsletter_id',
      'segment',
      'scheduled_at',
      'body',
    ]);
    expect(body.detail).toContain('{nmae} is no merge field');
  });

  it('again by the same key when the queue failed after it was stored', async () => {
    world.faults.queues = { prepare: () => Promise.reject(new Error('away')) };
    expect((await publish(POST, 'broken')).status).toBe(503);
    delete world.faults.queues;
    expect((await publish(POST, 'broken')).status).toBe(202);
    expect(world.emails.queued.map(({ kind }) => kind)).toEqual(['count', 'start']);
  });
});

describe('the status of an email', () => {
  it('adds up, and tells what events told', async () => {
    const email_id = await published();
    await prepared(email_id, 'ss.>fu', { 4: 'message_rejected' });
    const { events } = world.emails.deps as never as {
      events: { read(id: string, batch: string): Promise<object>; change(e: object, bits: object): Promise<object> };
    };
    const bits = {
      delivered: withBits(undefined, [0, 1]),
      opened: withBits(undefined, [1]),
      machine_opened: withBits(undefined, [0]),
    };
    await events.change(await events.read(email_id, '00000'), bits);
    const { status, body } = await get(email_id);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      email_id,
      status: 'submitting',
      phase: 'sending',
      email_count: 8,
      counts: {
        recipients: 8,
        pending: 2,
        submitted: 2,
        excluded: 2,
        failed: 1,
        uncertain: 1,
        delivered: 2,
        opened: 1,
        machine_opened: 1,
        clicked: 0,
        bounced: 0,
        complained: 0,
        unsubscribed: 0,
      },
      failed_by_reason: { message_rejected: 1 },
      excluded_by_reason: { suppressed: 1, unsubscribed: 1 },
      batches: { pending: 0, submitting: 1, submitted: 0, failed: 0 },
      rate: { now: null, allowed: 14 },
    });
    const { recipients, pending, submitted, excluded, failed, uncertain } = body.counts;
    expect(recipients).toBe(pending + submitted + excluded + failed + uncertain);
  });

  it('is nobody else’s', async () => {
    const email_id = await published();
    const other = (await world.key('another')).key;
    for (const path of ['', '/batches', '/recipients'])
      expect((await get(`${email_id}${path}`, other)).status).toBe(404);
    expect((await world.call('POST', `/v1/emails/${email_id}/pause`, { key: other })).status).toBe(404);
  });

  it('needs the scope to read, and a decision the scope to write', async () => {
    const email_id = await published();
    const reader = (await world.key(tenant_id, ['newsletters:read'])).key;
    expect((await get(email_id, reader)).status).toBe(200);
    expect((await world.call('POST', `/v1/emails/${email_id}/pause`, { key: reader })).status).toBe(403);
  });

  it.each(['cancelled', 'failed'] as const)(
    'lists none of what was frozen before its preparation ended: %s',
    async (status) => {
      const email_id = await published();
      await prepared(email_id, '..');
      await change(email_id, { status, prepared: undefined });
      expect((await get(email_id)).body.batches).toMatchObject({ pending: 0, submitting: 0 });
      expect((await get(`${email_id}/batches`)).body).toEqual({ batches: [], next_cursor: null });
      expect((await get(`${email_id}/recipients?state=pending`)).body).toEqual({ recipients: [], next_cursor: null });
    },
  );

  it('lists its batches page by page, the excluded recipients last', async () => {
    const email_id = await published();
    await prepared(email_id, 's.');
    const first = await get(`${email_id}/batches?limit=1`);
    expect(first.body).toMatchObject({ batches: [{ batch_id: '00000', counts: { submitted: 1 } }] });
    for (const hidden of ['claim_id', 'version', 'tenant_id', 'progress'])
      expect(first.body.batches[0]).not.toHaveProperty(hidden);
    const next = await get(`${email_id}/batches?cursor=${first.body.next_cursor}`);
    expect(next.body).toMatchObject({ batches: [{ batch_id: 'excluded' }], next_cursor: null });
    expect(await get(`${email_id}/batches?cursor=nonsense`)).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'cursor' }] },
    });
  });

  it('lists its recipients by state, with addresses for those who may write only', async () => {
    const email_id = await published();
    await prepared(email_id, 'sfu.', { 1: 'message_rejected' });
    const failed = await get(`${email_id}/recipients?state=failed`);
    expect(failed.body).toEqual({
      recipients: [
        {
          recipient_id: `${email_id}-00000-0-1`,
          batch_id: '00000',
          member_id: 'm-1',
          member_uuid: 'uuid-1',
          member_email: 'm1@example.com',
          state: 'failed',
          reason: 'message_rejected',
          events: [],
        },
      ],
      next_cursor: null,
    });
    const reader = (await world.key(tenant_id, ['newsletters:read'])).key;
    expect(JSON.stringify((await get(`${email_id}/recipients`, reader)).body)).not.toContain('@');
    const states = async (path: string) =>
      (await get(`${email_id}/recipients${path}`)).body.recipients.map(({ state }: { state: string }) => state);
    expect(await states('')).toEqual(['submitted', 'failed', 'uncertain', 'pending', 'excluded', 'excluded']);
    expect(await states('?state=excluded')).toEqual(['excluded', 'excluded']);
    const page = await get(`${email_id}/recipients?limit=1`);
    expect(page.body.recipients).toHaveLength(4);
    expect((await get(`${email_id}/recipients?cursor=${page.body.next_cursor}`)).body.recipients).toHaveLength(2);
    expect((await get(`${email_id}/recipients?state=lost`)).status).toBe(400);
  });
});

describe('decisions about an email', () => {
  it('pause, resume and cancel it while it waits', async () => {
    const email_id = await published({ ...POST, scheduled_at: inAnHour() });
    expect((await post(`${email_id}/pause`)).body).toEqual({ email_id, status: 'pending' });
    expect((await get(email_id)).body.phase).toBe('paused');
    expect((await post(`${email_id}/resume`)).status).toBe(202);
    expect((await post(`${email_id}/cancel`)).body).toEqual({ email_id, status: 'cancelled' });
    expect(world.emails.scheduled.has(email_id)).toBe(false);
    const refused = await post(`${email_id}/retry`);
    expect(refused).toMatchObject({ status: 409, body: { type: 'urn:notification-retry:problem:conflict' } });
    expect(refused.body.detail).toMatch(/cancelled.*Publish it anew/);
  });

  it('say where the emails are when there is none with the id', async () => {
    for (const path of ['', '/batches', '/recipients'])
      expect((await get(`nobody${path}`)).body.detail).toBe('There is no email with this id: see GET /v1/emails.');
    expect((await post('nobody/pause')).body.detail).toContain('see GET /v1/emails');
  });

  it('resolve only an email whose recipients are frozen, and says so', async () => {
    const email_id = await published();
    expect(await post(`${email_id}/resolve`, { action: 'leave' })).toMatchObject({
      status: 409,
      body: {
        detail: `The email ${email_id} is pending and has no recipients yet, so none is uncertain. It can be paused, resumed or cancelled.`,
      },
    });
  });

  it('retry it after it failed', async () => {
    const email_id = await published();
    await change(email_id, { status: 'failed', error: 'Nobody.' });
    world.emails.queued.length = 0;
    expect((await post(`${email_id}/retry`)).body).toEqual({ email_id, status: 'pending' });
    expect(world.emails.queued).toMatchObject([{ kind: 'start' }]);
  });

  it('resolve its uncertain recipients', async () => {
    const email_id = await published();
    const uncertain_at = new Date().toISOString();
    await prepared(email_id, 'su', {}, { uncertain_at });
    await change(email_id, { status: 'submitted' });
    const waiting_until = new Date(Date.parse(uncertain_at) + 15 * 60_000).toISOString();
    expect(await post(`${email_id}/resolve`, { action: 'resend' })).toMatchObject({
      status: 202,
      body: { email_id, status: 'submitted', resolved: 0, waiting: 1, waiting_until },
    });
    expect(await post(`${email_id}/resolve`, { action: 'leave' })).toMatchObject({
      status: 202,
      body: { resolved: 1 },
    });
    expect((await get(email_id)).body).toMatchObject({ uncertain_left: 1, counts: { uncertain: 1 } });
    expect((await post(`${email_id}/resolve`, { action: 'maybe' })).status).toBe(400);
  });

  it('test it: sample values go to the addresses, nobody is counted', async () => {
    const email_id = await published({ ...POST, scheduled_at: inAnHour() });
    const { status, body } = await post(`${email_id}/test`, { to: ['ann@example.com', 'refused@example.com'] });
    expect(status).toBe(200);
    expect(body.results).toEqual([
      { index: 0, accepted: true, message_id: 'message-ann@example.com' },
      { index: 1, accepted: false, reason: 'message_rejected' },
    ]);
    const [call] = world.emails.calls;
    expect(call?.rendering.subject).toEqual(['[Test] ', 'Hello']);
    expect(call?.entries[0]).toMatchObject({ values: { name: 'Sample Reader' }, tags: { chunk: 'test-0' } });
    expect((await get(email_id)).body.counts).toMatchObject({ recipients: 0, submitted: 0 });
    expect((await post(`${email_id}/test`, { to: [] })).status).toBe(400);
    expect(
      (await post(`${email_id}/test`, { to: Array.from({ length: 11 }, (_, i) => `a${i}@example.com`) })).status,
    ).toBe(400);
    expect(world.said.join()).not.toContain('ann@');
  });
});
