import { afterAll, expect, it } from 'vitest';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { BODY, ended, MEMBERS, members } from '../support/newsletter/flow/sent-newsletter.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
afterAll(async () => {
  await flow.stop();
  flow.remove();
}, 60_000);

/** The dead are noticed sooner than in production. */
const settings = { dataDir: `${flow.directory}/data`, sesLimits: { per_second: 400 }, newsletterPatienceSeconds: 46 };

it('a newsletter is sent on after the runtime was killed, and nobody gets it twice', async () => {
  await flow.start(settings);
  await client.setUp(members);
  const id = await client.publish({ subject: 'More', body: BODY });
  await eventually(async () => ((await client.receipts(id)).length >= 100 ? true : undefined), 60_000);
  await flow.stop('SIGKILL');
  await flow.start(settings);
  const { counts, status } = await ended(client, id, 300_000);
  expect(status).toBe('submitted');
  const receipts = await client.receipts(id);
  expect(new Set(receipts.map(({ to }) => to)).size).toBe(receipts.length);
  expect(counts).toMatchObject({ recipients: MEMBERS, pending: 0, excluded: 0, failed: 1 });
  // Calls that were open when the runtime died: at most one of each of the two batches.
  expect(counts.uncertain).toBeLessThanOrEqual(100);
  expect(receipts.length).toBeGreaterThanOrEqual(counts.submitted);
  expect(receipts.length).toBeLessThanOrEqual(counts.submitted + counts.uncertain);
}, 400_000);
