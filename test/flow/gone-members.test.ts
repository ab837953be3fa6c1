import { afterAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { ended } from '../support/newsletter/flow/sent-newsletter.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
afterAll(() => flow.end(), 60_000);

const MEMBERS = 40;
const addressOf = (member_id: string) => `${member_id}@example.com`;

it('who is erased, deleted, taken away, moved or unsubscribed once a mailing is prepared does not get it, each with the reason', async () => {
  // Few mails go out before the mailing is paused.
  await flow.start({ sesLimits: { per_second: 5 }, console: false });
  await client.setUpNewsletter();
  const given = Array.from({ length: MEMBERS }, (_, i) => ({ member_id: `m-${i}`, newsletters: ['weekly'] }));
  await client.upsert(given.map((one) => ({ ...one, email: addressOf(one.member_id) })));
  const id = await client.publish({ subject: 'News', body: 'Hello' });
  await eventually(async () => ((await client.status(id)).phase === 'sending' ? true : undefined), 30_000);
  await client.decide(id, 'pause');
  await eventually(async () => ((await client.status(id)).phase === 'paused' ? true : undefined), 30_000);
  // A call that was under way has ended.
  await eventually(async () => {
    const { submitted } = (await client.status(id)).counts;
    return (await client.receipts(id)).length === submitted ? true : undefined;
  }, 30_000);

  const waiting = (await client.recipients(id, 'pending')).map(({ member_id }) => member_id);
  expect(waiting.length).toBeGreaterThan(7);
  const [erased = '', deleted = '', removed = '', moved = '', unsubscribed = '', back = '', shared = ''] = waiting;
  const forget = ['forget', '--tenant', 'T951', '--recipient', '-', '--json'];
  expect((await flow.opsInput(addressOf(erased), ...forget)).code).toBe(0);
  await client.delete(deleted);
  await client.delete(back);
  const member = (member_id: string, changes: object) => ({ member_id, email: addressOf(member_id), ...changes });
  await client.upsert([
    member(removed, { newsletters: [] }),
    member(moved, { email: 'elsewhere@example.com' }),
    member(unsubscribed, { unsubscribed: { weekly: new Date().toISOString() } }),
    member(back, { newsletters: ['weekly'] }),
    { member_id: 'other', email: addressOf(shared), newsletters: ['weekly'] },
  ]);
  await client.delete(shared);

  await client.decide(id, 'resume');
  const { counts, excluded_by_reason } = await ended(client, id, 60_000);
  const gone = { erased, deleted, removed, moved, unsubscribed };
  expect(excluded_by_reason).toEqual(Object.fromEntries(Object.keys(gone).map((reason) => [reason, 1])));
  expect(counts).toMatchObject({ recipients: MEMBERS, submitted: MEMBERS - 5, excluded: 5, pending: 0, failed: 0 });
  const mailed = (await client.receipts(id)).map(({ to }) => to);
  expect(mailed.sort()).toEqual(
    given.flatMap(({ member_id }) => (Object.values(gone).includes(member_id) ? [] : [addressOf(member_id)])).sort(),
  );
  for (const [reason, member_id] of Object.entries(gone)) {
    const found = (await client.recipients(id, 'excluded')).find((one) => one.member_id === member_id);
    expect(found).toMatchObject({ state: 'excluded', reason });
  }
}, 180_000);
