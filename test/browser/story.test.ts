import { readFileSync, writeFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERROR_POLICY } from '../../src/core/model/error-types.ts';
import { putSamples } from '../../src/local/samples/first-run.ts';
import { openTab, startBrowser } from '../support/browser/browser.ts';
import { Flow } from '../support/flow/harness.ts';

/** As many as the demo has: every channel has every outcome. */
const SAMPLES = 240;
const LONG = { timeout: 60_000 };

const flow = new Flow();
let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
  await flow.start({ baseIntervalSeconds: 0.5 });
  await putSamples(flow.endpoints, SAMPLES);
  await flow.job('--wait');
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await flow.end();
});

/** The only thing that the person does outside of the page: what the page says about the token. */
async function repairToken(page: Page): Promise<void> {
  const group = page.getByRole('region', { name: 'Slack: the credential is not accepted' });
  const hint = await group.getByText(/^Put the right credential at integrations →/).innerText();
  const integration = /→ (\S+)/.exec(hint)?.[1] ?? '';
  const file =
    /'(.+)'/.exec(
      await group
        .getByRole('button', { name: /^Copy: Put the right/ })
        .locator('..')
        .innerText(),
    )?.[1] ?? '';
  const secrets = JSON.parse(readFileSync(file, 'utf8'));
  expect(secrets.integrations[integration].token).toBe('xoxb-revoked');
  secrets.integrations[integration].token = 'xoxb-repaired';
  writeFileSync(file, JSON.stringify(secrets));
}

it('a person who never saw the page finds the revoked Slack token, repairs it, redrives, and sees them delivered', async () => {
  const { page, faults, origins } = await openTab(browser, flow.endpoints.endpoints.console);
  const opened: string[] = [];
  page.on('request', (request) => {
    if (/\/api\/notifications\/./.test(request.url())) opened.push(request.url());
  });
  await page.goto('/');

  // What is wrong, and how many does it stop?
  const wrong = page.getByRole('region', { name: 'Why they are dead' });
  await wrong.waitFor(LONG);
  const slack = wrong.getByRole('listitem').filter({ has: page.getByRole('heading', { level: 3, name: /^Slack/ }) });
  await slack.getByRole('link', { name: 'The credential is not accepted' }).click();
  const group = page.getByRole('region', { name: 'Slack: the credential is not accepted' });
  await group.getByText('token_revoked').first().waitFor();
  const ids = await group.getByRole('link', { name: /^sample-/ }).allInnerTexts();
  // What to do is said by the last error of a group, also where all retries were used up.
  expect(await page.getByText(ERROR_POLICY.MAX_RETRIES.remedy).count()).toBe(0);

  await repairToken(page);

  // The group, and nothing else.
  await group.getByRole('button', { name: /^Redrive/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
  const confirm = page.getByRole('dialog').getByRole('button', { name: /^Redrive \d+ notifications?$/ });
  // As many as there are by now: the last of them may have died since the page was read.
  const [stopped = ''] = /\d+/.exec(await confirm.innerText(LONG)) ?? [];
  expect(Number(stopped)).toBeGreaterThanOrEqual(ids.length);
  await confirm.click(LONG);
  await page
    .getByRole('status')
    .getByText(/Its progress is under operations/)
    .waitFor(LONG);

  // The page itself says that they are delivered: not one id is opened.
  const operation = page.getByRole('region', { name: new RegExp(`^Redrive ${stopped} notifications?`) });
  await operation
    .getByRole('list', { name: 'What became of them' })
    .getByText(`${stopped} delivered`, { exact: true })
    .waitFor(LONG);
  for (const log_id of ids) expect((await flow.row(log_id))?.['send_status']).toBe('SUCCESS');
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor(LONG);
  await slack.getByRole('link', { name: 'The credential is not accepted' }).waitFor({ state: 'detached', ...LONG });
  expect(opened).toEqual([]);

  // Who did it is written down, and stands at the attempt.
  await page.goto(`/notifications/${ids[0]}`);
  await page.getByText(/redriven by \S+ in operation op-/).waitFor(LONG);
  await page.getByRole('link', { name: 'Audit log' }).click();
  await page
    .getByRole('row')
    .filter({ hasText: /operation/ })
    .first()
    .waitFor(LONG);
  expect(faults).toEqual([]);
  expect([...origins]).toEqual([flow.endpoints.endpoints.console]);
});

it('shows a recipient when an operator asks, and writes the look down', async () => {
  const { page } = await openTab(browser, flow.endpoints.endpoints.console);
  await page.goto('/notifications/sample-0001');
  await page.getByRole('heading', { level: 1, name: /^sample-0001/ }).waitFor(LONG);
  expect(await page.getByRole('main').innerText()).not.toContain('@example.com');
  await page.getByRole('button', { name: 'Show recipient' }).click();
  await page.getByText('@example.com').waitFor(LONG);
  await page.goto('/audit?target=sample-0001');
  await page.getByRole('row').filter({ hasText: 'reveal' }).first().waitFor(LONG);
});

it('redrives one dead notification after saying what would happen, and keeps its first attempt', async () => {
  const { page } = await openTab(browser, flow.endpoints.endpoints.console);
  await page.goto('/dead-letters?channel=teams');
  await page
    .getByRole('link', { name: /^sample-/ })
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: /Dead/ }).waitFor(LONG);
  const attempts = page.getByRole('heading', { level: 3, name: /^(First send|Retry \d+):/ });
  const before = await attempts.count();
  const firstAttempt = () =>
    page.getByRole('term').filter({ hasText: 'First attempt' }).locator('..').locator('time').getAttribute('datetime');
  const first = await firstAttempt();
  expect(first).not.toBeNull();
  await page.getByRole('button', { name: 'Redrive' }).click();
  const dialog = page.getByRole('dialog', { name: 'Redrive it?' });
  await dialog.getByText(/npm run ops -- retry --redrive sample-/).waitFor(LONG);
  expect(await dialog.getByRole('button').allInnerTexts()).toEqual(expect.arrayContaining(['Keep', 'Redrive']));
  await dialog.getByRole('button', { name: 'Redrive' }).click();
  await page
    .getByRole('status')
    .getByText(/queued/)
    .waitFor(LONG);
  await attempts.nth(before).waitFor(LONG);
  await page.getByText(/redriven by/).waitFor(LONG);
  expect(await firstAttempt()).toBe(first);
});

it('makes a key, shows it once, and revokes it', async () => {
  const { page } = await openTab(browser, flow.endpoints.endpoints.console);
  await page.goto('/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('textbox', { name: 'Tenant' }).fill('TENANT001');
  await page.getByRole('textbox', { name: 'Description' }).fill('the browser test');
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog', { name: 'The key is made' });
  await dialog.waitFor(LONG);
  const key = (await dialog.getByRole('button', { name: 'Copy: Key' }).locator('..').innerText()).trim();
  const accepted = () =>
    fetch(`${flow.endpoints.endpoints.api}/v1/notifications`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'browser-1' },
      body: JSON.stringify({ channel: 'email', recipient: 'someone@example.com', subject: 'Hello', body: 'Hello' }),
    }).then(({ status }) => status);
  expect(await accepted()).toBe(202);
  await dialog.getByRole('button', { name: 'I have stored it' }).click();

  const row = page.getByRole('row').filter({ hasText: 'the browser test' });
  await row.getByRole('button', { name: /^Revoke/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click();
  await row.getByText('Revoked').waitFor(LONG);
});
