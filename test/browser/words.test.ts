import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ResolveAnswer } from '../../src/application/contract/newsletters.ts';
import { openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, startFakeConsole } from '../support/browser/fake-console.ts';
import { verification } from '../support/browser/sample-answers.ts';

let browser: Browser;
let served: FakeConsole;
beforeAll(async () => {
  [browser, served] = await Promise.all([startBrowser(), startFakeConsole()]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

it.each<[string, Partial<ResolveAnswer>, 'status' | 'alert', RegExp]>([
  ['all', { resolved: 4 }, 'status', /^4 recipients are sent again\.$/],
  ['one', { resolved: 1 }, 'status', /^1 recipient is sent again\.$/],
  ['some', { resolved: 3, continued: true }, 'status', /^3 recipients are sent again\. More follow/],
  ['none of a busy batch', { resolved: 0, busy: 2 }, 'alert', /^0 recipients .* 2 batches are being sent .* again/],
  [
    'those that wait',
    { resolved: 2, waiting: 1, waiting_until: '2026-03-01T10:10:00.000Z' },
    'alert',
    /^2 recipients are sent again\. SES may still tell of 1 recipient: decide again at .*10:00/,
  ],
  ['those of a failed e-mail', { resolved: 4, status: 'failed' }, 'status', /“Send the rest” sends/],
])('a decision about uncertain recipients says what it reached: %s', async (_, answer, role, words) => {
  served.answer({
    'POST /api/emails/{email_id}/resolve': { email_id: 'EM1', status: 'submitting', resolved: 0, ...answer },
  });
  const { page } = await openTab(browser, served.url);
  await page.goto('/newsletters/emails/EM1');
  await page.getByRole('button', { name: 'Resend to uncertain' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resend to uncertain' }).click();
  await page.getByRole(role).filter({ hasText: words }).waitFor();
});

it('names in the command for a new key what the form says', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('textbox', { name: 'Tenant' }).fill("Tom's");
  await page.getByRole('checkbox', { name: /^read/ }).check();
  await page.getByRole('textbox', { name: 'Description' }).fill('the billing service');
  await page.getByRole('spinbutton', { name: 'Ends after days' }).fill('30');
  await page.getByRole('spinbutton', { name: 'Requests per second' }).fill('5');
  await page
    .getByRole('dialog')
    .getByText(
      `keys create --tenant 'Tom'\\''s' --scope send --scope read --expires 30d --rate-limit 5 --description 'the billing service' --local`,
    )
    .waitFor();
});

it('names a member in commands as the shell reads its id, whatever that is', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto(`/newsletters/members/${encodeURIComponent("-x'; ls")}?tenant=T%201`);
  await page.getByText(`members unsuppress --tenant 'T 1' --local -- '-x'\\''; ls'`).waitFor();
});

it('names a newsletter in its command as the shell reads its id, whatever that is', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/newsletters');
  await page.getByRole('button', { name: 'New newsletter' }).click();
  const dialog = page.getByRole('dialog', { name: 'New newsletter' });
  await dialog.getByLabel('Id', { exact: true }).fill('-daily');
  await dialog.getByText(/newsletters create --tenant TENANT --name TEXT --from TEXT --local -- -daily/).waitFor();
});

it('says what is known of an address that no member has any more', async () => {
  const at = new Date(Date.now() - 3 * 86_400_000 - 60_000).toISOString();
  served.answer({
    'POST /api/members/show': { members: [], suppressed: { reason: 'complained', at }, unsubscribed: { weekly: at } },
  });
  const { page } = await openTab(browser, served.url);
  await page.goto('/newsletters/members');
  await page.getByRole('button', { name: 'Find a member…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Find a member' });
  await dialog.getByRole('textbox', { name: 'Member' }).fill('gone@example.com');
  await dialog.getByRole('button', { name: 'Find' }).click();
  const said = 'No member has this address any more. Suppressed 3 d ago: complained. Unsubscribed from weekly 3 d ago.';
  await expect.poll(() => dialog.getByText('No member has').textContent({ timeout: 2_000 })).toBe(said);
});

it('says in one line from when on it knows the e-mails of a member, and which cannot be opened', async () => {
  const mail = { newsletter_id: 'weekly', created_at: '2026-01-05T12:00:00.000Z', events: [] };
  served.answer({
    'GET /api/members/{member_id}/emails': {
      emails: [
        { ...mail, email_id: 'EM2', state: 'unreadable', reason: 'Chunk 0 was altered.' },
        { ...mail, email_id: 'EM1', state: 'expired' },
        { ...mail, email_id: 'EM0', created_at: '2025-01-05T12:00:00.000Z', state: 'expired' },
      ],
      next_cursor: null,
    },
  });
  const { page } = await openTab(browser, served.url);
  await page.goto('/newsletters/members/M1?tenant=TENANT001');
  await page.getByRole('row').filter({ hasText: 'Unreadable' }).getByText('Chunk 0 was altered.').waitFor();
  await page.getByText(/^Up to .*2026.* nobody knows: recipients are kept for .*90/).waitFor();
  expect(await page.getByRole('row').count()).toBe(2);
});

describe('an operation on all that match', () => {
  const asked = () => {
    const { body = '{}' } = served.requests.findLast(({ path }) => path === '/api/operations') ?? {};
    return JSON.parse(String(body)).filter;
  };

  it('takes the period that the list shows, and nothing older', async () => {
    const { page } = await openTab(browser, served.url);
    await page.goto('/notifications?channel=slack');
    expect(await page.getByRole('combobox', { name: 'Created' }).inputValue()).toBe('');
    await page.getByText('Last 24 hours').first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Act on all that match…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('dialog', { name: /preview/ }).waitFor();
    expect(asked()).toEqual({ channel: 'slack', from: expect.any(String) });
    expect(Math.abs(Date.parse(asked().from) + 86_400_000 - Date.now())).toBeLessThan(60_000);
  });

  it('takes all dead letters, whatever their age, as the list of them does, and offers what is possible with them', async () => {
    const { page } = await openTab(browser, served.url);
    await page.goto('/notifications?status=dead');
    await page.getByRole('option', { name: 'Any time' }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Act on all that match…' }).click();
    const choices = page.getByRole('dialog').getByRole('radio');
    await choices.first().waitFor();
    expect(await Promise.all((await choices.all()).map((choice) => choice.inputValue()))).toEqual([
      'redrive',
      'give_up',
    ]);
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('dialog', { name: /preview/ }).waitFor();
    expect(asked()).toEqual({});
  });

  it('is not offered where nothing can be done', async () => {
    const { page } = await openTab(browser, served.url);
    await page.goto('/notifications?status=SUCCESS');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('button', { name: 'Act on all that match…' }).count()).toBe(0);
  });
});

it('shows details of an action as words, lists too', async () => {
  const entry = { at: new Date().toISOString(), who: 'tester', role: 'operator', on: ['T1'], targets: 1 };
  served.answer({
    'GET /api/audit': {
      entries: [
        {
          ...entry,
          audit_id: 'A1',
          what: 'key.create',
          request_id: 'request-1',
          details: '{"scopes":["send","read"],"filter":{"channel":"slack"}}',
          result: { created: 1 },
        },
      ],
      next_cursor: null,
    },
  });
  const { page } = await openTab(browser, served.url);
  await page.goto('/audit');
  await page.getByRole('cell', { name: 'scopes send read, channel slack' }).waitFor();
});

it('says on a path without a screen that there is none, by the heading of the page', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/nothing-here');
  await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
});

it('verifies at a button, shows how far it is, and names what is lost with the way to it', async () => {
  served.answer({
    'GET /api/verification': { verification: null },
    'POST /api/verification/start': () => {
      const running = verification({ status: 'running', ended_at: null, result: null });
      served.answer({ 'GET /api/verification': { verification: running } });
      return { verification: running };
    },
  });
  const { page } = await openTab(browser, served.url);
  await page.goto('/operations');
  const panel = page.getByRole('region', { name: 'Verification' });
  await panel.getByText('changes nothing').waitFor();
  await panel.getByRole('button', { name: 'Verify' }).click();
  await panel.getByRole('status').filter({ hasText: '1,204 notifications read' }).waitFor();
  await panel.getByRole('button', { name: 'Stop verifying' }).waitFor();
  served.answer({ 'GET /api/verification': { verification: verification() } });
  await panel.getByText('1,204 accepted = 1,200 delivered + 3 waiting + 1 in none of these').waitFor();
  const named = panel.getByRole('list', { name: 'Violations' });
  expect(await named.getByRole('listitem').allInnerTexts()).toEqual([
    expect.stringContaining('RETRY and in no part'),
    expect.stringMatching(/slack\s+3 dead, and 2 letters/),
  ]);
  await named.getByRole('link', { name: 'NL1' }).click();
  await page.waitForURL('**/notifications/NL1');
});

describe('an empty list', () => {
  const NONE = { 'GET /api/notifications': { notifications: [], next_cursor: null } } as const;

  it('of a new stage leads to the first notification; one that filters have emptied, back to all', async () => {
    const empty = await startFakeConsole(NONE);
    const { page } = await openTab(browser, empty.url);
    await page.goto('/notifications?channel=slack');
    await page.getByRole('heading', { name: 'No results for these filters' }).waitFor();
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.getByRole('heading', { name: 'No notifications yet' }).waitFor();
    await page.getByRole('link', { name: 'Send your first' }).click();
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    await empty.close();
  });
});

it.each([
  ['/operations', 'New operation', 'Next', 'Choose a condition, or everything.'],
  ['/newsletters/members', 'Import…', 'Import', 'Preview the file first.'],
])('at %s, the dialog of %s says why %s is disabled', async (path, opens, disabled, because) => {
  const { page } = await openTab(browser, served.url);
  await page.goto(path);
  await page.getByRole('button', { name: opens }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: disabled, exact: true }).isDisabled()).toBe(true);
  await dialog.getByText(because).waitFor();
});
