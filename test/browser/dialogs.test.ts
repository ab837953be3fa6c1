import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EMAIL_ACTIONS, OPERATION_ACTIONS } from '../../src/application/contract/choices.ts';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeAnswers, type FakeConsole, problem, startFakeConsole } from '../support/browser/fake-console.ts';
import { detailOf, EMAIL, notification, operation } from '../support/browser/sample-answers.ts';
import { SCREENS } from '../support/browser/screens.ts';

const YES = { possible: true } as const;
const NO = { possible: false, because: 'It waits.' } as const;

const DRY_RUN = {
  dry_run: true,
  email_id: 'EM2',
  status: 'done',
  recipients: 1_204,
  excluded: 31,
  excluded_by_reason: { suppressed: 30, repeated_address: 1 },
  renderings: [
    { segments: [], recipients: 1_000 },
    { segments: ['status:paid'], recipients: 204 },
  ],
  missing_fields: {},
  warnings: ['Gmail shows 102 KB.'],
} as const;

/** Everything is possible, so that every button is there. */
const ALL_POSSIBLE: FakeAnswers = {
  'GET /api/notifications/{log_id}': (_, { log_id = '' }) => ({
    ...detailOf(notification(log_id)),
    // A dead one, and one that waits.
    actions:
      log_id === 'NL1'
        ? { redrive: YES, retry: YES, cancel: YES, give_up: YES }
        : { redrive: NO, retry: YES, cancel: YES, give_up: NO },
  }),
  'GET /api/operations': { operations: [operation({ actions: OPERATION_ACTIONS })], next_cursor: null },
  'GET /api/emails/{email_id}': { ...EMAIL, actions: EMAIL_ACTIONS },
  'POST /api/emails/dry-run': DRY_RUN,
};
const REFUSED = () => problem(409, 'It has changed.', { command: 'npm run ops -- status --local' });
const REFUSALS: FakeAnswers = {
  ...ALL_POSSIBLE,
  'POST /api/notifications/{log_id}/reveal': REFUSED,
  'POST /api/notifications/{log_id}/content': REFUSED,
  'POST /api/notifications/{log_id}/correct': REFUSED,
  'POST /api/recipient-hash': REFUSED,
  'GET /api/members/{member_id}': REFUSED,
  'POST /api/members/show': REFUSED,
  'POST /api/actions': REFUSED,
  'POST /api/operations': REFUSED,
  'POST /api/operations/{operation_id}/start': REFUSED,
  'POST /api/operations/{operation_id}/pause': REFUSED,
  'POST /api/operations/{operation_id}/resume': REFUSED,
  'POST /api/operations/{operation_id}/cancel': REFUSED,
  'POST /api/emails/{email_id}/retry': REFUSED,
  'POST /api/emails/{email_id}/pause': REFUSED,
  'POST /api/emails/{email_id}/resume': REFUSED,
  'POST /api/emails/{email_id}/cancel': REFUSED,
  'POST /api/emails/{email_id}/resolve': REFUSED,
  'POST /api/emails/dry-run': REFUSED,
  'POST /api/members/import-preview': REFUSED,
  'POST /api/newsletters': REFUSED,
  'POST /api/keys': REFUSED,
  'POST /api/keys/{key_id}/revoke': REFUSED,
};
const DIALOGS = [
  'Act on all that match',
  'Cancel?',
  'Change integration: what matches',
  'Change weekly',
  'Correct it',
  'Find a member',
  'Find by tenant and recipient',
  'Import members',
  'Keyboard shortcuts',
  'Leave uncertain?',
  'New e-mail',
  'New key',
  'New newsletter',
  'New operation: which notifications?',
  'Pause?',
  'Preview',
  'Redrive it?',
  'Redrive: what matches',
  'Resend to uncertain?',
  'Resume?',
  'Retry it now?',
  'Revoke the key?',
  'Send the rest?',
  'Cancel its retries?',
  'Dismiss it?',
  'Dismiss: what matches',
];
/** What the last button of a dialog may lead to: another step of it. */
const STEPS = ['Redrive: preview', 'Send it corrected?', 'The key is made'];

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

/** The buttons of a screen, and beside the overview that of the help. The button of the theme would change what is asked. */
async function buttons(page: Page, path: string): Promise<Locator[]> {
  const help = path === '/' ? [page.getByRole('button', { name: 'Keyboard shortcuts' })] : [];
  return [...(await page.getByRole('main').getByRole('button').filter({ visible: true }).all()), ...help];
}

async function inBothThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const finding of await axeFindings(page)) found.push(`${colorScheme}: ${finding}`);
  }
  return found;
}

async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
  // A frame that asks for nothing is never idle for Playwright.
  const [frame] = page.mainFrame().childFrames();
  await (frame === undefined ? page.waitForLoadState('networkidle') : frame.waitForLoadState('load'));
}

/** Fills what is required, and presses the button that acts. */
async function agree(page: Page, dialog: Locator): Promise<void> {
  for (const field of await dialog.getByRole('textbox').all())
    if ((await field.getAttribute('required')) !== null) await field.fill('TENANT001');
  const file = { name: 'members.csv', mimeType: 'text/csv', buffer: Buffer.from('email\na@example.com\n') };
  for (const field of await dialog.locator('input[type=file]').all()) await field.setInputFiles(file);
  const act = dialog.locator('footer').getByRole('button').last();
  if ((await act.count()) > 0 && (await act.isEnabled())) await act.click();
  await settled(page);
}

interface Walk {
  readonly titles: Set<string>;
  readonly alerts: string[];
  readonly findings: string[];
}

/** Presses every button of every screen, then the last button of the dialog that it opens, and lets axe look each time. */
async function walk(served: FakeConsole): Promise<Walk> {
  const { page } = await openTab(browser, served.url);
  const result: Walk = { titles: new Set(), alerts: [], findings: [] };
  const look = async (where: string) => {
    for (const finding of await inBothThemes(page)) result.findings.push(`${where}: ${finding}`);
    result.alerts.push(...(await page.getByRole('alert').filter({ hasText: /\S/ }).allInnerTexts()));
    const open = page.getByRole('dialog');
    if ((await open.count()) > 0) result.titles.add(await open.getByRole('heading', { level: 2 }).first().innerText());
  };
  for (const { path } of SCREENS) {
    await page.goto(path);
    await settled(page);
    const number = (await buttons(page, path)).length;
    for (let i = 0; i < number; i += 1) {
      await page.goto(path);
      await settled(page);
      const button = (await buttons(page, path))[i];
      if (button === undefined) throw new Error(`${path} has lost its button ${i}`);
      const where = `${path}, ${await button.innerText()}`;
      await button.click();
      await settled(page);
      await look(where);
      const dialog = page.getByRole('dialog');
      if ((await dialog.count()) === 0) continue;
      await agree(page, dialog);
      await look(`${where}, agreed`);
    }
  }
  await page.context().close();
  return result;
}

describe('axe finds nothing in either theme in what a button opens', () => {
  it('and in what it leads to', { timeout: 480_000 }, async () => {
    const served = await startFakeConsole(ALL_POSSIBLE);
    const { titles, findings } = await walk(served);
    await served.close();
    expect(findings).toEqual([]);
    expect([...titles].sort()).toEqual([...DIALOGS, ...STEPS].sort());
  });

  it('and in how a refusal is shown, which says the remedy and a command', { timeout: 480_000 }, async () => {
    const served = await startFakeConsole(REFUSALS);
    const { titles, alerts, findings } = await walk(served);
    await served.close();
    expect(findings).toEqual([]);
    expect([...titles].sort()).toEqual([...DIALOGS].sort());
    const refused = alerts.filter((text) => text.includes('It has changed.'));
    expect(refused.length).toBeGreaterThanOrEqual(DIALOGS.length);
    expect(refused.filter((text) => !/Do what the test says\.[\s\S]*npm run ops -- status --local/.test(text))).toEqual(
      [],
    );
  });
});

it('a notification is corrected in a form that shows what is stored, and then what changes before it is sent', async () => {
  const served = await startFakeConsole(ALL_POSSIBLE);
  const { page, faults } = await openTab(browser, served.url);
  await page.goto('/notifications/NL1');
  await page.getByRole('button', { name: 'Correct', exact: true }).click();
  const form = page.getByRole('dialog', { name: 'Correct it' });
  expect([await form.getByLabel('Recipient').inputValue(), await form.getByLabel('Integration').inputValue()]).toEqual([
    '',
    'IC1',
  ]);
  await form.getByRole('button', { name: 'Show what is stored' }).click();
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[name=recipient]')?.value !== '');
  await form.getByLabel('Recipient').fill('#team');
  await form.getByRole('button', { name: 'Review' }).click();
  const review = page.getByRole('dialog', { name: 'Send it corrected?' });
  expect(await review.locator('dl').innerText()).toMatch(/Recipient\s+#alerts → #team/);
  await review.getByRole('button', { name: 'Back' }).click();
  expect(await form.getByLabel('Recipient').inputValue()).toBe('#team');
  await form.getByRole('button', { name: 'Review' }).click();
  await review.getByRole('button', { name: 'Correct and send' }).click();
  await page.getByText('Corrected, and queued to be sent.').waitFor();
  const sent = served.requests
    .filter(({ path }) => path.endsWith('/correct'))
    .map(({ body }) => JSON.parse(body.toString()));
  const asked = { request_id: expect.any(String), recipient: '#team' };
  expect(sent).toEqual([
    { ...asked, dry_run: true },
    { ...asked, dry_run: true },
    { ...asked, shown: expect.any(String) },
  ]);
  expect(faults).toEqual([]);
  await page.context().close();
  await served.close();
});

it('a newsletter is changed with what is tracked of it, as it was looked at, and a viewer only sees it', async () => {
  const served = await startFakeConsole();
  const { page, faults } = await openTab(browser, served.url);
  await page.goto('/newsletters');
  await page.getByRole('button', { name: 'Change Weekly' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change weekly' });
  expect(await dialog.getByLabel('From').inputValue()).toBe('News <news@example.com>');
  await dialog.getByLabel('Replies to').fill('us@example.com');
  await dialog.getByRole('checkbox', { name: /^Opens/ }).uncheck();
  await dialog.getByText(/newsletters create weekly .*--reply-to us@example.com .*--no-opens/).waitFor();
  await dialog.getByRole('button', { name: 'Store it' }).click();
  await dialog.waitFor({ state: 'detached' });
  const sent = served.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body.toString()));
  expect(sent).toMatchObject([
    {
      tenant: 'TENANT001',
      newsletter_id: 'weekly',
      name: 'Weekly',
      from: 'News <news@example.com>',
      reply_to: 'us@example.com',
      track: { opens: false, clicks: true },
      known_at: expect.any(String),
    },
  ]);
  await page.getByRole('button', { name: 'New newsletter' }).click();
  const made = page.getByRole('dialog', { name: 'New newsletter' });
  for (const [label, text] of Object.entries({ Tenant: 'T2', Id: 'daily', Name: 'Daily', From: 'd@example.com' }))
    await made.getByLabel(label, { exact: true }).fill(text);
  await made.getByRole('button', { name: 'Store it' }).click();
  await made.waitFor({ state: 'detached' });
  const body =
    served.requests
      .filter(({ method }) => method === 'POST')
      .at(-1)
      ?.body.toString() ?? '';
  expect(JSON.parse(body)).toEqual({
    request_id: expect.any(String),
    tenant: 'T2',
    newsletter_id: 'daily',
    name: 'Daily',
    from: 'd@example.com',
    known_at: null,
  });
  expect(faults).toEqual([]);
  await page.context().close();
  await served.close();
  const seen = await startFakeConsole({}, 'viewer');
  const { page: viewers } = await openTab(browser, seen.url);
  await viewers.goto('/newsletters');
  await viewers.getByText('Weekly (News <news@example.com>)').waitFor();
  expect(
    await viewers
      .getByRole('main')
      .getByRole('button', { name: /Change|New/ })
      .count(),
  ).toBe(0);
  await viewers.context().close();
  await seen.close();
});

describe('an e-mail that is written', () => {
  const scheduled_at = '2031-05-01T09:30:00.000Z';
  const DRAFT = {
    newsletter_id: 'weekly',
    subject: 'Spring',
    body: 'Hello',
    format: 'html' as const,
    segment: 'status:paid',
  };
  const sent = (served: FakeConsole, path: string) =>
    served.requests
      .filter((request) => request.method === 'POST' && request.path === path)
      .map(({ body }) => JSON.parse(body.toString()));

  it('is sent only as somebody looked at who gets it, and is tested before', async () => {
    const served = await startFakeConsole({
      'POST /api/emails/dry-run': DRY_RUN,
      'POST /api/emails/test': { results: [{ index: 0, accepted: false, reason: 'suppressed' }] },
      'POST /api/emails': { email_id: 'EM1', status: 'pending' },
    });
    const { page, faults } = await openTab(browser, served.url, { timezoneId: 'Asia/Tokyo' });
    await page.goto('/newsletters');
    await page.getByRole('button', { name: 'New e-mail' }).click();
    const dialog = page.getByRole('dialog', { name: 'New e-mail' });
    const send = dialog.getByRole('button', { name: /^Send(:|$)/ });
    await dialog.getByLabel('Subject').fill('Spring');
    await dialog.getByLabel('Text').fill('Hello {first_name, "there"}');
    await dialog.getByLabel('At', { exact: true }).fill('2031-05-01T18:30');
    await dialog.getByRole('button', { name: 'Preview recipients' }).dblclick();
    await dialog.getByText('30 left out: suppressed').waitFor();
    expect(await dialog.innerText()).toMatch(/1,204[\s\S]*204 with status:paid[\s\S]*Gmail shows 102 KB/);
    await dialog.getByLabel('Test to').fill('me@example.com');
    await dialog.getByRole('button', { name: 'Send a test' }).click();
    await dialog.getByText('Not sent: suppressed.').waitFor();
    expect(await send.innerText()).toBe('Send: 1,204 members');
    await dialog.getByLabel('Segment').fill('status:free');
    expect(await send.isEnabled()).toBe(false);
    await dialog.getByRole('button', { name: 'Preview recipients' }).click();
    await send.click();
    await page.waitForURL('**/newsletters/emails/EM1');
    const [published, ...more] = sent(served, '/api/emails');
    expect(more).toEqual([]);
    expect(published).toMatchObject({ subject: 'Spring', format: 'markdown', segment: 'status:free', scheduled_at });
    expect(published).toEqual(sent(served, '/api/emails/dry-run').at(-1));
    expect(faults).toEqual([]);
    await page.context().close();
    await served.close();
  });

  it('takes the place of a scheduled one, which it begins with', async () => {
    const state = { status: 'pending', phase: 'scheduled', scheduled_at } as const;
    const pending = { ...EMAIL, email: { ...EMAIL.email, ...state } };
    const served = await startFakeConsole({
      'GET /api/emails/{email_id}': pending,
      'GET /api/emails/{email_id}/draft': { ...DRAFT, scheduled_at, known_at: scheduled_at },
      'POST /api/emails/dry-run': DRY_RUN,
      'POST /api/emails/{email_id}/replace': { email_id: 'EM1', status: 'pending' },
    });
    const { page } = await openTab(browser, served.url, { timezoneId: 'America/New_York' });
    await page.goto('/newsletters/emails/EM1');
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit the e-mail' });
    expect(await dialog.getByLabel('At', { exact: true }).inputValue()).toBe('2031-05-01T05:30');
    await dialog.getByLabel('Subject').fill('Autumn');
    await dialog.getByRole('button', { name: 'Preview recipients' }).click();
    await dialog.getByRole('button', { name: 'Replace: 1,204 members' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(sent(served, '/api/emails/EM1/replace')).toMatchObject([
      { ...DRAFT, subject: 'Autumn', scheduled_at, known_at: scheduled_at },
    ]);
    await page.context().close();
    await served.close();
  });
});
