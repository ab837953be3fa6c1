import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { ended } from '../support/newsletter/flow/sent-newsletter.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
/** The first one's call is never answered. */
const members = Array.from({ length: 60 }, (_, i) => `${i === 0 ? 'unanswered' : 'reader'}+${i}@example.com`);
const PATIENCE = 90_000;
/** What holds is asked again within five minutes; the mails follow. */
const WITHIN = 330_000;

/** Only faults: the account's rate is trusted for five minutes, so another one would hold at some time or other. */
const limit = (limits: { readonly per_day?: number; readonly sending?: boolean }) =>
  fetch(`${flow.endpoints.endpoints.ses}/_limits`, { method: 'PUT', body: JSON.stringify(limits) });
const mailed = async (email_id: string) => (await client.receipts(email_id)).map(({ to }) => to).sort();
/** Waits until events have resolved the call that was not answered. */
const settled = (email_id: string) =>
  eventually(async () => {
    const found = await client.status(email_id);
    return found.status === 'submitted' && found.counts.uncertain === 0 ? found : undefined;
  }, PATIENCE);

/** Waits until the email holds, and says that it goes on by itself. */
async function holding(email_id: string, why: string) {
  const held = await eventually(async () => {
    const found = await client.status(email_id);
    return found.phase === 'waiting' && found.waits?.for === why ? found : undefined;
  }, PATIENCE);
  const message = expect.stringMatching(/goes on by itself/);
  expect(held.waits).toMatchObject({ asks_at: expect.any(String), message });
  return held;
}

/** Nobody got it twice, and nobody is left. */
async function goesOn(email_id: string, to: readonly string[]) {
  await eventually(async () => ((await client.status(email_id)).status === 'submitted' ? true : undefined), WITHIN);
  await settled(email_id);
  expect(await mailed(email_id)).toEqual([...to].sort());
}

beforeAll(async () => {
  // Slow, so that a test can do something between two calls of fifty.
  await flow.start({ sesLimits: { per_second: 10 } });
  await client.setUpNewsletter();
  const given = members.map((email, i) => ({ member_id: `m-${i}`, email, status: 'free', newsletters: ['weekly'] }));
  await client.upsert(given);
}, 300_000);
afterAll(() => flow.end(), 60_000);

describe('a newsletter that cannot be published gets a sentence, and nothing is half done', () => {
  const post = { newsletter_id: 'weekly', subject: 'News', body: 'Hello', format: 'text' };
  const past = new Date(Date.now() - 60_000).toISOString();

  it.each([
    ['an unknown newsletter', { newsletter_id: 'daily' }, /no newsletter daily: PUT \/v1\/newsletters\/daily makes it/],
    ['a segment with an unknown field', { segment: 'age:9' }, /age.*status/s],
    ['a segment that is none', { segment: 'status:' }, /segment/i],
    ['an unknown merge field', { body: 'Dear {nmae}' }, /^{nmae} is no merge field\. The fields are {name}/],
    ['a time that has passed', { scheduled_at: past }, /has passed: leave it out to send at once/],
    ['a window of no time', { delivery_window_minutes: 0 }, /1 to 10080/],
    ['a format that is none', { format: 'pdf' }, /html, markdown, text/],
  ])('%s', async (_, wrong, sentence) => {
    const { status, detail } = await client.refused('/v1/emails', { ...post, ...wrong });
    expect(status).toBe(400);
    expect(detail).toMatch(sentence);
  });

  it('a sender that SES has not verified', async () => {
    await client.put({ name: 'Weekly', from: 'news@unverified.test' });
    const { detail } = await client.refused('/v1/emails', post);
    await client.put({ name: 'Weekly', from: 'Weekly <weekly@example.com>' });
    expect(detail).toMatch(/SES has not verified unverified\.test .* Verify the domain in the SES console/);
  });

  it('has stored no email', async () => expect(await client.emails()).toEqual([]));

  it('a segment that nobody matches fails the email, which can be cancelled', async () => {
    const id = await client.publish({ subject: 'News', body: 'Hello', segment: 'label:nobody' });
    const { status, error, counts } = await ended(client, id, PATIENCE);
    expect({ status, error }).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/choose another segment/),
    });
    expect(counts).toMatchObject({ recipients: 0, pending: 0, submitted: 0 });
    expect(await client.decide(id, 'cancel')).toMatchObject({ status: 'cancelled' });
  }, 120_000);

  it('a line of a file that is no member, while the others are imported', async () => {
    const file = `${flow.directory}/some.csv`;
    writeFileSync(file, 'email,status\nno-address,free\nreader+0@example.org,paid\nreader+1@example.org,rich\n');
    const { stdout, stderr } = await flow.ops('members', 'import', file, '--tenant', 'T951', '--newsletter', 'weekly');
    expect(stdout + stderr).toMatch(/line 2.*email/is);
    expect(stdout + stderr).toMatch(/line 4.*status/is);
  });
});

describe('a newsletter whose provider', () => {
  it('does not answer a call is uncertain until events tell, and nobody gets it twice', async () => {
    const id = await client.publish({ subject: 'First', body: 'Hello', segment: 'status:free' });
    const { counts } = await settled(id);
    expect(counts).toMatchObject({ recipients: 60, submitted: 60, failed: 0 });
    expect(await mailed(id)).toEqual([...members].sort());
  }, 120_000);

  it('pauses the account in the middle holds, says for what, and goes on by itself within five minutes', async () => {
    const id = await client.publish({ subject: 'Second', body: 'Hello', segment: 'status:free' });
    await eventually(async () => ((await client.receipts(id)).length > 0 ? true : undefined), PATIENCE);
    await limit({ sending: false });
    try {
      const held = await holding(id, 'account');
      const before = await mailed(id);
      expect(before.length).toBeLessThan(60);
      expect(held).toMatchObject({ status: 'submitting', counts: { failed: 0, pending: 60 - before.length } });
    } finally {
      await limit({ sending: true });
    }
    await goesOn(id, members);
  }, 600_000);
});

/** Publishes slowly, does something in the middle, and says what the email waits for then: by the API, the command, the console. */
async function heldBy(
  post: Parameters<typeof client.publish>[0],
  phase: string,
  act: (id: string) => Promise<unknown>,
) {
  const id = await client.publish(post);
  await eventually(async () => ((await client.receipts(id)).length > 0 ? true : undefined), PATIENCE);
  await act(id);
  const { waits } = await eventually(async () => {
    const found = await client.status(id);
    return found.phase === phase ? found : undefined;
  }, WITHIN);
  const shown = await flow.opsJson<{ phase: string; waits?: { for: string } }>('emails', 'status', id);
  expect(shown).toMatchObject({ phase, ...(waits && { waits: { for: waits.for } }) });
  const { stdout } = await flow.ops('emails', 'status', id);
  expect(stdout).toContain(waits?.message ?? phase);
  const answer = await fetch(new URL(`/api/emails/${id}`, flow.endpoints.endpoints.console));
  expect(await answer.json()).toMatchObject({ email: { phase, ...(waits && { waits: { for: waits.for } }) } });
  return { id, waits };
}

describe('a newsletter that waits', () => {
  it('for an operator who paused it goes on at once', async () => {
    const { id } = await heldBy({ subject: 'P', body: 'Hello', segment: 'status:free' }, 'paused', (one) =>
      client.decide(one, 'pause'),
    );
    await client.decide(id, 'resume');
    await goesOn(id, members);
  }, 600_000);

  it('for a sender that an operator took from its tenant goes on when it is allowed again', async () => {
    const senders = (what: string) => flow.opsJson('senders', what, 'other@example.com', '--tenant', 'T951');
    // Who has senders writes as no other.
    const post = { subject: 'S', body: 'Hello', segment: 'status:free' };
    const { id, waits } = await heldBy(post, 'waiting', async (one) => {
      await client.decide(one, 'pause');
      const isAtWork = async () => (await client.status(one)).batches.submitting > 0;
      await eventually(async () => ((await isAtWork()) ? undefined : true), PATIENCE);
      await senders('allow');
      await client.decide(one, 'resume');
    });
    expect(waits).toMatchObject({ for: 'sender', message: expect.stringContaining('ops senders') });
    expect(Date.parse(waits?.asks_at ?? '') - Date.now()).toBeLessThan(240_000);
    await senders('revoke');
    await goesOn(id, members);
  }, 900_000);
});

describe('a scheduled newsletter', () => {
  const soon = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

  it('is started at its time by its schedule', async () => {
    const id = await client.publish({ subject: 'Third', body: 'Hello', segment: 'status:paid', scheduled_at: soon(5) });
    expect((await client.status(id)).phase).toBe('scheduled');
    expect(await ended(client, id, PATIENCE)).toMatchObject({ status: 'submitted', counts: { submitted: 1 } });
  }, 120_000);

  it('is started by the clock where there is no schedule', async () => {
    writeFileSync(`${flow.directory}/post.md`, '# Fourth\n\nHello');
    // The command takes seconds on a busy machine.
    const at = soon(20);
    const id = await client.send(`${flow.directory}/post.md`, '--segment', 'status:paid', '--scheduled-at', at);
    await eventually(() => (Date.now() > Date.parse(at) + 100 ? true : undefined), PATIENCE);
    await flow.invoke('newsletter-clock', {});
    expect(await ended(client, id, PATIENCE)).toMatchObject({ status: 'submitted', counts: { submitted: 1 } });
  }, 120_000);
});

it('an unsubscribe link shows a page, unsubscribes by one click, and is worth nothing when it is changed', async () => {
  const id = await client.publish({ subject: 'Fifth', body: 'Hello', segment: 'status:paid' });
  await ended(client, id, PATIENCE);
  const [receipt] = await client.receipts(id);
  const url = /<(.*)>/.exec(receipt?.headers['List-Unsubscribe'] ?? '')?.[1] ?? '';
  const click = (to: string) => fetch(to, { method: 'POST', body: 'List-Unsubscribe=One-Click' });
  const page = await fetch(url);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('Unsubscribe from Weekly?');
  expect((await client.status(id)).counts).toMatchObject({ unsubscribed: 0 });
  const altered = url.replace(/[^.]+$/, (signature) => [...signature].reverse().join(''));
  expect((await click(altered)).status).toBe(404);
  expect((await click(url.replace('.00000.0.0.', '.00000.0.1.'))).status).toBe(404);
  expect((await click(url)).status).toBe(200);
  expect((await click(url)).status, 'again').toBe(200);
  expect((await client.status(id)).counts).toMatchObject({ unsubscribed: 1 });
  const next = await client.publish({ subject: 'Sixth', body: 'Hello', segment: 'status:paid' });
  expect(await ended(client, next, PATIENCE)).toMatchObject({ status: 'failed', counts: { recipients: 0 } });
  expect(flow.logs()).not.toContain(url.slice(url.lastIndexOf('/') + 1));
}, 180_000);

it('a newsletter whose mails SES rejects after it took them holds, and nobody is lost', async () => {
  const given = (i: number) => ({ member_id: `r-${i}`, email: `reject+${i}@example.com`, labels: ['rejected'] });
  await client.upsert(Array.from({ length: 12 }, (_, i) => ({ ...given(i), newsletters: ['weekly'] })));
  const id = await client.publish({ subject: 'Seventh', body: 'Hello', segment: 'label:rejected' });
  const held = await eventually(async () => {
    const found = await client.status(id);
    return found.waits?.for === 'refused' ? found : undefined;
    // An event that comes while its call is open comes back.
  }, WITHIN);
  expect(held.waits?.message).toMatch(/rejected, by events after it had accepted the mails/);
  const { counts } = await eventually(async () => {
    const found = await client.status(id);
    return found.counts.pending + found.counts.submitted === 12 ? found : undefined;
  }, WITHIN);
  expect(counts).toMatchObject({ recipients: 12, failed: 0 });
  expect(await client.decide(id, 'cancel')).toMatchObject({ status: 'submitting' });
}, 700_000);

// The last one: nothing is sent for minutes after SES said that the quota is used up.
it('a newsletter that reaches the quota of the day waits, nothing fails, and goes on by itself within five minutes', async () => {
  const sent = (await Promise.all((await client.emails()).map(({ email_id }) => client.receipts(email_id)))).flat();
  await limit({ per_day: sent.length + 20 });
  // Without the one whose call is not answered.
  const id = await client.publish({
    subject: 'Eighth',
    body: 'Hello',
    segment: 'status:free+member_id:-m-0+label:-rejected',
  });
  const held = await holding(id, 'allowance');
  expect(held).toMatchObject({ status: 'submitting', counts: { recipients: 59, failed: 0, uncertain: 0 } });
  expect(held.counts.pending).toBeGreaterThanOrEqual(39);
  expect((await client.receipts(id)).length).toBeLessThanOrEqual(20);
  await limit({ per_day: 1_000_000 });
  await goesOn(id, members.slice(1));
}, 600_000);
