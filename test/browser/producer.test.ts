import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { ExamplePage } from '../support/browser/example-page.ts';

const LONG = { timeout: 100_000 };
/** A text in quotes would match `Being sent.`, too. */
const SENT = /^Sent\.$/;

const example = new ExamplePage();
let browser: Browser;
beforeAll(async () => {
  [browser] = await Promise.all([startBrowser(), example.start()]);
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await example.stop();
});

async function open(context?: BrowserContext): Promise<Page> {
  const page = context === undefined ? (await openTab(browser, example.url)).page : await context.newPage();
  await page.goto(example.url);
  await page.locator('main[aria-busy=false]').waitFor();
  return page;
}

async function write(page: Page, recipient: string, text: string): Promise<void> {
  await page.getByLabel('Send to').fill(recipient);
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('listitem').filter({ hasText: text }).waitFor();
}

const item = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text });
const shows = (page: Page, text: string, message: string | RegExp) =>
  item(page, text).getByRole('status').filter({ hasText: message }).waitFor(LONG);

/** What pages of the context post to the API, and how many of these requests were under way at once. */
function watchPosts(context: BrowserContext) {
  const seen = { keys: [] as string[], bodies: [] as string[], statuses: [] as number[], atOnce: 0 };
  let underWay = 0;
  const isPost = (url: string, method: string) => method === 'POST' && url === `${example.api}/v1/notifications`;
  context.on('request', (request) => {
    if (!isPost(request.url(), request.method())) return;
    underWay++;
    seen.atOnce = Math.max(seen.atOnce, underWay);
    seen.keys.push(request.headers()['idempotency-key'] ?? '');
    seen.bodies.push((request.postDataJSON() as { body: string }).body);
  });
  const ended = (request: Request) => {
    if (isPost(request.url(), request.method())) underWay--;
  };
  context.on('requestfinished', ended);
  context.on('requestfailed', ended);
  context.on('response', (response) => {
    if (isPost(response.url(), response.request().method())) seen.statuses.push(response.status());
  });
  return seen;
}

const texts = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`);

describe('a page without network', () => {
  it('keeps ten notifications, its tab is closed, and another one delivers each once', async () => {
    const page = await open();
    const context = page.context();
    await context.setOffline(true);
    await page.getByText('No network.').waitFor();
    const ten = texts('offline', 10);
    for (const text of ten) await write(page, example.recipient(text), text);
    await shows(page, 'offline-9', 'Waiting to be sent.');
    await page.close();

    const posts = watchPosts(context);
    await context.setOffline(false);
    const other = await open(context);
    for (const text of ten) await shows(other, text, SENT);
    expect(posts.bodies).toEqual(ten);
    expect(new Set(posts.keys).size).toBe(10);
    await expect.poll(() => example.delivered('offline-'), LONG).toEqual([...ten].sort());
    await context.close();
  }, 180_000);

  it('with two tabs sends each once, one at a time, when the network is back', async () => {
    const [one] = [await open()];
    const context = one.context();
    const two = await open(context);
    await context.setOffline(true);
    const all = texts('tabs', 6);
    for (const [i, text] of all.entries()) await write(i % 2 ? one : two, example.recipient(text), text);
    // Each tab shows what the other one was told.
    await item(one, 'tabs-0').waitFor();
    const posts = watchPosts(context);
    await context.setOffline(false);
    for (const page of [one, two]) for (const text of all) await shows(page, text, SENT);
    expect(posts.bodies).toEqual(all);
    expect(posts.atOnce).toBe(1);
    await expect.poll(() => example.delivered('tabs-'), LONG).toEqual([...all].sort());
    await context.close();
  }, 180_000);

  it('goes on in the tab that is left, when the one that was sending is closed', async () => {
    const one = await open();
    const context = one.context();
    const two = await open(context);
    let sender: Page | undefined;
    // The answer never reaches the tab that sends first: the API has the notification all the same.
    await context.route(`${example.api}/v1/notifications`, async (route) => {
      if (route.request().method() !== 'POST' || sender !== undefined) return route.continue();
      sender = route.request().frame().page();
      await route.fetch();
    });
    const posts = watchPosts(context);
    await write(one, example.recipient('closed-0'), 'closed-0');
    await expect.poll(() => example.delivered('closed-'), LONG).toEqual(['closed-0']);
    const left = sender === one ? two : one;
    await sender?.close();
    await shows(left, 'closed-0', SENT);
    expect(posts.keys.length).toBeGreaterThan(1);
    expect(new Set(posts.keys).size).toBe(1);
    expect(await example.delivered('closed-')).toEqual(['closed-0']);
    await context.close();
  }, 180_000);
});

describe('a token', () => {
  it('that has expired is asked for again, once, and nobody notices', async () => {
    const page = await open();
    const asked: unknown[] = [];
    await page.route('**/token', async (route) => {
      const request = route.request().postDataJSON() as object;
      asked.push(request);
      await route.fulfill({ body: await example.shortToken(request, 2) });
    });
    const posts = watchPosts(page.context());
    await write(page, example.recipient('expires-0'), 'expires-0');
    await shows(page, 'expires-0', SENT);
    await page.waitForTimeout(2_100);
    await write(page, example.recipient('expires-1'), 'expires-1');
    await shows(page, 'expires-1', SENT);
    expect(posts.statuses).toEqual([202, 401, 202]);
    expect(posts.keys[1]).toBe(posts.keys[2]);
    expect(asked.filter((request) => JSON.stringify(request) === '{"send":true}')).toHaveLength(2);
  }, 120_000);

  it('is given to nobody but the page', async () => {
    const body = JSON.stringify({ send: true });
    expect((await fetch(`${example.url}/token`, { method: 'POST', body })).status).toBe(404);
    const other = { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' };
    expect((await fetch(`${example.url}/token`, { method: 'POST', body, headers: other })).status).toBe(404);
  });
});

describe('what failed', () => {
  it('at the API three times is kept, also over a reload, and sent again by its button', async () => {
    const page = await open();
    const context = page.context();
    await context.route(`${example.api}/v1/notifications`, (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 503, headers: { 'access-control-allow-origin': example.url }, body: '{}' })
        : route.continue(),
    );
    const posts = watchPosts(context);
    await write(page, example.recipient('kept-0'), 'kept-0');
    await shows(page, 'kept-0', 'Not sent.');
    expect(posts.statuses).toEqual([503, 503, 503]);
    await page.reload();
    await shows(page, 'kept-0', 'Not sent.');
    await context.unrouteAll();
    await item(page, 'kept-0').getByRole('button', { name: 'Try again' }).click();
    await shows(page, 'kept-0', SENT);
    expect(new Set(posts.keys).size).toBe(1);
    expect(await example.delivered('kept-')).toEqual(['kept-0']);
    await context.close();
  }, 120_000);

  it('on its way has a button that has it retried now, and keeps the focus where the person is', async () => {
    const page = await open();
    await example.flow.receiver('/webhook/ok/button-0', 'down');
    await write(page, example.recipient('button-0'), 'button-0');
    await shows(page, 'button-0', 'Not sent yet. Another attempt follows.');
    await example.flow.receiver('/webhook/ok/button-0', 'up');
    const button = item(page, 'button-0').getByRole('button', { name: 'Try again' });
    await button.focus();
    await page.keyboard.press('Enter');
    await shows(page, 'button-0', SENT);
    expect(await page.evaluate('document.activeElement?.localName')).toBe('notification-state');
    expect(await example.delivered('button-')).toEqual(['button-0']);
  }, 120_000);

  it('for good says why, in the language of the page', async () => {
    const page = await open();
    await page.evaluate("document.documentElement.lang = 'ja'");
    await write(page, example.recipient('gone-0', 'malformed'), 'gone-0');
    await shows(page, 'gone-0', /送信できませんでした。 送信先がメッセージの形式を受け付けませんでした。/);
    await item(page, 'gone-0').getByRole('button', { name: '再試行' }).waitFor();
  }, 120_000);
});

describe('the element', () => {
  it('asks nothing while the page is hidden, and at once when it is seen', async () => {
    const page = await open();
    await example.flow.receiver('/webhook/ok/hidden-0', 'down');
    let looks = 0;
    page.on('request', (request) => {
      if (request.method() === 'GET' && request.url().includes('/v1/notifications/')) looks++;
    });
    const hide = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await write(page, example.recipient('hidden-0'), 'hidden-0');
    await expect.poll(() => looks, LONG).toBeGreaterThan(0);
    await hide(true);
    await page.waitForTimeout(300);
    const before = looks;
    await page.waitForTimeout(3_000);
    expect(looks).toBe(before);
    await hide(false);
    await expect.poll(() => looks).toBeGreaterThan(before);
    await page.context().close();
    await example.flow.receiver('/webhook/ok/hidden-0', 'up');
  }, 120_000);

  it.each(['light', 'dark'] as const)(
    'and its page pass axe in the %s theme, also at 360 px',
    async (colorScheme) => {
      const { page } = await openTab(browser, example.url, { colorScheme, viewport: { width: 360, height: 740 } });
      await page.goto(example.url);
      await page.locator('main[aria-busy=false]').waitFor();
      const name = `axe-${colorScheme}`;
      await write(page, example.recipient(`${name}-ok`), `${name}-ok`);
      await write(page, example.recipient(`${name}-bad`, 'malformed'), `${name}-bad`);
      await shows(page, `${name}-ok`, SENT);
      await shows(page, `${name}-bad`, 'Not sent.');
      await page.context().setOffline(true);
      await write(page, example.recipient(`${name}-off`), `${name}-off`);
      expect(await axeFindings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
      const shot = process.env['SCREENSHOTS'];
      if (shot !== undefined) await page.screenshot({ path: `${shot}/producer-${colorScheme}.png`, fullPage: true });
      await page.context().close();
    },
    120_000,
  );
});
