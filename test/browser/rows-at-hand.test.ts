import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, startFakeConsole } from '../support/browser/fake-console.ts';
import { notification } from '../support/browser/sample-answers.ts';

const PAGE = 100;
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const id = (n: number) => `NL${String(n).padStart(4, '0')}`;
const STATES = ['dead', 'waiting', 'delivered'] as const;
const row = (n: number) =>
  notification(id(n), {
    state: STATES[n % 3] ?? 'dead',
    created_at: ago(500 - n),
    updated_at: `2026-11-01T09:00:${n}`,
  });

let browser: Browser;
let served: FakeConsole;
/** The newest number; the list has the newest first. */
let newest = 149;
const page = (from: number) => Array.from({ length: Math.min(PAGE, from + 1) }, (_, i) => row(from - i));
beforeAll(async () => {
  [browser, served] = await Promise.all([
    startBrowser(),
    startFakeConsole({
      'GET /api/session': { who: 'tester', role: 'operator', stage: 'local', region: 'x', local: true, poll_ms: 200 },
      'GET /api/notifications': ({ query: { cursor, q } }) =>
        q === 'crowd'
          ? { notifications: [row(1)], next_cursor: null, by_tenant: true }
          : cursor === undefined
            ? { notifications: page(newest), next_cursor: String(newest - PAGE) }
            : { notifications: page(Number(cursor)), next_cursor: null },
      'POST /api/actions': ({ body }) => {
        const { request_id, log_ids, dry_run = false } = JSON.parse(String(body));
        const because = 'it has changed since it was shown: look at it again';
        const results = log_ids.map((log_id: string, i: number) =>
          i === 1 ? { log_id, result: 'refused', because } : { log_id, result: 'queued' },
        );
        return { request_id, dry_run, repeated: false, results, command: 'npm run ops -- list --local' };
      },
    }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

async function open(
  path: string,
  viewport = { width: 1360, height: 900 },
  colorScheme?: 'light' | 'dark',
): Promise<Page> {
  const { page } = await openTab(browser, served.url, { viewport, ...(colorScheme && { colorScheme }) });
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  return page;
}
const tick = (page: Page, n: number) => page.getByRole('checkbox', { name: `Select ${id(n)}`, exact: true });
const acted = () =>
  served.requests.flatMap(({ path, body }) => (path === '/api/actions' ? [JSON.parse(String(body))] : []));

describe('rows that are ticked', () => {
  it('are acted on as they were shown, and no others; what was left out is said with the reason', async () => {
    const page = await open('/notifications');
    for (const n of [147, 148, 149, 144]) await tick(page, n).check();
    const bar = page.getByRole('region', { name: 'Selected notifications' });
    await bar.getByText('4 selected').waitFor();
    expect((await bar.getByRole('button').allInnerTexts()).map((text) => text.trim())).toEqual([
      ...['Redrive 2', 'Retry now 1', 'Cancel retries 1', 'Dismiss 2'],
      'Clear',
    ]);
    await bar.getByRole('button', { name: 'Redrive 2' }).click();
    const dialog = page.getByRole('dialog', { name: 'Redrive: 2 notifications?' });
    await dialog.getByText(`${id(144)} left out: it has changed since it was shown: look at it again.`).waitFor();
    await dialog.getByRole('button', { name: 'Redrive 1' }).click();
    await page.getByRole('alert').getByText('1 notification redriven: queued with a full budget of retries.').waitFor();
    const shown = Object.fromEntries([147, 144].map((n) => [id(n), `2026-11-01T09:00:${n}`]));
    expect(acted().slice(-2)).toMatchObject([
      { action: 'redrive', log_ids: [id(147), id(144)], shown, dry_run: true },
      { action: 'redrive', log_ids: [id(147), id(144)], shown },
    ]);
    await bar.waitFor({ state: 'detached' });
  });

  it('are at most as many as one action takes, by mouse and by keyboard', async () => {
    const page = await open('/notifications');
    await page.getByRole('checkbox', { name: 'Select all' }).check();
    await page.getByText('100 selected').waitFor();
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    // Faster than the page is drawn.
    await page.evaluate(() => {
      for (const key of ['j', 'j', 'x']) dispatchEvent(new KeyboardEvent('keydown', { key }));
    });
    await page.getByText('1 selected').waitFor();
    expect(await tick(page, 148).isChecked()).toBe(true);
  });

  it.each([360, 768, 1_600].flatMap((width) => (['light', 'dark'] as const).map((theme) => ({ width, theme }))))(
    'fit at $width px in the $theme theme with what can be done, and axe finds nothing',
    async ({ width, theme }) => {
      const page = await open('/notifications', { width, height: 800 }, theme);
      await tick(page, 147).check();
      await tick(page, 144).check();
      expect(await axeFindings(page)).toEqual([]);
      await page.getByRole('button', { name: /^Redrive/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Redrive 1' }).waitFor();
      expect(await axeFindings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      await page.context().close();
    },
  );
});

describe('the list of notifications', () => {
  it('follows what comes, stands still when somebody pauses it or ticks a row, and counts what came meanwhile', async () => {
    const page = await open('/notifications');
    const first = page.getByRole('row').nth(1);
    await first.getByText(id(newest)).waitFor();
    newest += 1;
    await first.getByText(id(newest)).waitFor();
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Follow' }).waitFor();
    newest += 2;
    await page.getByRole('button', { name: 'Follow: 2 newer' }).waitFor();
    await first.getByText(id(newest - 2)).waitFor();
    await page.getByRole('button', { name: 'Follow: 2 newer' }).click();
    await first.getByText(id(newest)).waitFor();
    await tick(page, newest).check();
    newest += 1;
    await page.getByRole('button', { name: 'Follow: 1 newer' }).waitFor();
    expect(await tick(page, newest - 1).isChecked()).toBe(true);
  });

  it('keeps the row that is read where it is while newer ones come above it', async () => {
    const page = await open('/notifications');
    await page.getByText(id(newest)).waitFor();
    await page.evaluate('scrollTo(0, 1600)');
    const link = page.getByRole('link', { name: id(newest - 45) });
    await link.waitFor();
    const before = await link.boundingBox();
    newest += 3;
    await page.waitForResponse((response) => response.url().includes('/api/notifications'));
    await expect.poll(async () => page.evaluate('scrollY')).toBe(1600 + 3 * 40);
    expect((await link.boundingBox())?.y).toBe(before?.y);
  });

  it('says when it goes by tenant instead of by time', async () => {
    const page = await open('/notifications?q=crowd');
    await page.getByText('The list goes by tenant instead of by time: too many tenants sent on one day').waitFor();
  });

  it('leads on: from one notification to the next, beyond the page that was loaded, and back to its place', async () => {
    const page = await open('/notifications?channel=slack');
    const last = newest - PAGE + 1;
    const link = page.getByRole('link', { name: id(last) });
    await page.getByText(id(newest)).waitFor();
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight - 1200)');
    await link.click();
    const place = page.getByRole('navigation', { name: 'In the list' });
    await place.getByText(`100 of ${newest + 1}`).waitFor();
    await place.getByRole('button', { name: 'Next' }).click();
    await page.getByRole('heading', { level: 1, name: new RegExp(`^${id(last - 1)}`) }).waitFor();
    await page.keyboard.press('k');
    await page.getByRole('heading', { level: 1, name: new RegExp(`^${id(last)}`) }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor();
    expect(new URL(page.url()).search).toBe('?channel=slack');
    await link.waitFor();
  });
});

it.each([360, 1_600])(
  'the page of a notification has request and response of an attempt at hand at %i px',
  async (width) => {
    const page = await open('/notifications/NL1', { width, height: 900 });
    const [request, response] = ['Request', 'Response'].map((name) => page.getByRole('region', { name }).first());
    await response?.getByText('Slack answered 200 token_revoked').first().waitFor();
    expect(await page.getByRole('main').innerText()).not.toContain('Your invoice');
    await request?.getByRole('button', { name: 'Show what was sent' }).click();
    await request?.getByText('#alerts').waitFor();
    await request?.getByText('The body, plain').click();
    await request?.getByText('Your invoice is ready.').waitFor();
    expect(await axeFindings(page)).toEqual([]);
    const [left, right] = [await request?.boundingBox(), await response?.boundingBox()];
    const isBeside = left?.y === right?.y;
    expect(isBeside).toBe(width > 1_000);
    await page.context().close();
  },
);

describe('the overview', () => {
  it('says which integration fails since when, and how many outcomes producers were told of, and how late', async () => {
    const page = await open('/');
    const health = page.getByRole('region', { name: 'Integrations, last day' });
    const line = health.getByRole('listitem').filter({ hasText: 'IC1' });
    await line.getByText('25 %').waitFor();
    await line.getByRole('img', { name: 'Failures in 2 hours of 24, the last in this hour' }).waitFor();
    await line.getByText('token_revoked').waitFor();
    await page
      .getByRole('figure', { name: 'Outcomes told to producers' })
      .getByText('42 in the last day, the last within 2 s, all within 9 s.')
      .waitFor();
    await line.getByRole('link').click();
    await page.waitForURL(/\/notifications\?channel=slack&integration=IC1&from=/);
  });
});
