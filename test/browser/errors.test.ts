import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeAnswers, startFakeConsole } from '../support/browser/fake-console.ts';
import { EMAIL, OVERVIEW, operation } from '../support/browser/sample-answers.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

const FAILED = operation({
  kind: 'cancel',
  status: 'failed',
  error: 'It stopped (ThrottlingException). Nothing is lost: resume it.',
  actions: ['resume', 'cancel'],
  command: null,
});

/** A place that shows an error: where it lies, what it says, what a person does about it, and the line for the shell. */
it.each<{
  readonly place: string;
  readonly path: string;
  readonly answers?: FakeAnswers;
  readonly says: readonly (string | RegExp)[];
  readonly prepare?: (page: Page) => Promise<void>;
}>([
  {
    place: 'a provider that is down',
    path: '/',
    says: ['SERVER_OVERLOAD', 'What to do: Nothing, if the provider comes back', 'npm run ops -- status --local'],
  },
  {
    place: 'metrics that cannot be read',
    path: '/',
    answers: {
      'GET /api/overview': { ...OVERVIEW, series_problem: { detail: 'No right.', remedy: 'Grant the right.' } },
    },
    says: ['No right.', 'What to do: Grant the right.', 'npm run ops -- sweeps --local'],
  },
  {
    place: 'an operation that failed, of a kind without a command',
    path: '/operations',
    answers: { 'GET /api/operations': { operations: [FAILED], next_cursor: null } },
    says: ['It stopped (ThrottlingException).', 'resume it', 'npm run ops -- audit --target OP1 --local'],
  },
  {
    place: 'an e-mail that failed',
    path: '/newsletters/emails/EM1',
    answers: {
      'GET /api/emails/{email_id}': {
        ...EMAIL,
        email: { ...EMAIL.email, status: 'failed', error: 'partially sent: 6 of 1,000 failed' },
        actions: ['retry'],
      },
    },
    says: ['partially sent', 'What to do: Remove the cause', 'npm run ops -- emails retry EM1 --local'],
  },
  {
    place: 'recipients that did not get it',
    path: '/newsletters/emails/EM1',
    says: [/suppressed The address bounced, .* lift a suppression/, /rejected SES refused it for good/],
  },
  {
    place: 'a server that does not answer',
    path: '/keys',
    prepare: async (page) => {
      await page.route('**/api/keys', (route) => route.abort());
      await page.getByRole('link', { name: 'Audit log' }).click();
      await page.getByRole('link', { name: 'Keys' }).click();
    },
    says: ['The console cannot be reached', 'What to do: Check that', 'npm run ops -- status --local'],
  },
])('shows for $place the remedy and a command', async ({ path, answers = {}, says, prepare }) => {
  const served = await startFakeConsole(answers);
  const { page } = await openTab(browser, served.url);
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await prepare?.(page);
  for (const text of says) await page.getByRole('main').filter({ hasText: text }).waitFor({ timeout: 5_000 });
  for (const line of says.filter((text) => String(text).startsWith('npm run')))
    expect(await page.getByText(line).first().isVisible()).toBe(true);
  await page.waitForLoadState('networkidle');
  expect(await axeFindings(page)).toEqual([]);
  await page.context().close();
  await served.close();
});

it('leads from an operation that is done to what became of its notifications', async () => {
  const served = await startFakeConsole({
    'GET /api/operations': {
      operations: [operation({ status: 'done', progress: { matched: 3, taken: 3, left_to_sweep: 0, excluded: {} } })],
      next_cursor: null,
    },
  });
  const { page } = await openTab(browser, served.url);
  await page.goto('/operations');
  await page
    .getByRole('region', { name: /^Redrive/ })
    .getByText('What became of them')
    .waitFor();
  await page.getByRole('list', { name: 'What became of them' }).getByRole('link', { name: 'NL1' }).click();
  await page.getByRole('heading', { level: 1, name: /^NL1/ }).waitFor();
  await page.context().close();
  await served.close();
});

it('looks again until the rows name the operation that took them, and then no more', async () => {
  const ended = { status: 'done', ended_at: new Date().toISOString() } as const;
  const done = operation({ ...ended, progress: { matched: 3, taken: 3, left_to_sweep: 0, excluded: {} } });
  const none = { delivered: [], dead: [], waiting: [], stopped: [] };
  const served = await startFakeConsole({
    'GET /api/operations': { operations: [done], next_cursor: null },
    'GET /api/operations/{operation_id}': {
      ...done,
      outcomes: { ...none, looked_at: 3, delivered: ['NL1', 'NL2', 'NL3'] },
    },
  });
  const { page } = await openTab(browser, served.url);
  let looks = 0;
  await page.route('**/api/operations/OP1', (route) => {
    looks += 1;
    return looks === 1 ? route.fulfill({ json: { ...done, outcomes: { ...none, looked_at: 0 } } }) : route.continue();
  });
  await page.clock.install();
  await page.goto('/operations');
  const became = page.getByRole('list', { name: 'What became of them' });
  await became.waitFor({ state: 'attached' });
  await page.clock.fastForward(5_000);
  await became.getByText('3 delivered', { exact: true }).waitFor();
  // On a busy machine a look may have begun before the answer to the one before.
  await page.waitForLoadState('networkidle');
  const needed = looks;
  await page.clock.fastForward(60_000);
  await page.waitForLoadState('networkidle');
  expect(looks).toBe(needed);
  await page.context().close();
  await served.close();
});

it.each(['en-US@posix', 'C', ''])('starts in a browser that names its language “%s”', async (language) => {
  const served = await startFakeConsole({});
  const { page, faults } = await openTab(browser, served.url);
  await page.addInitScript((value) => {
    Object.defineProperty(Navigator.prototype, 'language', { get: () => value, configurable: true });
  }, language);
  await page.goto('/');
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
  await served.close();
});

it('says what to do when its script does not start', async () => {
  const served = await startFakeConsole({});
  const { page } = await openTab(browser, served.url);
  await page.route('**/*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: 'throw new Error()' }));
  await page.goto('/');
  await page.getByText('Reload the page.').waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.context().close();
  await served.close();
});

it('tells first which alarm rings and which provider is down, and leads to what it holds', async () => {
  const served = await startFakeConsole({});
  const { page } = await openTab(browser, served.url);
  await page.goto('/');
  const link = page.getByRole('link', { name: /^\d+ notifications? held$/ });
  await link.waitFor();
  const titles = await page.getByRole('heading', { level: 2 }).allTextContents();
  expect(titles.slice(0, 2)).toEqual(['Alarms that ring', 'Providers that are down']);
  const held = new URL((await link.getAttribute('href')) ?? '', served.url);
  expect(Object.fromEntries(held.searchParams)).toEqual({ channel: 'teams', integration: 'IC7', status: 'held' });
  await page.context().close();
  await served.close();
});
