import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { Flow } from '../support/flow/harness.ts';
import { eventually } from '../support/local/tiny-app.ts';
import { NewsletterClient } from '../support/newsletter/flow/newsletter-client.ts';
import { ended } from '../support/newsletter/flow/sent-newsletter.ts';

const flow = new Flow();
const client = new NewsletterClient(flow);
let browser: Browser;
beforeAll(async () => {
  [browser] = await Promise.all([startBrowser(), flow.start({})]);
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await flow.end();
}, 60_000);

it('a reader unsubscribes by the link of a received mail, with one click on the page', async () => {
  await client.setUp([{ email: 'reader@example.com' }]);
  const id = await client.publish({ subject: 'News', body: 'Hello' });
  await ended(client, id, 80_000);
  const [receipt] = await client.receipts(id);
  const link = /<(.*)>/.exec(receipt?.headers['List-Unsubscribe'] ?? '')?.[1] ?? '';
  const { page, faults, origins } = await openTab(browser, link);
  await page.goto(link);
  expect(await axeFindings(page)).toEqual([]);
  await page.getByRole('button', { name: 'Unsubscribe' }).click();
  await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
  expect(faults).toEqual([]);
  expect([...origins], 'nothing from elsewhere').toEqual([new URL(link).origin]);
  await eventually(async () => ((await client.status(id)).counts.unsubscribed === 1 ? true : undefined), 20_000);
}, 120_000);
