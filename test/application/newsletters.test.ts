import { randomUUID } from 'node:crypto';
import { DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorDeps } from '../../src/application/deps.ts';
import { draftAccess } from '../../src/application/emails/draft-access.ts';
import { emailAccess } from '../../src/application/emails/email-access.ts';
import { memberAccess } from '../../src/application/members/members.ts';
import type { RouteKey } from '../../src/application/routes.ts';
import { lockEmail } from '../../src/core/newsletter/lifecycle/lock.ts';
import { upsertMembers } from '../../src/core/newsletter/members/upsert-members.ts';
import type { Email } from '../../src/core/newsletter/model/email.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';
import { startLoopback } from '../support/loopback.ts';
import { batchFor, chunkOf, chunkState, emailContent, emailRow, lostAt } from '../support/newsletter/job-rows.ts';

let ops: Operations;
let page: TestConsole;
let viewer: TestConsole;
let access: ReturnType<typeof emailAccess>;
beforeAll(async () => {
  ops = await startOperations();
  page = await startTestConsole(ops);
  viewer = await startTestConsole(ops, { role: 'viewer' });
  access = emailAccess({ ...ops, clock: () => new Date(), newId: randomUUID });
}, 60_000);
afterAll(async () => {
  await viewer?.stop();
  await page?.stop();
  await ops?.stop();
});

const at = new Date().toISOString();
const binding = () =>
  operatorDeps({
    ...ops,
    clock: () => new Date(),
    newId: randomUUID,
    stage: 'test',
    region: 'us-east-1',
    local: true,
    onRecord: () => {},
  });
const request_id = () => randomUUID();

/** An email whose three recipients are submitted, failed and uncertain. */
async function email(tenant_id: string, set: Partial<Email> = {}): Promise<string> {
  const email_id = randomUUID();
  const common = { tenant_id, name: 'Weekly', from: 'n@example.com', created_at: at, updated_at: at };
  await access.newsletters.put({ ...common, newsletter_id: 'weekly' });
  const prepared = { recipients: 3, excluded: 0, excluded_by_reason: {}, batches: 1, at };
  const row = emailRow({ email_id, tenant_id, newsletter_id: 'weekly', prepared, created_at: at, ...set });
  await access.emails.create(row, emailContent({ subject: '<b>Hello</b>' }));
  const state = chunkState('sfu', { email_id });
  await access.batches.put(batchFor([state], { email_id, tenant_id, status: 'failed' }));
  await access.chunks.put([{ chunk: chunkOf(3, { email_id, tenant_id }), state }]);
  return email_id;
}

const act = (email_id: string, action: 'pause' | 'resume' | 'retry' | 'cancel', id = request_id()) =>
  page.call(`POST /api/emails/{email_id}/${action}`, { path: { email_id }, body: { request_id: id } });

describe('newsletters in the console', () => {
  it('are tested within the rate that the deployment is set to', async () => {
    const { budgets, pacing } = draftAccess(binding());
    const set = (value: number) => budgets.change('email', [{ name: 'max_per_second', set: value }]);
    await set(0.5);
    const { granted } = await pacing.reserve(3).finally(() => set(100));
    expect(granted).toBe(1);
  });

  it('are listed by tenant and of all tenants, with their e-mails', async () => {
    const email_id = await email('T-LIST');
    const one = await page.ok('GET /api/newsletters', { query: { tenant: 'T-LIST' } });
    expect(one.newsletters.map(({ newsletter_id }) => newsletter_id)).toEqual(['weekly']);
    const all = await page.ok('GET /api/newsletters');
    expect(all.newsletters.map(({ tenant_id }) => tenant_id)).toContain('T-LIST');
    const { emails } = await page.ok('GET /api/emails', { query: { tenant: 'T-LIST' } });
    expect(emails.map((summary) => summary.email_id)).toEqual([email_id]);
  });

  it('are listed as they are now, as a form starts from it', async () => {
    const scans: object[] = [];
    const stack = ops.dynamodb.middlewareStack;
    const seen = (next: (args: never) => Promise<never>, { commandName }: { readonly commandName?: string }) => {
      return (args: { readonly input: object }) => {
        if (commandName === 'ScanCommand') scans.push(args.input);
        return next(args as never);
      };
    };
    stack.add(seen as never, { step: 'initialize', name: 'seen' });
    await page.ok('GET /api/newsletters').finally(() => stack.remove('seen'));
    expect(scans).toEqual([expect.objectContaining({ ConsistentRead: true })]);
  });

  it('show an e-mail with its counts, what is possible now, and the command that does the same', async () => {
    const email_id = await email('T-SHOW', { status: 'failed', error: 'partially sent' });
    const detail = await page.ok('GET /api/emails/{email_id}', { path: { email_id } });
    expect(detail.email.counts).toMatchObject({ recipients: 3, submitted: 1, failed: 1, uncertain: 1, pending: 0 });
    expect([detail.subject, detail.actions]).toEqual(['<b>Hello</b>', ['retry']]);
    expect(detail.commands.map(({ command }) => command)).toContain(`npm run ops -- emails retry ${email_id} --local`);
  });

  it('list recipients by state, without address and name', async () => {
    const email_id = await email('T-WHO');
    const query = { state: 'uncertain' };
    const list = await page.ok('GET /api/emails/{email_id}/recipients', { path: { email_id }, query });
    expect(list.recipients.map(({ member_id }) => member_id)).toEqual(['m-2']);
    expect(JSON.stringify(list)).not.toContain('@example.com');
  });

  it('are paused and resumed once per request, and the audit says who did it', async () => {
    const email_id = await email('T-PAUSE', { status: 'submitting' });
    const id = request_id();
    const [first, repeated] = [await act(email_id, 'pause', id), await act(email_id, 'pause', id)];
    expect([first.status, repeated.status, repeated.body]).toEqual([200, 200, first.body]);
    expect((await access.emails.read(email_id))?.paused).toBe(true);
    expect((await act(email_id, 'resume')).status).toBe(200);
    const { entries } = await page.ok('GET /api/audit', { query: { target: email_id } });
    expect(entries.map(({ what, who }) => `${who} ${what}`)).toEqual(['mori email.resume', 'mori email.pause']);
  });

  it('refuse what the status does not allow, with a remedy', async () => {
    const email_id = await email('T-NO', { status: 'submitted' });
    const { status, body } = await act(email_id, 'retry');
    expect([status, body]).toEqual([409, expect.objectContaining({ remedy: expect.any(String) })]);
  });

  it('let a person decide about uncertain recipients', async () => {
    const email_id = await email('T-RESOLVE', { status: 'submitted', submitted_at: at });
    const body = { request_id: request_id(), action: 'leave' };
    const answer = await page.ok('POST /api/emails/{email_id}/resolve', { path: { email_id }, body });
    expect(answer).toEqual({ email_id, status: 'submitted', resolved: 1 });
  });

  it('say which uncertain recipients a decision left out, because their batch is being sent', async () => {
    const email_id = await email('T-BUSY', { status: 'submitting' });
    const [batch] = await access.batches.list(email_id);
    const claim = { claim_id: 'sender', claim_until: new Date(Date.now() + 60_000).toISOString() };
    expect(batch && (await access.batches.change(batch, { set: { ...claim, status: 'submitting' } }))).toBeDefined();
    const body = { request_id: request_id(), action: 'resend' };
    const answer = await page.ok('POST /api/emails/{email_id}/resolve', { path: { email_id }, body });
    expect(answer).toEqual({ email_id, status: 'submitting', resolved: 0, busy: 1 });
    const { entries } = await page.ok('GET /api/audit', { query: { target: email_id } });
    expect(entries[0]?.result).toEqual({ resolved: 0, busy: 1 });
  });

  it('say which uncertain recipients a decision left out, because events may still tell of them', async () => {
    const email_id = await email('T-YOUNG', { status: 'submitted', submitted_at: at });
    const [state] = await access.chunks.states(email_id, '00000');
    const uncertain_at = new Date().toISOString();
    expect(state && (await access.chunks.change(state, lostAt(state, uncertain_at)))).toBeDefined();
    const body = { request_id: request_id(), action: 'resend' };
    const answer = await page.ok('POST /api/emails/{email_id}/resolve', { path: { email_id }, body });
    const waiting_until = new Date(Date.parse(uncertain_at) + 20 * 60_000).toISOString();
    expect(answer).toEqual({ email_id, status: 'submitted', resolved: 0, waiting: 1, waiting_until });
    const { entries } = await page.ok('GET /api/audit', { query: { target: email_id } });
    expect(entries[0]?.result).toEqual({ resolved: 0, waiting: 1 });
  });

  it.each<[RouteKey, object]>([
    ['POST /api/emails/{email_id}/pause', {}],
    ['POST /api/emails/{email_id}/retry', {}],
    ['POST /api/emails/{email_id}/resolve', { action: 'resend' }],
  ])('let a viewer do nothing: %s', async (route, body) => {
    const email_id = await email('T-VIEW', { status: 'failed', error: 'partially sent' });
    const before = await access.emails.read(email_id);
    const call = { path: { email_id }, body: { request_id: request_id(), ...body } };
    expect((await viewer.call(route, call)).status).toBe(403);
    expect(await access.emails.read(email_id)).toEqual(before);
  });

  it.each(['missing', 'a/../b', "x'; drop"])('answer an id that nothing has by 404: %s', async (email_id) => {
    const { status, body } = await page.call('GET /api/emails/{email_id}', { path: { email_id } });
    expect([status, body]).toEqual([404, expect.objectContaining({ remedy: expect.any(String) })]);
  });
});

describe('a newsletter in the console', () => {
  const FIELDS = { newsletter_id: 'daily', name: 'Daily', from: 'Daily <n@example.com>' };
  const put = (tenant: string, more: object = {}, by = page) =>
    by.call('POST /api/newsletters', {
      body: { request_id: request_id(), tenant, ...FIELDS, known_at: null, ...more },
    });
  const stored = (tenant: string) => access.newsletters.read(tenant, 'daily');

  it('is made, and changed as somebody looked at it, with its tracking; the audit says who did it', async () => {
    const track = { opens: false, clicks: true };
    expect(await put('T-NEW', { track, reply_to: 'r@example.com' })).toMatchObject({ status: 200, body: { track } });
    const { newsletters } = await page.ok('GET /api/newsletters', { query: { tenant: 'T-NEW' } });
    expect(newsletters).toEqual([expect.objectContaining({ ...FIELDS, track, reply_to: 'r@example.com' })]);
    const { created_at, updated_at } = (await stored('T-NEW')) ?? {};
    const changed = await put('T-NEW', { name: 'Each day', known_at: updated_at });
    expect(changed.body).toEqual({
      tenant_id: 'T-NEW',
      ...FIELDS,
      name: 'Each day',
      created_at,
      updated_at: expect.any(String),
    });
    const { entries } = await page.ok('GET /api/audit', { query: { target: 'daily' } });
    const ours = entries.filter(({ details }) => details?.includes('"T-NEW"'));
    expect(ours.map(({ who, what }) => `${who} ${what}`)).toEqual(['mori newsletter.put', 'mori newsletter.put']);
    const set = { tenant: 'T-NEW', from: FIELDS.from };
    expect(ours.map(({ details = '' }) => JSON.parse(details))).toEqual([set, { ...set, track }]);
    expect(JSON.stringify(ours)).not.toContain('r@example.com');
  });

  it('is replaced by nobody who did not look at it', async () => {
    await put('T-TWO');
    const first = await stored('T-TWO');
    const [again, late] = [await put('T-TWO', { name: 'A' }), await put('T-TWO', { name: 'B', known_at: at })];
    expect([again.status, late.status]).toEqual([409, 409]);
    expect(JSON.stringify([again.body, late.body])).toMatch(/There is a newsletter daily.*Somebody has changed/);
    expect(await stored('T-TWO')).toEqual(first);
  });

  it('is replaced by one of two who looked at it', async () => {
    await put('T-RACE');
    const known_at = (await stored('T-RACE'))?.updated_at;
    const answers = await Promise.all(['A', 'B'].map((name) => put('T-RACE', { name, known_at })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect(await stored('T-RACE')).toEqual(answers.find(({ status }) => status === 200)?.body);
  });

  it('is no conflict with itself, where the page asks again as it got no answer', async () => {
    const [first, again] = [await put('T-AGAIN'), await put('T-AGAIN')];
    expect(again).toMatchObject({ status: 200, body: first.body });
  });

  it('is refused as a whole where something is wrong, by its field', async () => {
    await access.newsletters.changeSenders('T-BAD', 'allow', '*@other.example');
    const [foreign, wrong] = [await put('T-BAD'), await put('T-BAD', { newsletter_id: 'a b' })];
    const faults = [foreign, wrong].map(({ body }) => (body as { errors?: { path: string; rule: string }[] }).errors);
    expect(faults).toMatchObject([
      [{ path: 'from', rule: 'allowed_sender' }],
      [{ path: 'newsletter_id', rule: 'regex' }],
    ]);
    expect(await stored('T-BAD')).toBeUndefined();
  });

  it('is made by no viewer', async () => {
    expect((await put('T-VIEWER', {}, viewer)).status).toBe(403);
    expect(await stored('T-VIEWER')).toBeUndefined();
  });
});

describe('a member in the console', () => {
  const person = { email: 'person@example.com', name: 'Sam Person' };
  const stored = async (tenant: string) => {
    const { members, sealing } = memberAccess(binding());
    const fields = { status: 'free', labels: [], newsletters: ['weekly'] } as const;
    await upsertMembers(tenant, [{ member_id: 'm-1', ...fields, ...person }], { members, sealing, ...binding() });
    const [chunk, email_id] = [chunkOf(1), await email(tenant)];
    const recipients = chunk.recipients.map((one) => ({ ...one, member_id: 'm-1', member_email: person.email }));
    const state = chunkState('f', { email_id, reasons: { 0: 'message_rejected' } });
    await access.chunks.put([{ chunk: { ...chunk, email_id, tenant_id: tenant, recipients }, state }]);
    return email_id;
  };
  const show = (tenant: string, named: object, by = page) =>
    by.call('POST /api/members/show', { body: { request_id: request_id(), tenant, ...named } });

  it('has its mailings with what became of each, and no address', async () => {
    const email_id = await stored('T-MAILS');
    await email('T-MAILS', { prepared: undefined as never });
    const of = (member_id: string) => ({ path: { member_id }, query: { tenant: 'T-MAILS' } });
    const member = await page.ok('GET /api/members/{member_id}', of('m-1'));
    expect(member).toMatchObject({ member_id: 'm-1', status: 'free', newsletters: ['weekly'], unsubscribed: {} });
    const list = await page.ok('GET /api/members/{member_id}/emails', of('m-1'));
    const mailing = { email_id, state: 'failed', reason: 'message_rejected', newsletter_id: 'weekly', events: [] };
    expect(list).toEqual({ emails: [expect.objectContaining(mailing)], next_cursor: null });
    expect(JSON.stringify([member, list])).not.toMatch(/example\.com|Sam/);
    for (const route of ['GET /api/members/{member_id}', 'GET /api/members/{member_id}/emails'] as const)
      expect((await page.call(route, of('m-2'))).status).toBe(404);
  });

  it('is found in mailings from before it moved, where its address of that time lies', async () => {
    const tenant = 'T-MOVED';
    const { members, sealing } = memberAccess(binding());
    const addresses = Array.from({ length: 12 }, (_, i) => `reader${i}@example.com`);
    const hashes = new Map(
      await Promise.all(addresses.map(async (one) => [one, await sealing.emailHash(tenant, one)] as const)),
    );
    const inOrder = addresses.toSorted((a, b) => ((hashes.get(a) ?? '') < (hashes.get(b) ?? '') ? -1 : 1));
    const [first = '', last = ''] = [inOrder[0], inOrder.pop()];
    const give = (address: string) =>
      upsertMembers(tenant, [{ member_id: 'm-1', email: address, newsletters: ['weekly'] }], {
        members,
        sealing,
        ...binding(),
      });
    await give(first);
    const email_id = await email(tenant);
    const all = inOrder.map((member_email, chunk) => {
      const recipients = [{ member_id: chunk === 0 ? 'm-1' : `other-${chunk}`, member_uuid: 'u', member_email }];
      return {
        chunk: chunkOf(1, { email_id, tenant_id: tenant, chunk, recipients }),
        state: chunkState('s', { email_id, chunk }),
      };
    });
    await access.chunks.put(all);
    await access.batches.put(
      batchFor(
        all.map(({ state }) => state),
        { email_id, tenant_id: tenant, status: 'submitted' },
      ),
    );
    await give(last);
    const { emails } = await page.ok('GET /api/members/{member_id}/emails', {
      path: { member_id: 'm-1' },
      query: { tenant },
    });
    expect(emails).toMatchObject([{ email_id, state: 'submitted' }]);
  });

  it('is shown with its address to operators only, by id or address, and the audit keeps who looked', async () => {
    await stored('T-LOOK');
    expect((await show('T-LOOK', { member_id: 'm-1' }, viewer)).status).toBe(403);
    const shown = { members: [{ member_id: 'm-1', ...person }], unsubscribed: {} };
    expect((await show('T-LOOK', { member_id: 'm-1' })).body).toEqual(shown);
    expect((await show('T-LOOK', { address: ' Person@example.com' })).body).toEqual(shown);
    expect([
      (await show('T-LOOK', { address: 'nobody@example.com' })).status,
      (await show('T-LOOK', {})).status,
    ]).toEqual([404, 400]);
    const { entries } = await page.ok('GET /api/audit', { query: { what: 'member.show' } });
    const ours = entries.filter(({ details }) => details === '{"tenant":"T-LOOK"}');
    expect(ours.map(({ who, result }) => [who, result])).toEqual(
      expect.arrayContaining([
        ['mori', { shown: 1 }],
        ['mori', { shown: 1 }],
      ]),
    );
    expect(JSON.stringify(ours)).not.toContain('example.com');
  });
});

describe('what a console knows of an address or a member that is gone', () => {
  const subscriber = { newsletters: ['weekly'], created_at: '2026-02-01T00:00:00.000Z' };
  const member = async (tenant: string) => {
    const { members, sealing } = memberAccess(binding());
    const given = [{ member_id: 'm-1', email: 'gone@example.com', ...subscriber }];
    await upsertMembers(tenant, given, { members, sealing, ...binding() });
    return { members, hash: await sealing.emailHash(tenant, 'gone@example.com') };
  };

  it('is shown for an address that no member has any more', async () => {
    const { members, hash } = await member('T-FACTS');
    await members.suppress('T-FACTS', hash, { reason: 'complained', at });
    await members.unsubscribe('T-FACTS', hash, 'weekly', at);
    await members.remove('T-FACTS', 'm-1');
    const body = { request_id: request_id(), tenant: 'T-FACTS', address: 'gone@example.com' };
    const known = { members: [], suppressed: { reason: 'complained', at }, unsubscribed: { weekly: at } };
    expect(await page.ok('POST /api/members/show', { body })).toEqual(known);
  });

  const of = (tenant: string) =>
    page.ok('GET /api/members/{member_id}/emails', { path: { member_id: 'm-1' }, query: { tenant } });
  const mailed = (tenant: string, month: string, set: Partial<Email>) => {
    const time = `2026-${month}-01T00:00:00.000Z`;
    const prepared = { recipients: 3, excluded: 0, excluded_by_reason: {}, batches: 1, at: time };
    return email(tenant, { created_at: time, prepared, ...set });
  };
  const chunkItem = (email_id: string) => ({
    TableName: ops.deployment.tables.email_recipients,
    Key: { email_batch: { S: `${email_id}#00000` }, chunk: { S: '00000' } },
  });

  it('is expired only in mailings that may have been for the member', async () => {
    const { members, hash } = await member('T-OLD');
    await members.unsubscribe('T-OLD', hash, 'left', at);
    const emails = [
      await mailed('T-OLD', '01', {}),
      await mailed('T-OLD', '03', { newsletter_id: 'foreign' }),
      await mailed('T-OLD', '04', {}),
      await mailed('T-OLD', '05', { newsletter_id: 'left' }),
    ];
    for (const email_id of emails) await ops.dynamodb.send(new DeleteItemCommand(chunkItem(email_id)));
    const { emails: told } = await of('T-OLD');
    expect(told.map(({ email_id, state }) => [email_id, state])).toEqual([
      [emails[3], 'expired'],
      [emails[2], 'expired'],
    ]);
  });

  it('is a problem, and not expired, where recipients cannot be opened', async () => {
    await member('T-ALTERED');
    const email_id = await mailed('T-ALTERED', '04', {});
    const other = chunkItem(await mailed('T-OTHER', '04', {}));
    const { Item } = await ops.dynamodb.send(new GetItemCommand(other));
    await ops.dynamodb.send(
      new PutItemCommand({ TableName: other.TableName, Item: { ...Item, ...chunkItem(email_id).Key } }),
    );
    const told = { email_id, state: 'unreadable', reason: expect.stringContaining('was altered') };
    expect((await of('T-ALTERED')).emails).toEqual([expect.objectContaining(told)]);
  });
});

describe('a draft in the console', () => {
  const DRAFT = { newsletter_id: 'weekly', subject: 'Hello', body: 'Dear {name}', format: 'markdown' };
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const body = (tenant: string, more: object = {}) => ({ request_id: request_id(), tenant, ...DRAFT, ...more });
  const audited = async (target: string) =>
    (await page.ok('GET /api/audit', { query: { target } })).entries.map(({ what }) => what);

  /** Three members, of whom one is suppressed and one has no name. */
  async function audience(tenant_id: string): Promise<void> {
    const now = { created_at: at, updated_at: at };
    await access.newsletters.put({ tenant_id, newsletter_id: 'weekly', name: 'Weekly', from: 'n@example.com', ...now });
    const { members, sealing } = memberAccess(binding());
    const deps = { members, sealing, clock: () => new Date(), newId: randomUUID };
    const subscribed = { newsletters: ['weekly'] };
    await upsertMembers(
      tenant_id,
      [
        { member_id: 'a', email: 'ann@example.com', name: 'Ann', ...subscribed },
        { member_id: 'b', email: 'ben@example.com', ...subscribed },
        { member_id: 'c', email: 'cat@example.com', name: 'Cat', ...subscribed },
      ],
      deps,
    );
    const hash = await sealing.emailHash(tenant_id, 'cat@example.com');
    await members.suppress(tenant_id, hash, { reason: 'complained', at });
  }

  it('says who would get it, and who would not and why, and keeps nothing', async () => {
    await audience('T-DRY');
    expect(await page.ok('POST /api/emails/dry-run', { body: body('T-DRY') })).toMatchObject({
      status: 'done',
      recipients: 2,
      excluded_by_reason: { suppressed: 1 },
      missing_fields: { name: 1 },
      error: expect.stringContaining('{name}'),
    });
    expect((await page.ok('GET /api/emails', { query: { tenant: 'T-DRY' } })).emails).toEqual([]);
    const wrong = await page.call('POST /api/emails/dry-run', { body: body('T-DRY', { body: '{nmae}' }) });
    expect(wrong).toMatchObject({ status: 400, body: { remedy: expect.any(String) } });
  });

  it('is published once per request, and its audit names no address', async () => {
    await audience('T-PUB');
    const once = body('T-PUB', { body: 'Hello', scheduled_at: inHours(1) });
    const [first, again] = [
      await page.ok('POST /api/emails', { body: once }),
      await page.ok('POST /api/emails', { body: once }),
    ];
    expect(again).toEqual(first);
    expect((await page.ok('GET /api/emails', { query: { tenant: 'T-PUB' } })).emails).toHaveLength(1);
    expect(await audited(first.email_id)).toEqual(['email.send']);
  });

  it('takes the place of an email that has not started, as that was written or otherwise', async () => {
    await audience('T-REP');
    const given = { body: 'Hello', segment: 'status:free', scheduled_at: inHours(1) };
    const { email_id } = await page.ok('POST /api/emails', { body: body('T-REP', given) });
    const draft = await page.ok('GET /api/emails/{email_id}/draft', { path: { email_id } });
    expect(draft).toEqual({ ...DRAFT, ...given, known_at: expect.any(String) });
    const scheduled_at = inHours(2);
    const next = { request_id: request_id(), ...draft, subject: 'Other', scheduled_at };
    await page.ok('POST /api/emails/{email_id}/replace', { path: { email_id }, body: next });
    expect((await access.emails.content(email_id))?.subject).toBe('Other');
    expect(await access.emails.read(email_id)).toMatchObject({ scheduled_at, segment: 'status:free' });
    expect(await audited(email_id)).toEqual(['email.replace', 'email.send']);
    const row = await access.emails.read(email_id);
    await lockEmail(row as Email, 'claim', access);
    const late = { ...next, request_id: request_id(), scheduled_at: inHours(3) };
    expect((await page.call('POST /api/emails/{email_id}/replace', { path: { email_id }, body: late })).status).toBe(
      409,
    );
  });

  it('is replaced as somebody looked at it: of two editors the later one is told, and nothing of the first is lost', async () => {
    await audience('T-TWO');
    const given = { body: 'Hello', scheduled_at: inHours(1) };
    const { email_id } = await page.ok('POST /api/emails', { body: body('T-TWO', given) });
    const draft = await page.ok('GET /api/emails/{email_id}/draft', { path: { email_id } });
    const replace = (subject: string, { known_at }: { known_at?: string | undefined }) =>
      page.call('POST /api/emails/{email_id}/replace', {
        path: { email_id },
        body: { request_id: request_id(), ...DRAFT, ...given, subject, known_at },
      });
    expect((await replace('First', draft)).status).toBe(200);
    expect(await replace('Second', draft)).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/was replaced meanwhile, .*look at it/) },
    });
    expect((await access.emails.content(email_id))?.subject).toBe('First');
    const again = await page.ok('GET /api/emails/{email_id}/draft', { path: { email_id } });
    expect((await replace('Second', again)).status).toBe(200);
    // A page from before knows of no moment.
    expect((await replace('Third', {})).status).toBe(200);
  });

  it('is tested by mails of which the audit names no address', async () => {
    await audience('T-TEST');
    const { ops: withSes, sent } = await withBulkSes();
    const to = ['me@example.com', 'cat@example.com'];
    const { results } = await withSes.ok('POST /api/emails/test', { body: body('T-TEST', { to }) });
    expect(results).toMatchObject([{ accepted: true }, { accepted: false, reason: 'suppressed' }]);
    expect(sent()).toEqual(['me@example.com']);
    const records = JSON.stringify(withSes.records);
    expect(records).toContain('email.test');
    expect(records).not.toContain('@example.com');
    await withSes.stop();
  });

  it.each<[RouteKey, object]>([
    ['POST /api/emails/dry-run', {}],
    ['POST /api/emails/test', { to: ['me@example.com'] }],
    ['POST /api/emails', {}],
  ])('lets a viewer do nothing: %s', async (route, more) => {
    expect((await viewer.call(route, { body: body('T-NONE', more) })).status).toBe(403);
  });
});

/** The same console with an SES that takes every mail. */
async function withBulkSes() {
  const server = await startLoopback();
  const requests: string[] = [];
  server.answer = (response, { body }) => {
    requests.push(...[...body.toString().matchAll(/"ToAddresses":\["([^"]+)"/g)].map(([, to = '']) => to));
    const BulkEmailEntryResults = [{ Status: 'SUCCESS', MessageId: 'm' }];
    const answer = { VerifiedForSendingStatus: true, SendingEnabled: true, BulkEmailEntryResults };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const clients = { ...ops.deployment.clients, ses: { endpoint: server.url, region: 'us-east-1', credentials } };
  const console = await startTestConsole({ ...ops, deployment: { ...ops.deployment, clients } });
  const stop = async () => {
    await console.stop();
    await server.close();
  };
  return { ops: { ...console, stop }, sent: () => requests };
}
