import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmailDetail } from '../../src/application/contract/newsletters.ts';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, problem, startFakeConsole } from '../support/browser/fake-console.ts';
import { detailOf, EMAIL, notification, operation } from '../support/browser/sample-answers.ts';

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const NO = { possible: false, because: 'It is dead: nothing waits.' } as const;
const DEAD = detailOf(notification('NL1', { first_attempt_at: '2026-11-01T09:00:00.000Z' }));

const QUEUE_REDRIVE = {
  ...{ audit_id: 'A7', at: ago(30), who: 'tester', role: 'operator', what: 'dlq.redrive', on: ['slack'], targets: 1 },
  ...{ request_id: 'request-7', result: { moved: 5 } },
};
const GOES_OUT = '2126-12-24T09:00:00.000Z';
const SCHEDULED: EmailDetail = {
  ...EMAIL,
  email: { ...EMAIL.email, status: 'pending', phase: 'scheduled', scheduled_at: GOES_OUT },
};

let browser: Browser;
let served: FakeConsole;
/** What came while the page was open. */
let newer: string[] = [];
beforeAll(async () => {
  const row = (log_id: string, n: number) => notification(log_id, { created_at: ago(n) });
  const done = { status: 'done', ended_at: ago(5), actions: [], eta: null } as const;
  const progress = { matched: 3, taken: 3, left_to_sweep: 0, excluded: {} };
  [browser, served] = await Promise.all([
    startBrowser(),
    startFakeConsole({
      'GET /api/notifications': ({ query: { q = '' } }) => ({
        notifications: [...newer, 'NL2', 'NL1'].filter((log_id) => log_id.startsWith(q)).map(row),
        next_cursor: null,
      }),
      'GET /api/notifications/{log_id}': (_, { log_id = '' }) =>
        log_id === 'NL9'
          ? problem(404, 'There is no notification NL9.')
          : { ...DEAD, actions: { redrive: { possible: true }, retry: NO, cancel: NO, give_up: { possible: true } } },
      'GET /api/emails/{email_id}': (_, { email_id = '' }) => (email_id === 'EM2' ? SCHEDULED : EMAIL),
      'GET /api/emails/{email_id}/recipients': { recipients: [], next_cursor: null },
      'GET /api/audit': ({ query: { what } }) => ({
        entries: what === 'dlq.redrive' ? [QUEUE_REDRIVE] : [],
        next_cursor: null,
      }),
      'GET /api/operations': { operations: [operation({ ...done, progress })], next_cursor: null },
    }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

/** What is seen, by roles and names, of what a person in a hurry looks for: where it begins, and what is done there. */
const SEEN: readonly { readonly what: string; readonly at: string; readonly see: (page: Page) => Promise<void> }[] = [
  {
    what: 'the newest notification first, and what comes above it',
    at: '/notifications',
    async see(page) {
      const first = page.getByRole('row').filter({ hasText: /NL/ }).first();
      await first.getByText('NL2').waitFor();
      newer = ['NL3'];
      await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
      await first.getByText('NL3').waitFor();
    },
  },
  {
    what: 'one field that finds by an id, its beginning, and a recipient',
    at: '/notifications?tenant=TENANT001',
    async see(page) {
      const field = page.getByRole('searchbox', { name: 'Search by log_id, notification_id or recipient' });
      await field.fill('NL1');
      await field.press('Enter');
      await page.getByText('1 in all').waitFor();
      await field.fill('someone@example.com');
      await field.press('Enter');
      await page.getByRole('dialog').getByRole('button', { name: 'Find' }).click();
      await page.waitForURL(/recipient_hash=/);
      await page.getByRole('button', { name: /^One recipient of TENANT001/ }).waitFor();
    },
  },
  {
    what: 'what to do about a group of dead letters, with the line that repairs it',
    at: '/dead-letters',
    async see(page) {
      const group = page.getByRole('region', { name: 'Slack: the credential is not accepted' });
      await group.getByText("Check the integration's settings and credential, then redrive.").waitFor();
      await group.getByRole('button', { name: 'Copy: Put the right credential' }).waitFor();
      await group.getByRole('button', { name: /^Redrive 3/ }).waitFor();
    },
  },
  {
    what: 'how a dead notification is redriven or left: Redrive, Dismiss, Keep',
    at: '/notifications/NL1',
    async see(page) {
      const actions = page.getByRole('main').getByRole('button', { name: /^(Redrive|Dismiss)$/ });
      await actions.first().waitFor();
      expect(await actions.allInnerTexts()).toEqual(['Redrive', 'Dismiss']);
      await actions.first().click();
      const dialog = page.getByRole('dialog', { name: 'Redrive it?' });
      await dialog.getByRole('button', { name: 'Redrive' }).and(dialog.locator(':enabled')).waitFor();
      expect(await dialog.locator('footer').getByRole('button').allInnerTexts()).toEqual(['Keep', 'Redrive']);
    },
  },
  {
    what: 'what became of an operation, with links',
    at: '/operations',
    async see(page) {
      const became = page.getByRole('list', { name: 'What became of them' });
      for (const text of ['1 delivered', '1 dead again', '1 on its way']) await became.getByText(text).waitFor();
      expect(await became.getByRole('link').allInnerTexts()).toEqual(['NL1', 'NL3', 'NL2']);
    },
  },
  {
    what: 'the redrive of a whole queue among the operations, by its time',
    at: '/operations',
    async see(page) {
      await page.getByText('5 letters moved').waitFor();
      const titles = page.getByRole('heading', { level: 2, name: /^Redrive/ });
      expect((await titles.allInnerTexts()).map((title) => /^Redrive (of|\d)/.exec(title)?.[1])).toEqual(['3', 'of']);
      await page.getByRole('region', { name: /^Redrive of the dead-letter queue of Slack/ }).waitFor();
    },
  },
  {
    what: 'who redrove it in which operation, and its first attempt',
    at: '/notifications/NL1',
    async see(page) {
      await page.getByText('redriven by tester in operation op-1').waitFor();
      await page.getByRole('link', { name: 'operation op-1' }).waitFor();
      const first = page.getByRole('term').filter({ hasText: 'First attempt' }).locator('..').locator('time');
      expect(await first.getAttribute('datetime')).toBe('2026-11-01T09:00:00.000Z');
    },
  },
  {
    what: 'a new operation that begins with a filter',
    at: '/operations',
    async see(page) {
      await page.getByRole('button', { name: 'New operation' }).click();
      const dialog = page.getByRole('dialog', { name: 'New operation: which notifications?' });
      expect(await dialog.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
      await dialog.getByRole('combobox', { name: 'Channel' }).selectOption('slack');
      await dialog.getByRole('button', { name: 'Next' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
      await page.getByRole('dialog', { name: /preview/ }).waitFor();
    },
  },
  {
    what: 'causes by provider with Redrive on the line, the series of each chart, and a budget that adds up',
    at: '/',
    async see(page) {
      const causes = page.getByRole('region', { name: 'Why they are dead' });
      await causes.getByRole('button', { name: /^Redrive/ }).waitFor();
      await page
        .getByRole('figure', { name: 'Due in each sweep', exact: true })
        .getByText('Due', { exact: true })
        .waitFor();
      await page.getByText('31,207 of 50,000 in the last 24 h').waitFor();
      expect(await causes.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual(['Slack 3']);
      await page.getByRole('link', { name: /^Dead\s*3/ }).click();
      await page.getByText(/^3 notifications, 1 cause/).waitFor();
    },
  },
  {
    what: 'recipients of an e-mail that add up, and why some get none',
    at: '/newsletters/emails/EM1',
    async see(page) {
      await page.getByRole('region', { name: '1,000 recipients' }).waitFor();
      const bar = page.getByRole('img', {
        name: 'Submitted: 560, Pending: 400, Excluded: 30, Failed: 6, Uncertain: 4',
      });
      await bar.waitFor();
      await page.getByRole('region', { name: 'Who does not get it, and why' }).getByText('30 excluded').waitFor();
    },
  },
  {
    what: 'when a scheduled e-mail goes out, and that it has no recipients yet',
    at: '/newsletters/emails/EM2',
    async see(page) {
      await page.locator(`time[datetime="${GOES_OUT}"]`).waitFor();
      await page.getByText('goes out in').waitFor();
      await page.getByRole('heading', { name: 'None yet' }).waitFor();
    },
  },
  {
    what: 'who uses a key',
    at: '/keys',
    async see(page) {
      const cell = page.getByRole('cell', { name: 'billing service' });
      await cell.waitFor();
      expect(await cell.evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    },
  },
  {
    what: 'that a notification is not there, without a second try',
    at: '/notifications/NL9',
    async see(page) {
      await page.getByRole('alert').getByText('There is no notification NL9.').waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    },
  },
  {
    what: 'a member by its address, its mailings and the address, each look audited',
    at: '/newsletters/members',
    async see(page) {
      await page.getByRole('button', { name: 'Find a member…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Find a member' });
      await dialog.getByRole('textbox', { name: 'Member' }).fill('sam@example.com');
      await dialog.getByRole('button', { name: 'Find' }).click();
      await dialog.getByRole('list', { name: 'Members of the address' }).getByRole('link', { name: 'M1' }).click();
      await page.getByRole('heading', { level: 1, name: 'M1' }).waitFor();
      expect(page.url()).not.toContain('sam');
      await page.getByRole('heading', { name: 'The address gets no newsletter: bounced' }).waitFor();
      const failed = page.getByRole('row').filter({ hasText: 'Autumn news' });
      await failed.getByText('Failed').waitFor();
      expect(await page.getByRole('main').innerText()).not.toContain('sam@example.com');
      await page.getByRole('button', { name: 'Show address' }).click();
      await page.getByText('Sam sam@example.com').waitFor();
      expect(JSON.parse(String(served.requests.at(-1)?.body))).toMatchObject({ tenant: 'TENANT001', member_id: 'M1' });
    },
  },
];

describe.each([360, 768, 1_600].flatMap((width) => (['light', 'dark'] as const).map((theme) => ({ width, theme }))))(
  'at $width pixels, in the $theme theme',
  ({ width, theme: colorScheme }) => {
    it.each(SEEN)('shows $what; it fits, and axe finds nothing', async ({ at, see }) => {
      newer = [];
      const { page, faults } = await openTab(browser, served.url, { colorScheme, viewport: { width, height: 800 } });
      await page.goto(at);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await see(page);
      await page.waitForLoadState('networkidle');
      const tooWide = `[document.documentElement, ...document.querySelectorAll('dialog[open]')]
        .filter((element) => element.scrollWidth > element.clientWidth).length`;
      expect([await page.evaluate(tooWide), await axeFindings(page)]).toEqual([0, []]);
      expect(faults.filter((fault) => !fault.includes('404'))).toEqual([]);
    });
  },
);

it('at 1280 pixels has the filters in one row, and cuts off neither tenant nor error', async () => {
  const { page } = await openTab(browser, served.url, { viewport: { width: 1_280, height: 800 } });
  await page.goto('/notifications');
  const row = page.getByRole('row').filter({ hasText: 'NL1' });
  await row.waitFor();
  expect((await page.getByRole('search').boundingBox())?.height).toBeLessThan(48);
  for (const text of ['TENANT001', 'The credential is not accepted']) {
    const cell = row.getByText(text, { exact: true });
    expect([text, await cell.evaluate((one) => one.scrollWidth <= one.clientWidth)]).toEqual([text, true]);
  }
  await page.context().close();
});
