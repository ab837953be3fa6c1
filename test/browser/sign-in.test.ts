import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type DeployedConsole, startDeployedConsole } from '../support/browser/deployed-console.ts';

let browser: Browser;
let served: DeployedConsole;
beforeAll(async () => {
  [browser, served] = await Promise.all([startBrowser(), startDeployedConsole()]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});
beforeEach(() => {
  Object.assign(served.issuer.settings, { tokenSeconds: 900, refreshTokens: true, audience: 'console' });
});

const shown = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

/** Answers the form of the issuer. Its name is the group as well. */
async function signIn(page: Page, name: string): Promise<void> {
  await page.waitForURL((url) => url.href.startsWith(served.issuer.url));
  await page.locator('input[name="login"]').fill(name);
  await page.locator('input[name="password"]').fill('any');
  await page.locator('button[type="submit"]').click();
}

/** What a script that got into the page, or the next user of the machine, could find. */
function stored(page: Page): Promise<string> {
  return page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
}

it('without a token nothing but the static files is answered', async () => {
  for (const path of ['', 'config.json', 'notifications']) expect((await fetch(served.url + path)).status).toBe(200);
  for (const authorization of ['', 'Bearer x', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJvcGVyYXRvciJ9.']) {
    for (const [path, method] of [
      ['session', 'GET'],
      ['overview', 'GET'],
      ['retry', 'POST'],
    ] as const) {
      expect((await fetch(`${served.url}api/${path}`, { method, headers: { authorization } })).status).toBe(401);
    }
  }
});

it('an operator signs in at the issuer, comes back to where the link led, and a reload shows no form again', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/notifications?channel=slack');
  await signIn(page, 'operator');
  await shown(page, 'Notifications');
  expect(page.url()).toBe(`${served.url}notifications?channel=slack`);
  await page.getByText('operator@example.com').waitFor();
  await page.getByRole('button', { name: 'Act on all that match…' }).waitFor();
  expect(await stored(page)).toBe('[{},{},""]');

  const before = served.issuer.requests.length;
  await page.reload();
  await shown(page, 'Notifications');
  expect(page.url()).toBe(`${served.url}notifications?channel=slack`);
  expect(served.issuer.requests.slice(before)).toEqual(expect.arrayContaining(['GET /auth prompt=none']));
  expect(served.issuer.requests.slice(before).filter((line) => line.includes('interaction'))).toEqual([]);
});

it('a viewer sees and is refused every change, also by hand', async () => {
  const { page } = await openTab(browser, served.url);
  let authorization = '';
  page.on('request', (request) => {
    authorization = request.headers()['authorization'] ?? authorization;
  });
  await page.goto('/keys');
  await signIn(page, 'viewer');
  await shown(page, 'Keys');
  await page.getByText('viewer@example.com').waitFor();
  const headers = { authorization, 'content-type': 'application/json' };
  const answer = await fetch(`${served.url}api/keys`, { method: 'POST', headers, body: '{}' });
  expect(answer.status).toBe(403);
});

it('whoever has no role is told so, and can leave to come back as somebody else', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/');
  await signIn(page, 'stranger');
  await page.getByRole('alert').filter({ hasText: 'Your token gives you no role here.' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
});

it('a token that ends is renewed without a trace on the page, again and again, by refresh tokens that are taken once', async () => {
  served.issuer.settings.tokenSeconds = 32;
  const { page } = await openTab(browser, served.url);
  await page.goto('/');
  await signIn(page, 'operator');
  await shown(page, 'Overview');
  const [before, failed] = [served.issuer.requests.length, served.answers.length];
  const renewals = () =>
    served.issuer.requests.slice(before).filter((one) => one.startsWith('POST /token refresh_token'));
  await expect.poll(() => renewals().length, { timeout: 60_000 }).toBeGreaterThan(1);
  expect(new Set(renewals())).toEqual(new Set(['POST /token refresh_token']));
  expect(served.answers.slice(failed).filter((line) => line.startsWith('401'))).toEqual([]);
  await shown(page, 'Overview');
  expect(await stored(page)).toBe('[{},{},""]');
});

it('where the issuer renews nothing the page says so, and one click comes back to the same place', async () => {
  Object.assign(served.issuer.settings, { tokenSeconds: 4, refreshTokens: false });
  const { page } = await openTab(browser, served.url);
  await page.goto('/dead-letters');
  await signIn(page, 'operator');
  await shown(page, 'Dead letters');
  await page.getByText('Your session has ended.').waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await shown(page, 'Dead letters');
  expect(page.url()).toBe(`${served.url}dead-letters`);
});

it('signing out ends the session at the issuer, revokes the renewal, and nothing signs in again by itself', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/');
  await signIn(page, 'operator');
  await shown(page, 'Overview');
  const before = served.issuer.requests.length;
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: /sign me out/i }).click();
  await page.getByText('You have signed out.').waitFor();
  expect(served.issuer.requests.slice(before)).toContain('POST /token/revocation');
  await page.reload();
  await page.getByText('You have signed out.').waitFor();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await signIn(page, 'viewer');
  await page.getByText('viewer@example.com').waitFor();
});

it('an answer that belongs to no sign-in of this tab signs nobody in', async () => {
  const { page } = await openTab(browser, served.url);
  const before = served.issuer.requests.length;
  await page.goto('/?code=stolen&state=guessed');
  await page.getByText('This address is the answer to a sign-in that this tab did not begin.').waitFor();
  expect(served.issuer.requests.slice(before)).toEqual([]);
  expect(page.url()).toBe(served.url);
});

it('a token that the API does not take brings a sentence, and no endless journey', async () => {
  served.issuer.settings.audience = 'somebody-else';
  const { page } = await openTab(browser, served.url);
  await page.goto('/');
  await signIn(page, 'operator');
  await page.getByText('Your session has ended.').waitFor();
});
