import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, problem, startFakeConsole } from '../support/browser/fake-console.ts';
import { notification, OVERVIEW } from '../support/browser/sample-answers.ts';
import { SCREENS } from '../support/browser/screens.ts';

const PHONE = { width: 360, height: 740 };
const id = (n: number) => `0b9f6d1e-6a52-4c0f-9d0a-2f1c7e5b${String(n).padStart(4, '0')}`;
const row = (n: number) =>
  notification(id(n), { error_type: 'NETWORK_TIMEOUT', created_at: new Date(Date.now() - n * 60_000).toISOString() });
const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => row(from + i));

let browser: Browser;
let served: FakeConsole;
/** Newer rows than those that the page has seen. */
let newer = 0;
beforeAll(async () => {
  const cause = OVERVIEW.causes[0] ?? expect.fail('a cause');
  [browser, served] = await Promise.all([
    startBrowser(),
    startFakeConsole({
      'GET /api/notifications': ({ query: { cursor } }) =>
        cursor === undefined
          ? { notifications: rows(-newer, 100 - newer), next_cursor: 'second' }
          : { notifications: rows(100, 200), next_cursor: null },
      'GET /api/notifications/{log_id}': () => problem(404, 'There is no notification NL9.'),
      'GET /api/overview': {
        ...OVERVIEW,
        breakers: [],
        budgets: [],
        causes: [
          ...Array.from({ length: 8 }, (_, i) => ({ ...cause, integration: `IC${i}` })),
          { ...cause, channel: 'teams', integration: null, error_type: 'SERVER_OVERLOAD' },
        ],
      },
    }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

async function open(path: string, viewport = { width: 1360, height: 900 }): Promise<Page> {
  const { page } = await openTab(browser, served.url, { viewport });
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  return page;
}

it('the way back keeps the place and the row, though the row was on the second page', async () => {
  const page = await open('/notifications');
  const link = page.getByRole('link', { name: id(150) });
  // In steps below the height of a window: the table keeps only the rows around it.
  const seek = async () => {
    await page.evaluate('scrollBy(0, 500)');
    return link.count();
  };
  await expect.poll(seek, { timeout: 10_000 }).toBe(1);
  await link.scrollIntoViewIfNeeded();
  const scroll = await page.evaluate('scrollY');
  expect(Number(scroll)).toBeGreaterThan(1_000);
  await link.click();
  await page.getByText('There is no notification NL9.').waitFor();
  expect(await page.evaluate('scrollY')).toBe(0);
  await page.goBack();
  await link.waitFor();
  await expect.poll(() => page.evaluate('scrollY')).toBe(scroll);
  await expect.poll(() => page.evaluate('document.activeElement?.dataset.row')).toBe('150');
});

it('loses none of the rows that newer ones push out of the first page', async () => {
  const page = await open('/notifications');
  await expect
    .poll(async () => {
      await page.evaluate('scrollBy(0, 3000)');
      return page.getByText('200 in all').count();
    })
    .toBe(1);
  newer = 30;
  await page.evaluate('dispatchEvent(new Event("focus")); document.dispatchEvent(new Event("visibilitychange"))');
  await page.getByText('230 in all').waitFor();
  newer = 0;
});

it('says of a notification that is not there what to do, and offers no second try', async () => {
  const page = await open('/notifications/NL9');
  await page.getByText('There is no notification NL9.').waitFor();
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
});

it('shows time and priority of a notification on a phone, and the whole last error at 1,440 pixels', async () => {
  const phone = await open('/notifications', PHONE);
  const card = phone.getByRole('row').filter({ hasText: id(1) });
  for (const text of ['1 min ago', 'normal', 'Slack']) await card.getByText(text, { exact: true }).waitFor();
  await phone.context().close();
  const page = await open('/notifications', { width: 1440, height: 900 });
  await page.getByText('The provider did not answer in time').first().waitFor();
  const cut = `[...document.querySelectorAll('td')].filter((cell) => /did not answer/.test(cell.textContent))
    .map((cell) => cell.firstElementChild).filter((text) => text.scrollWidth > text.clientWidth).length`;
  expect(await page.evaluate(cut)).toBe(0);
});

it('begins a new operation with what it takes, and takes everything only if somebody says so', async () => {
  const page = await open('/operations');
  await page.getByRole('button', { name: 'New operation' }).click();
  const dialog = page.getByRole('dialog', { name: 'New operation: which notifications?' });
  const next = dialog.getByRole('button', { name: 'Next' });
  expect(await next.isDisabled()).toBe(true);
  await dialog.getByRole('checkbox', { name: /^Everything/ }).check();
  expect(await next.isEnabled()).toBe(true);
  await dialog.getByRole('checkbox', { name: /^Everything/ }).uncheck();
  await dialog.getByRole('textbox', { name: 'Tenant' }).fill('TENANT001');
  await dialog.getByRole('combobox', { name: 'Channel' }).selectOption({ label: 'Slack' });
  await next.click();
  const filter = page.getByRole('dialog').getByRole('list', { name: 'Filter' });
  expect((await filter.innerText()).replaceAll(/\s+/g, ' ')).toBe('Channel Slack Tenant TENANT001');
});

it('the overview groups causes by provider, redrives one of them on its line, and folds what says nothing', async () => {
  const page = await open('/');
  const causes = page.getByRole('region', { name: 'Why they are dead' });
  expect(await causes.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual(['Slack 24']);
  await causes.getByText('1 more cause under dead letters.').waitFor();
  await page.getByText('No provider limits anything now.').waitFor();
  expect(await page.getByRole('heading', { name: 'Budgets' }).count()).toBe(0);
  await page.getByRole('figure', { name: 'Due in each sweep', exact: true }).waitFor();
  await causes.getByRole('button', { name: 'Redrive 3 notifications of Slack, AUTH_FAILED' }).nth(1).click();
  await page.getByRole('dialog', { name: 'Redrive: what matches' }).getByText('IC1').waitFor();
});

describe.each([360, 768, 1_600])('at %i pixels', (width) => {
  it.each(['light', 'dark'] as const)(
    'every screen and dialog fits in the %s theme, and axe finds nothing',
    async (colorScheme) => {
      const { page } = await openTab(browser, served.url, { colorScheme, viewport: { width, height: 800 } });
      const isTooWide = () =>
        page.evaluate(`[document.documentElement, ...document.querySelectorAll('dialog[open]')]
        .some((element) => element.scrollWidth > element.clientWidth)`);
      const look = async (where: string) => {
        expect([where, await isTooWide(), await axeFindings(page)]).toEqual([where, false, []]);
      };
      const screens = {
        '/': /^Redrive 3/,
        '/notifications': 'Act on all that match…',
        '/dead-letters': /^Redrive 3/,
        '/operations': 'New operation',
      };
      for (const { path } of SCREENS) {
        await page.goto(path);
        await page.waitForLoadState('networkidle');
        await look(path);
      }
      for (const [path, button] of Object.entries(screens)) {
        await page.goto(path);
        await page.getByRole('button', { name: button }).first().waitFor();
        await page.waitForLoadState('networkidle');
        await page.getByRole('button', { name: button }).first().click();
        await page.getByRole('dialog').waitFor();
        await look(`${path}, dialog`);
      }
      await page.context().close();
    },
  );
});
