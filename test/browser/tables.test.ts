import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, startFakeConsole } from '../support/browser/fake-console.ts';
import { EMAIL, notification } from '../support/browser/sample-answers.ts';

const ROWS = 100_000;
/** The API's pages are smaller; a large one shows what the page itself can hold. */
const PAGE = 25_000;
const FEW = 500;

const id = (n: number) => `NL${String(n).padStart(6, '0')}`;

let browser: Browser;
let served: FakeConsole;
beforeAll(async () => {
  [browser, served] = await Promise.all([
    startBrowser(),
    startFakeConsole({
      'GET /api/notifications': ({ query: { cursor = '0', q } }) => {
        if (q === 'few') {
          return { notifications: Array.from({ length: FEW }, (_, i) => notification(id(i))), next_cursor: null };
        }
        if (q !== undefined) return { notifications: [notification(q)], next_cursor: null };
        const start = Number(cursor);
        const end = Math.min(ROWS, start + PAGE);
        return {
          notifications: Array.from({ length: end - start }, (_, i) => notification(id(start + i))),
          next_cursor: end < ROWS ? String(end) : null,
        };
      },
    }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

/** Milliseconds of the median frame while each frame jumps so far that every row of the window is another one. */
function medianFrame(page: Page): Promise<number> {
  return page.evaluate(`new Promise((done) => {
    const frames = [];
    let last = performance.now();
    requestAnimationFrame(function frame(now) {
      frames.push(now - last);
      last = now;
      scrollTo(0, (frames.length * 2400) % (document.documentElement.scrollHeight - innerHeight));
      if (frames.length < 40) requestAnimationFrame(frame);
      else done(frames.sort((a, b) => b - a)[20]);
    });
  })`);
}

it('100,000 rows scroll smoothly: few are drawn, and a frame takes no longer than with few rows', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications');
  await page.getByRole('link', { name: id(0) }).waitFor();
  while (!(await page.getByText('100,000 in all').isVisible())) {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
    await page.waitForTimeout(100);
  }
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await page.getByRole('link', { name: id(ROWS - 1) }).waitFor();
  expect(await page.locator('tbody tr').count()).toBeLessThan(100);

  const all = await medianFrame(page);
  await page.goto('/notifications?q=few');
  await page.getByRole('link', { name: id(0) }).waitFor();
  // Compared with a short list in the same run, because other tests may keep the machine busy, now more and now less.
  // Rows that are all drawn take a hundred times as long.
  expect(all).toBeLessThan(5 * (await medianFrame(page)) + 50);
});

it('j and k move, Enter opens, the way back keeps the filters', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications?channel=slack&status=dead');
  await page.getByRole('link', { name: id(0) }).waitFor();
  for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key);
  await expect.poll(() => page.evaluate('document.activeElement?.dataset.row')).toBe('1');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: new RegExp(`^${id(1)}`) }).waitFor();
  await page.goBack();
  expect(await page.getByRole('combobox', { name: 'State' }).inputValue()).toBe('dead');
  expect(await page.getByRole('combobox', { name: 'Channel' }).inputValue()).toBe('slack');
});

it('filters live in the URL, and are what the API is asked', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications');
  await page.getByRole('combobox', { name: 'Channel' }).selectOption({ label: 'Slack' });
  await page.getByRole('combobox', { name: 'State' }).selectOption({ label: 'Dead' });
  await page.waitForURL('**/notifications?channel=slack&status=dead');
  await expect.poll(() => served.requests.at(-1)?.query).toMatchObject({ channel: 'slack', status: 'dead' });
  await page.getByRole('link', { name: 'Clear' }).click();
  await page.waitForURL('**/notifications');
});

it('/ searches from anywhere, g with a letter goes, ? explains, and all can be switched off', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/keys');
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await page.keyboard.press('/');
  await page.getByRole('searchbox').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement?.type')).toBe('search');
  await page.keyboard.type('NL42');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/notifications?q=NL42');
  await page.keyboard.press('Escape');
  // As a hand types them: a busy machine may need more than a sequence's pause to answer the first one.
  await Promise.all([page.keyboard.press('g'), page.keyboard.press('d')]);
  await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await help.getByRole('checkbox', { name: 'Keys are shortcuts' }).uncheck();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'hidden' });
  await page.keyboard.press('?');
  expect(await help.count()).toBe(0);
  await page.reload();
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  expect(await help.getByRole('checkbox').isChecked()).toBe(false);
});

it('a link opens in a new tab, and shows the same', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications');
  // What the server is asked tells of the new tab, because Playwright now and then does not learn of a tab that
  // Chromium has opened and that has loaded everything.
  await page.getByRole('link', { name: id(2) }).click({ modifiers: ['Control'] });
  await expect.poll(() => served.requests.map(({ path }) => path)).toContain(`/api/notifications/${id(2)}`);
  expect(new URL(page.url()).pathname).toBe('/notifications');
  await page.getByRole('link', { name: id(2) }).click();
  await page.getByRole('heading', { level: 1, name: new RegExp(`^${id(2)}`) }).waitFor();
});

it('an address never enters a URL: the search by recipient carries its hash', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications');
  await page.getByRole('button', { name: 'By recipient…' }).click();
  await page.getByRole('textbox', { name: 'Tenant' }).fill('TENANT001');
  await page.getByRole('textbox', { name: 'Recipient' }).fill('someone@example.com');
  await page.getByRole('button', { name: 'Find' }).click();
  await page.waitForURL(/recipient_hash=a+/);
  expect(served.requests.filter(({ path, query }) => /someone/.test(path + JSON.stringify(query)))).toEqual([]);
});

it('a recipient that is typed where ids are searched enters no URL either', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications');
  await page.getByRole('searchbox').fill('somebody@example.com');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Find by tenant and recipient' });
  expect(await dialog.getByRole('textbox', { name: 'Recipient' }).inputValue()).toBe('somebody@example.com');
  await dialog.getByRole('button', { name: 'Find' }).click();
  await page.waitForURL(/recipient_hash=a+/);
  await page.getByRole('button', { name: 'One recipient of all tenants' }).waitFor();
  expect(served.requests.filter(({ path, query }) => /somebody/.test(path + JSON.stringify(query)))).toEqual([]);
});

it('offers no screen that the stage does not have', async () => {
  const session = {
    who: 'tester',
    role: 'operator',
    stage: 'dev',
    region: 'x',
    local: false,
    poll_ms: 60_000,
  } as const;
  const fewer = await startFakeConsole({ 'GET /api/session': { ...session, lacks: ['newsletters', 'keys'] } });
  const { page } = await openTab(browser, fewer.url);
  await page.goto('/dead-letters');
  const screens = page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
  await expect
    .poll(() => screens.allInnerTexts())
    .toEqual(['Overview', 'Notifications', 'Dead letters', 'Operations', 'Audit log']);
  await page.keyboard.press('g');
  await page.keyboard.press('k');
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.waitForURL(/\/audit$/);
  await page.context().close();
  await fewer.close();
});

it('asks nothing while it is hidden, and only what changed when it is seen', async () => {
  const quick = await startFakeConsole({
    'GET /api/session': { who: 'tester', role: 'operator', stage: 'local', region: 'x', local: true, poll_ms: 100 },
  });
  const { page } = await openTab(browser, quick.url);
  await page.goto('/dead-letters');
  await page.getByRole('heading', { level: 2 }).first().waitFor();
  await expect
    .poll(() => quick.requests.filter(({ headers }) => headers['if-none-match'] !== undefined).length)
    .toBeGreaterThan(2);
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { value: true, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
  );
  await page.waitForTimeout(300);
  const hidden = quick.requests.length;
  await page.waitForTimeout(800);
  expect(quick.requests.length).toBe(hidden);
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { value: false, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))`,
  );
  await expect.poll(() => quick.requests.length).toBeGreaterThan(hidden);
  await page.context().close();
  await quick.close();
});

it('tries again to read a page that failed behind an empty first one', async () => {
  let isDown = true;
  const down = { status: 503, headers: { 'content-type': 'application/json' }, body: '{}' };
  const fake = await startFakeConsole({
    'GET /api/emails': ({ query: { cursor } }) => {
      if (cursor === undefined) return { emails: [], next_cursor: 'behind' };
      return isDown ? down : { emails: [EMAIL.email], next_cursor: null };
    },
  });
  const { page } = await openTab(browser, fake.url);
  await page.goto('/newsletters');
  const again = page.getByRole('button', { name: 'Try again' });
  await again.waitFor();
  isDown = false;
  await again.click();
  await page.getByRole('table', { name: 'E-mails' }).getByRole('link').first().waitFor({ timeout: 3_000 });
  expect(await again.count()).toBe(0);
  await page.context().close();
  await fake.close();
});

it('offers the tenants and newsletters of all pages', async () => {
  const one = (tenant_id: string, name: string) => ({
    tenant_id,
    newsletter_id: 'weekly',
    name,
    from: 'n@example.com',
    created_at: '2026-01-05T12:00:00.000Z',
    updated_at: '2026-01-05T12:00:00.000Z',
  });
  const all = [one('T1', 'First'), one('T2', 'Second'), one('T2', 'Third')];
  const fake = await startFakeConsole({
    'GET /api/newsletters': ({ query: { tenant, cursor = '0' } }) => {
      if (tenant !== undefined) return { newsletters: all.filter((n) => n.tenant_id === tenant), next_cursor: null };
      const at = Number(cursor);
      return { newsletters: all.slice(at, at + 1), next_cursor: at < 2 ? String(at + 1) : null };
    },
  });
  const { page } = await openTab(browser, fake.url);
  await page.goto('/newsletters');
  await page.getByRole('combobox', { name: 'Tenant' }).selectOption('T2', { timeout: 3_000 });
  for (const name of ['Change Second', 'Change Third']) await page.getByRole('button', { name }).waitFor();
  await page.context().close();
  await fake.close();
});

const LISTS = ['/notifications', '/newsletters', '/newsletters/members', '/newsletters/emails/EM1', '/keys', '/audit'];

/** Of each table of the page, how many columns it has and which are seen. */
async function columnsAt(path: string, width: number): Promise<{ all: number; seen: string[] }[]> {
  const { page } = await openTab(browser, served.url, { viewport: { width, height: 900 } });
  await page.goto(path);
  await page.locator('table[aria-colcount]').first().waitFor();
  const tables = await page.locator('table[aria-colcount]').all();
  const found = tables.map(async (table) => ({
    all: Number(await table.getAttribute('aria-colcount')),
    seen: await table.getByRole('columnheader').allInnerTexts(),
  }));
  const columns = await Promise.all(found);
  await page.context().close();
  return columns;
}

it.each(LISTS)('each column of %s is seen on a wide screen, so that none is added for nobody', async (path) => {
  const columns = await columnsAt(path, 1_600);
  expect(columns.map(({ seen }) => seen.length)).toEqual(columns.map(({ all }) => all));
});

it.each([1_600, 1_360])('attempts and the next try of notifications are seen at %i px', async (width) => {
  const [columns] = await columnsAt('/notifications', width);
  expect(columns?.seen).toEqual(expect.arrayContaining(['Attempts', 'Next try', 'Last error', 'Tenant']));
});

it('a list takes the width of a wide screen', async () => {
  const { page } = await openTab(browser, served.url, { viewport: { width: 1_920, height: 900 } });
  await page.goto('/notifications');
  const box = await page.getByRole('table').boundingBox();
  expect(box?.width).toBeGreaterThan(1_500);
});
