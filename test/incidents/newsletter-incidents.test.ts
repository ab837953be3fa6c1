import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { BreakableStorage, type StorageFault } from '../support/newsletter/flow/breakable-storage.ts';
import { type EmailStatus, NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { ended } from '../support/newsletter/flow/sent-newsletter.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
const PATIENCE = 90_000;
const post = { subject: 'News', body: 'Hello' };
let storage: BreakableStorage;

const limit = (limits: object) =>
  fetch(`${flow.endpoints.endpoints.ses}/_limits`, { method: 'PUT', body: JSON.stringify(limits) });
const mailed = async (email_id: string) => (await client.receipts(email_id)).map(({ to }) => to).sort();
const subscribe = async (label: string, words: readonly string[]) => {
  const members = words.map((word, i) => ({ member_id: `${label}-${i}`, email: `${word}+${label}${i}@example.com` }));
  await client.upsert(members.map((member) => ({ ...member, labels: [label], newsletters: ['weekly'] })));
  return members.map(({ email }) => email).sort();
};
const readers = (count: number) => Array.from({ length: count }, () => 'reader');
const until = (email_id: string, wanted: (status: EmailStatus) => boolean) =>
  eventually(async () => {
    const status = await client.status(email_id);
    return wanted(status) ? status : undefined;
  }, PATIENCE);

beforeAll(async () => {
  storage = await BreakableStorage.start(() => flow.endpoints.endpoints.dynamodb);
  await flow.start({ sesLimits: { per_second: 400 }, functionsDynamodb: storage.url });
  await client.setUpNewsletter();
}, 300_000);
afterAll(async () => {
  await flow.stop();
  await storage?.close();
  flow.remove();
}, 60_000);

/** Breaks what a newsletter writes, until calls have failed for longer than the SDK repeats them. */
async function outage(fault: StorageFault): Promise<void> {
  const { email_batches = '', email_recipients = '' } = flow.endpoints.tables;
  const operations = ['UpdateItem', 'BatchWriteItem', 'PutItem'];
  storage.break({ fault, tables: [email_batches, email_recipients], operations });
  await eventually(async () => (storage.failed > 0 ? true : undefined), PATIENCE);
  await setTimeout(2_500);
  storage.mend();
}

it('a newsletter whose storage throttles, refuses, fails and forgets its answers reaches everybody once', async () => {
  const members = await subscribe('storage', readers(240));
  await limit({ per_second: 20 });
  const faults = ['failing', 'throttled', 'denied', 'forgetful'] as const;
  // The first one while the recipients are frozen.
  const preparing = outage(faults[0]);
  const id = await client.publish({ ...post, segment: 'label:storage' });
  await preparing;
  for (const fault of faults.slice(1)) {
    const { counts } = await client.status(id);
    await until(id, (status) => status.counts.submitted > counts.submitted);
    await outage(fault);
  }
  await limit({ per_second: 400 });
  const { status, counts } = await ended(client, id, PATIENCE);
  expect({ status, counts }).toMatchObject({
    status: 'submitted',
    counts: { recipients: 240, submitted: 240, failed: 0, uncertain: 0, excluded: 0 },
  });
  expect(await mailed(id)).toEqual(members);
  expect(flow.logs()).toContain('[BULK_EMAIL_DB_RETRY]');
}, 180_000);

it('a newsletter whose provider lowers its rate is refused calls for a while, and nobody fails', async () => {
  const members = await subscribe('rate', readers(120));
  const id = await client.publish({ ...post, segment: 'label:rate' });
  await until(id, (status) => status.counts.recipients > 0);
  await limit({ per_second: 25 });
  expect(await ended(client, id, PATIENCE)).toMatchObject({
    status: 'submitted',
    counts: { submitted: 120, failed: 0, uncertain: 0 },
  });
  await limit({ per_second: 400 });
  expect(await mailed(id)).toEqual(members);
}, 120_000);

describe('a recipient of whom nobody knows', () => {
  const decide = (id: string, decision: '--resend' | '--leave') =>
    flow.opsJson<{ status: string; resolved: number; waiting_until: string }>('emails', 'resolve', id, decision);
  const listed = (id: string) => flow.opsJson<readonly object[]>('emails', 'recipients', id, '--state', 'uncertain');
  /** The call was lost before SES took the mail of the first one; events resolve its neighbours. */
  const lost = async (label: string) => {
    const members = await subscribe(label, ['drop-1', ...readers(20)]);
    const id = await client.publish({ ...post, segment: `label:${label}` });
    const { counts } = await until(id, ({ status, counts }) => status === 'submitted' && counts.uncertain === 1);
    expect(counts).toMatchObject({ recipients: 21, submitted: 20, pending: 0 });
    return { id, members };
  };

  it('gets the mail when an operator says `resend`, and nobody else gets it again', async () => {
    const { id, members } = await lost('resent');
    expect(await listed(id)).toHaveLength(1);
    // Locally, it takes them after a minute.
    const early = await decide(id, '--resend');
    expect(early).toMatchObject({ resolved: 0, waiting: 1 });
    await setTimeout(Date.parse(early.waiting_until) - Date.now() + 1_000);
    expect(await decide(id, '--resend')).toMatchObject({ status: 'submitting', resolved: 1 });
    const { counts } = await until(id, ({ status }) => status === 'submitted');
    expect(counts).toMatchObject({ submitted: 21, uncertain: 0, failed: 0 });
    expect(await mailed(id)).toEqual(members);
    expect(await decide(id, '--resend'), 'again').toMatchObject({ status: 'submitted', resolved: 0 });
  }, 240_000);

  it('stays uncertain when an operator says `leave`, and is not asked about again', async () => {
    const { id, members } = await lost('left');
    expect(await decide(id, '--leave')).toMatchObject({ status: 'submitted', resolved: 1 });
    expect(await client.status(id)).toMatchObject({ counts: { submitted: 20, uncertain: 1 }, uncertain_left: 1 });
    expect(await decide(id, '--leave'), 'again').toMatchObject({ resolved: 0 });
    expect((await mailed(id)).length).toBe(members.length - 1);
  }, 120_000);
});

describe('members who must not get it any more, decided while it is sent,', () => {
  it('get no mail, and are counted by the reason', async () => {
    const members = await subscribe('late', readers(80));
    const first = await client.publish({ ...post, segment: 'label:late' });
    await ended(client, first, PATIENCE);
    const links = new Map((await client.receipts(first)).map(({ to, headers }) => [to, headers['List-Unsubscribe']]));
    await limit({ per_second: 8 });
    const id = await client.publish({ ...post, segment: 'label:late' });
    await until(id, (status) => status.counts.submitted > 0);
    const waiting = (await client.recipients(id, 'pending')).map(({ member_email }) => member_email);
    const [suppressed = '', unsubscribed = ''] = waiting.slice(-2);
    await flow.ops('members', 'suppress', '--email', suppressed, '--tenant', 'T951');
    const link = /<(.*)>/.exec(links.get(unsubscribed) ?? '')?.[1] ?? '';
    expect((await fetch(link, { method: 'POST', body: 'List-Unsubscribe=One-Click' })).status).toBe(200);
    await limit({ per_second: 400 });
    const { status, counts, excluded_by_reason } = await ended(client, id, PATIENCE);
    expect({ status, counts, excluded_by_reason }).toMatchObject({
      status: 'submitted',
      counts: { recipients: 80, submitted: 78, excluded: 2, failed: 0, uncertain: 0 },
      excluded_by_reason: { suppressed: 1, unsubscribed: 1 },
    });
    expect(await mailed(id)).toEqual(members.filter((email) => email !== suppressed && email !== unsubscribed));
  }, 120_000);
});

it('the sums of all newsletters hold, recounted from their chunks', async () => {
  const verified = await flow.opsJson<{ emails: number; recipients: { total: number } }>('verify');
  expect(verified).toMatchObject({ holds: true, violations: [] });
  expect(verified.emails).toBeGreaterThan(5);
  expect(verified.recipients.total).toBeGreaterThan(500);
}, 120_000);
