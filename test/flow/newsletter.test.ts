import { afterAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { BODY, ended, MEMBERS, members } from '../support/newsletter/flow/sent-newsletter.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
afterAll(() => flow.end(), 60_000);

it('a newsletter reaches each member once, with headers and tags of their own, and refusals are counted', async () => {
  await flow.start({ dataDir: `${flow.directory}/data`, sesLimits: { per_second: 400 }, console: false });
  await client.setUp(members);
  const id = await client.publish({ subject: 'News for {name, "you"}', body: BODY });
  const { counts } = await ended(client, id, 80_000);
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
