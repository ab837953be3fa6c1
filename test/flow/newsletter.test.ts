import { afterAll, describe, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
afterAll(async () => {
  await flow.stop();
  flow.remove();
}, 60_000);

/** The dead are noticed sooner than in production. */
const settings = { dataDir: `${flow.directory}/data`, sesLimits: { per_second: 400 }, newsletterPatienceSeconds: 46 };
const MEMBERS = 500;
/** Addresses that the local SES treats in a special way, by their place among the members. */
const SPECIAL: Readonly<Record<number, string>> = { 7: 'missing', 77: 'flaky-1', 177: 'bounce' };
const members = Array.from({ length: MEMBERS }, (_, i) => ({
  email: `${SPECIAL[i] ?? 'reader'}+${i}@example.com`,
  ...(i % 3 === 0 && { name: `Reader ${i}` }),
}));
const BODY = '# News\n\nDear {name, "reader"},\n\n{{ stays }} as it is.';

describe('a newsletter', () => {
  it('reaches each member once, with headers and tags of their own, and refusals are counted', async () => {
    await flow.start(settings);
    await client.setUp(members);
    const id = await client.publish({ subject: 'News for {name, "you"}', body: BODY });
    const { counts } = await eventually(async () => {
      const found = await client.status(id);
      expect(sumOf(found.counts)).toBe(found.counts.recipients);
      return found.status === 'submitted' || found.status === 'failed' ? found : undefined;
    }, 80_000);
    expect(counts).toMatchObject({ recipients: MEMBERS, submitted: MEMBERS - 1, failed: 1, uncertain: 0, pending: 0 });
    const receipts = await client.receipts(id);
    const expected = members.map(({ email }) => email).filter((email) => !email.startsWith('missing'));
    expect(receipts.map(({ to }) => to).sort()).toEqual(expected.sort());
    expect(new Set(receipts.map(({ tags }) => `${tags['chunk']} ${tags['n']}`)).size).toBe(MEMBERS - 1);
    expect(receipts[0]?.headers).toEqual({
      'List-Unsubscribe': expect.stringMatching(/^<http:\/\/127\.0\.0\.1:\d+\/u\/[\w.-]+>$/),
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    });
    expect(receipts.find(({ to }) => to === 'reader+3@example.com')).toMatchObject({ subject: 'News for Reader 3' });
    expect(receipts.find(({ to }) => to === 'reader+4@example.com')).toMatchObject({ subject: 'News for you' });
    expect(flow.logs()).not.toMatch(/reader\+\d+@|Reader \d/);
  }, 150_000);

  it('is sent on after the runtime was killed, and nobody gets it twice', async () => {
    const id = await client.publish({ subject: 'More', body: BODY });
    await eventually(async () => ((await client.receipts(id)).length >= 100 ? true : undefined), 60_000);
    await flow.stop('SIGKILL');
    await flow.start(settings);
    const { counts } = await eventually(async () => {
      const found = await client.status(id);
      expect(sumOf(found.counts)).toBe(found.counts.recipients);
      return found.status === 'submitted' ? found : undefined;
    }, 300_000);
    const receipts = await client.receipts(id);
    expect(new Set(receipts.map(({ to }) => to)).size).toBe(receipts.length);
    // The mail that bounced suppressed its member for this one.
    expect(counts).toMatchObject({ recipients: MEMBERS, pending: 0, excluded: 1, failed: 1 });
    // Calls that were open when the runtime died: at most one of each of the two batches.
    expect(counts.uncertain).toBeLessThanOrEqual(100);
    expect(receipts.length).toBeGreaterThanOrEqual(counts.submitted);
    expect(receipts.length).toBeLessThanOrEqual(counts.submitted + counts.uncertain);
  }, 400_000);
});

function sumOf(counts: Record<'pending' | 'submitted' | 'excluded' | 'failed' | 'uncertain', number>): number {
  const { pending, submitted, excluded, failed, uncertain } = counts;
  return pending + submitted + excluded + failed + uncertain;
}
