import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Email } from '../../src/core/newsletter/model/email.ts';
import { emailAccess } from '../../src/operator-service/emails.ts';
import type { RouteKey } from '../../src/operator-service/routes.ts';
import { type Operations, startOperations } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';
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
  it('are listed by tenant and of all tenants, with their e-mails', async () => {
    const email_id = await email('T-LIST');
    const one = await page.ok('GET /api/newsletters', { query: { tenant: 'T-LIST' } });
    expect(one.newsletters.map(({ newsletter_id }) => newsletter_id)).toEqual(['weekly']);
    const all = await page.ok('GET /api/newsletters');
    expect(all.newsletters.map(({ tenant_id }) => tenant_id)).toContain('T-LIST');
    const { emails } = await page.ok('GET /api/emails', { query: { tenant: 'T-LIST' } });
    expect(emails.map((summary) => summary.email_id)).toEqual([email_id]);
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
