import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { framedMail } from '../../src/adapters/post/mail-frame.ts';
import { parsePost } from '../../src/cli/commands/emails/post.ts';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, problem, startFakeConsole } from '../support/browser/fake-console.ts';
import { arriving } from '../support/newsletter/arriving.ts';
import { emailContent } from '../support/newsletter/job-rows.ts';

/** A script, a picture of the console's own, a link that runs, and a remote style: an author may write all of that. */
const HOSTILE =
  '<script>top.hacked = 1</script><img src="/api/session" onerror="top.hacked = 1"><a href="javascript:top.hacked=1">x</a>' +
  '<form action="/api/keys"><button>Send</button></form><meta http-equiv="refresh" content="0;url=https://e.example/">';

async function arrived(file: string, format: 'markdown' | 'html' | 'text') {
  const source = readFileSync(new URL(`../../examples/newsletters/${file}`, import.meta.url), 'utf8');
  return arriving({ ...parsePost(source, format, file), newsletter: emailContent().newsletter });
}

let browser: Browser;
let served: FakeConsole;
beforeAll(async () => {
  browser = await startBrowser();
  const posts = {
    EM1: await arrived('digest.md', 'markdown'),
    EM2: await arrived('designed.html', 'html'),
    EM3: await arrived('plain.txt', 'text'),
  };
  const { html, text, subject } = posts.EM1;
  const mail = (To: string, more: object = {}) => ({
    subject,
    headers: { From: 'News <news@example.com>', To, Subject: subject },
    text,
    notes: [],
    frame: framedMail(html.replace('</body>', `${HOSTILE}</body>`)),
    ...more,
  });
  const member = mail('mia@example.com', { member_id: 'M1', notes: ['The member was sent this.'] });
  const asked = (body: Buffer | string) => JSON.parse(String(body)).member_id;
  served = await startFakeConsole({
    'GET /api/emails/{email_id}/preview': (_, { email_id }) => {
      const post = email_id === 'EM2' || email_id === 'EM3' ? posts[email_id] : undefined;
      return mail('sample@example.com', post && { frame: framedMail(post.html) });
    },
    'POST /api/emails/{email_id}/preview': ({ body }) =>
      asked(body) === 'M1' ? member : problem(404, 'TENANT001 has no member M9: look by the address.'),
    'POST /api/emails/preview': ({ body }) => (asked(body) === 'M1' ? member : mail('sample@example.com')),
  });
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

const seen = (page: Page, what: string) =>
  page.evaluate(`(() => { const { contentDocument: page, contentWindow: view } = document.querySelector('.mail-window iframe');
    const style = (selector) => view.getComputedStyle(page.querySelector(selector)); return ${what}; })()`);
const ground = `style('.nr-card').backgroundColor`;
const padding = `style('.nr-card').paddingLeft`;

it('a mail is shown in a frame in which nothing runs, loads or is sent, as wide and as dark as is chosen', async () => {
  const { page, faults, origins } = await openTab(browser, served.url, { viewport: { width: 1280, height: 900 } });
  await page.goto('/newsletters/emails/EM1');
  await page.getByRole('button', { name: 'Preview' }).click();
  const dialog = page.getByRole('dialog', { name: 'Preview' });
  await dialog.getByText('sample@example.com').waitFor();
  await page.frameLocator('.mail-window iframe').locator('h1').first().waitFor();
  expect([await seen(page, ground), await seen(page, padding)]).toEqual(['rgb(255, 255, 255)', '32px']);
  await dialog.getByText('Dark', { exact: true }).click();
  await dialog.getByText('Phone', { exact: true }).click();
  expect([await seen(page, ground), await seen(page, padding)]).toEqual(['rgb(29, 33, 40)', '20px']);
  expect(await seen(page, `page.documentElement.scrollWidth - view.innerWidth`)).toBe(0);
  expect(await seen(page, `[...page.querySelectorAll('img, script, meta, [onerror], a[href^="j"]')].length`)).toBe(0);
  const picture = page.frameLocator('.mail-window iframe').locator('.nr-picture').first();
  expect(await picture.innerText()).toMatch(/^(?:\d+ × \d+|size not given) · ./);
  const requests = served.requests.length;
  await page.frameLocator('.mail-window iframe').getByRole('button', { name: 'Send' }).click();
  expect(served.requests.slice(requests).filter(({ method }) => method !== 'GET')).toEqual([]);
  expect(await page.evaluate('window.hacked')).toBeUndefined();
  expect([...origins]).toEqual([new URL(served.url).origin]);
  // What a click on its button was refused with.
  expect(faults.filter((fault) => !/form submission/i.test(fault))).toEqual([]);
});

it.each(['EM1', 'EM2', 'EM3'])('%s fits a phone, pictures and all, as the mail itself does', async (email_id) => {
  const { page } = await openTab(browser, served.url, { viewport: { width: 1280, height: 900 } });
  await page.goto(`/newsletters/emails/${email_id}`);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('dialog').getByText('Phone', { exact: true }).click();
  await page.frameLocator('.mail-window iframe').locator('.nr-footer').waitFor();
  await expect.poll(() => seen(page, `[view.innerWidth, page.documentElement.scrollWidth]`)).toEqual([390, 390]);
});

it('an operator sees it as a member gets it, and why not; a link opens beside the console', async () => {
  const { page } = await openTab(browser, served.url);
  await page.context().route(/^https?:\/\/(?!localhost|127)/, (route) => route.fulfill({ body: 'there' }));
  await page.goto('/newsletters/emails/EM1');
  await page.getByRole('button', { name: 'Preview' }).click();
  const dialog = page.getByRole('dialog', { name: 'Preview' });
  await dialog.getByLabel('As this member').fill('M9');
  await dialog.getByRole('button', { name: 'Show', exact: true }).click();
  await dialog.getByText('TENANT001 has no member M9').waitFor();
  await dialog.getByLabel('As this member').fill('M1');
  await dialog.getByRole('button', { name: 'Show', exact: true }).click();
  await dialog.getByText('mia@example.com').waitFor();
  await dialog.getByText('The member was sent this.').waitFor();
  const link = page.frameLocator('.mail-window iframe').getByRole('link', { name: 'Unsubscribe' }).first();
  const [opened] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
  await opened.waitForLoadState();
  expect([opened.url(), await opened.evaluate('window.opener')]).toEqual([expect.stringMatching(/^https?:/), null]);
  expect(page.url()).toContain('/newsletters/emails/EM1');
});

it('what is being written is shown before it is sent, as it stands in the form', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/newsletters');
  await page.getByRole('button', { name: 'New e-mail' }).click();
  const dialog = page.getByRole('dialog', { name: 'New e-mail' });
  await dialog.getByRole('button', { name: 'Preview mail' }).click();
  expect(await page.getByRole('dialog', { name: 'Preview' }).count()).toBe(0);
  await dialog.getByLabel('Subject').fill('Spring');
  await dialog.getByLabel('Text').fill('Hello');
  await dialog.getByRole('button', { name: 'Preview mail' }).click();
  const preview = page.getByRole('dialog', { name: 'Preview' });
  await preview.getByText('sample@example.com').waitFor();
  await preview.getByLabel('As this member').fill('M1');
  await preview.getByRole('button', { name: 'Show', exact: true }).click();
  await preview.getByText('mia@example.com').waitFor();
  const asked = served.requests
    .filter(({ path }) => path === '/api/emails/preview')
    .map(({ body }) => JSON.parse(String(body)));
  expect(asked).toMatchObject([
    { subject: 'Spring', body: 'Hello' },
    { subject: 'Spring', body: 'Hello', member_id: 'M1' },
  ]);
  await preview.getByRole('button', { name: 'Close' }).click();
  expect(await dialog.getByLabel('Subject').inputValue()).toBe('Spring');
});

it.each([
  [1280, 'light'],
  [1280, 'dark'],
  [390, 'light'],
  [390, 'dark'],
] as const)('axe finds nothing in it at %s px, %s, and it fits', async (width, colorScheme) => {
  const { page } = await openTab(browser, served.url, { viewport: { width, height: 844 }, colorScheme });
  await page.goto('/newsletters/emails/EM1');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.frameLocator('.mail-window iframe').locator('h1').first().waitFor();
  const pictures = process.env['PICTURES'];
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/preview-${width}-${colorScheme}.png` });
  for (const name of ['Dark', 'Phone']) {
    await page.getByRole('dialog').getByText(name, { exact: true }).click();
    expect(await axeFindings(page)).toEqual([]);
    if (pictures !== undefined)
      await page.screenshot({ path: `${pictures}/preview-${width}-${colorScheme}-${name}.png` });
  }
  expect(
    await page.evaluate(`document.querySelector('dialog').scrollWidth - document.querySelector('dialog').clientWidth`),
  ).toBe(0);
});
