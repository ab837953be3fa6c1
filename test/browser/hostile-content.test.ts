import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NotificationView } from '../../src/core/operator/views/notification-view.ts';
import { openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, startFakeConsole } from '../support/browser/fake-console.ts';
import { detailOf, GROUP, notification, operation } from '../support/browser/sample-answers.ts';

/** What other systems and tenants can put into rows, answers and names. */
const MARKUP = `"'><img src=x onerror="window.hit=1"><script>window.hit=1</script>`;
const LINK = 'javascript:window.hit=1';
const CONTROLS = 'a\u0000b\u001b[31mc\u202ed\u2028e\u{1f4a3}';
const HOSTILE = [MARKUP, LINK, CONTROLS, `../../api/session?${MARKUP}`, '%', '__proto__', 'constructor'];

let browser: Browser;
let served: FakeConsole;
beforeAll(async () => {
  const views = HOSTILE.map((text): NotificationView => everywhere(text));
  [browser, served] = await Promise.all([
    startBrowser(),
    startFakeConsole({
      'GET /api/notifications': { notifications: views, next_cursor: null },
      'GET /api/notifications/{log_id}': (_, { log_id = '' }) => detailOf(everywhere(log_id)),
      'GET /api/dead-letters': {
        groups: HOSTILE.map((text, i) => ({
          ...GROUP,
          group_id: String(i),
          integration: text,
          error_message: text,
          sample: [text],
          remedy: text,
          commands: [{ label: text, command: text }],
        })),
        total: 4,
        complete: true,
      },
      'GET /api/operations': {
        operations: HOSTILE.map((text) =>
          operation({ operation_id: text, created_by: text, error: text, command: text, filter: { tenant: text } }),
        ),
        next_cursor: null,
      },
    }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

function everywhere(text: string): NotificationView {
  const columns = [
    'tenant_id',
    'error_message',
    'integration_config_id',
    'notification_id',
    'priority',
    'template_id',
    'channel',
    'successor_log_id',
  ];
  return notification(text, { ...Object.fromEntries(columns.map((name) => [name, text])), error_type: 'UNKNOWN' });
}

it.each([
  '/notifications',
  '/dead-letters',
  '/operations',
  `/newsletters/members/${encodeURIComponent(MARKUP)}?tenant=${encodeURIComponent(LINK)}`,
  ...HOSTILE.map((text) => `/notifications/${encodeURIComponent(text)}`),
  `/notifications?tenant=${encodeURIComponent(MARKUP)}&q=${encodeURIComponent(MARKUP)}`,
  `/${encodeURIComponent('<b>&nothing')}`,
])('stored markup, links and control characters run nothing on %s', async (path) => {
  const { page, origins } = await openTab(browser, served.url);
  await page.goto(path);
  await page.locator('h1, h2').first().waitFor();
  await page.waitForLoadState('networkidle');
  expect(await page.evaluate('window.hit')).toBeUndefined();
  expect(await page.locator('main img, main script, main iframe').count()).toBe(0);
  const links: string[] = await page.evaluate(`[...document.querySelectorAll('a[href]')].map((link) => link.href)`);
  expect(links.filter((href) => new URL(href).origin !== new URL(served.url).origin)).toEqual([]);
  expect([...origins]).toEqual([new URL(served.url).origin]);
});

it('shows the text as it is stored', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications');
  await page.getByRole('link', { name: MARKUP, exact: true }).first().waitFor();
});

it('a script that got into the page would not run: the policy of the server forbids it', async () => {
  const { page, faults } = await openTab(browser, served.url);
  await page.goto('/');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src="/x" onerror="window.hit=1">')`);
  await page.waitForTimeout(300);
  expect(await page.evaluate('window.hit')).toBeUndefined();
  expect(faults.join('\n')).toMatch(/Content Security Policy/);
});
