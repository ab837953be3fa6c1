import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operatorDeps } from '../../src/application/deps.ts';
import { emailAccess } from '../../src/application/emails/email-access.ts';
import { memberAccess } from '../../src/application/members/members.ts';
import { upsertMembers } from '../../src/core/newsletter/members/upsert-members.ts';
import type { Recipient } from '../../src/core/newsletter/model/batch.ts';
import type { Email, EmailContent } from '../../src/core/newsletter/model/email.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';
import { batchFor, chunkOf, chunkState, emailContent, emailRow } from '../support/newsletter/job-rows.ts';

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

const SHOWN_TO_PAID =
  '<p>Hello {first_name, "reader"}</p><div data-gh-segment="status:paid"><p>Only for payers</p></div>';
const at = new Date().toISOString();

/** A tenant with a newsletter, and its member `m-1`, who pays. */
async function tenantWith(tenant: string, member: object = {}) {
  const named = { name: 'Weekly', from: 'n@example.com', created_at: at, updated_at: at };
  await access.newsletters.put({ ...named, tenant_id: tenant, newsletter_id: 'weekly' });
  const stage = { stage: 'test', region: 'us-east-1', local: true, onRecord: () => {} };
  const deps = operatorDeps({ ...ops, clock: () => new Date(), newId: randomUUID, ...stage });
  const given = {
    member_id: 'm-1',
    email: 'mia@example.com',
    name: 'Mia Ito',
    status: 'paid',
    newsletters: ['weekly'],
  };
  await upsertMembers(tenant, [{ ...given, ...member } as never], { ...memberAccess(deps), ...deps });
}

async function stored(tenant_id: string, set: Partial<Email> = {}, content: Partial<EmailContent> = {}) {
  const email_id = randomUUID();
  const row = emailRow({ email_id, tenant_id, newsletter_id: 'weekly', created_at: at, ...set });
  await access.emails.create(row, emailContent({ body: SHOWN_TO_PAID, format: 'html', ...content }));
  return email_id;
}

/** A mailing whose only recipient was frozen so. */
async function sent(tenant_id: string, frozen: Partial<Recipient>, state = 's', rendering = 1) {
  const prepared = { recipients: 1, excluded: 0, excluded_by_reason: {}, batches: 1, at };
  const email_id = await stored(tenant_id, { status: 'submitted', prepared });
  const recipients = [{ member_id: 'm-1', member_uuid: 'u-1', member_email: 'mia@example.com', ...frozen }];
  const chunk = chunkState(state, { email_id });
  await access.batches.put(batchFor([chunk], { email_id, tenant_id, status: 'submitted', rendering }));
  await access.chunks.put([{ chunk: chunkOf(1, { email_id, tenant_id, recipients }), state: chunk }]);
  return email_id;
}

const asMember = (email_id: string, member_id = 'm-1', by = page) =>
  by.call('POST /api/emails/{email_id}/preview', { path: { email_id }, body: { request_id: randomUUID(), member_id } });

it('a mail is shown to viewers with sample values, in all parts, and its links unsubscribe nobody', async () => {
  await tenantWith('T-SAMPLE');
  const email_id = await stored('T-SAMPLE');
  const { frame, text, headers, member_id } = await viewer.ok('GET /api/emails/{email_id}/preview', {
    path: { email_id },
  });
  expect(frame.html).toContain('Hello Sample');
  expect(text).toMatch(/Hello Sample[\s\S]*Only for payers/);
  expect(headers).toMatchObject({ To: 'sample@example.com', 'List-Unsubscribe': '<https://example.com/unsubscribe>' });
  expect([member_id, `${frame.html}${text}`.match(/ses:no-track/)]).toEqual([undefined, null]);
});

it('a member’s values are shown to operators only, and the audit log keeps who saw them', async () => {
  await tenantWith('T-VALUES');
  const email_id = await stored('T-VALUES');
  expect((await asMember(email_id, 'm-1', viewer)).status).toBe(403);
  const { body } = await asMember(email_id);
  expect([body.member_id, body.headers['To']]).toEqual(['m-1', 'mia@example.com']);
  expect(body.text).toMatch(/Hello Mia[\s\S]*Only for payers/);
  const { entries } = await page.ok('GET /api/audit', { query: { what: 'email.preview' } });
  expect(entries).toMatchObject([{ who: 'mori', on: ['m-1', email_id], result: { shown: 1 } }]);
  expect(JSON.stringify(entries)).not.toMatch(/mia|Mia/);
});

it.each([
  ['does not get the parts of others', { status: 'free' }, {}, []],
  [
    'is told to be outside of the segment',
    { status: 'free' },
    { segment: 'status:paid' },
    ['not in the segment status:paid'],
  ],
  ['is told not to subscribe', { newsletters: [] }, {}, ['not subscribed']],
  ['is told to be suppressed', { suppressed: { reason: 'operator', at } }, {}, ['suppressed']],
  ['is told to have left', { unsubscribed: { weekly: at } }, {}, ['unsubscribed']],
])('a member %s', async (what, member, set, why) => {
  const tenant = `T-${what.replaceAll(' ', '')}`;
  await tenantWith(tenant, member);
  const { body } = await asMember(await stored(tenant, set));
  expect(body.notes.filter((note: string) => note.startsWith('The member'))).toEqual(
    why.map((one) => `The member would not get it: ${one}.`),
  );
  expect(body.text.includes('Only for payers')).toBe('status' in member === false);
});

it('a sent mail is shown as the member got it, whatever the member is called since', async () => {
  await tenantWith('T-SENT', { status: 'free', name: 'Mia Abe' });
  const { body } = await asMember(await sent('T-SENT', { member_name: 'Old Name' }));
  expect(body.text).toMatch(/Hello Old[\s\S]*Only for payers/);
  expect(body.notes).toContain('The member was sent this.');
});

it('a sent mail says of who was none of its recipients that this is what it would get now', async () => {
  await tenantWith('T-NONE');
  const email_id = await sent('T-NONE', { member_id: 'other', member_email: 'other@example.com' });
  const { body } = await asMember(email_id);
  expect(body.notes).toContain('The member is none of its recipients: this is what it would get now.');
  expect((await asMember(email_id, 'nobody')).status).toBe(404);
  expect((await asMember('nothing')).status).toBe(404);
});

it('what is being written is shown before it could be published, with what is missing', async () => {
  await tenantWith('T-DRAFT', { name: undefined });
  const draft = { tenant: 'T-DRAFT', newsletter_id: 'weekly', subject: 'Hi', format: 'markdown', body: '# Hi {name}' };
  const ask = (more: object, by = page) =>
    by.call('POST /api/emails/preview', { body: { request_id: randomUUID(), ...draft, ...more } });
  const past = { scheduled_at: '2020-01-01T00:00:00.000Z' };
  const { status, body } = await ask({ member_id: 'm-1', ...past });
  expect(status).toBe(200);
  expect(body.notes).toEqual([
    'The member has no {name}, and the post no fallback for it: the e-mail would not be sent.',
    expect.stringContaining('has no sender_name, no postal_address, no contact'),
  ]);
  const { entries } = await page.ok('GET /api/audit', { query: { target: 'm-1' } });
  expect(entries.map(({ what, on }) => [what, on])).toContainEqual(['email.preview', ['m-1']]);
  expect((await ask({ body: '{nmae}' })).status).toBe(400);
  expect((await ask({}, viewer)).status).toBe(403);
  expect((await access.emails.list('T-DRAFT')).emails).toEqual([]);
});
