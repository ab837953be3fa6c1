import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, problem, startFakeConsole } from '../support/browser/fake-console.ts';
import { SCREENS } from '../support/browser/screens.ts';

let browser: Browser;
let served: FakeConsole;
beforeAll(async () => {
  [browser, served] = await Promise.all([startBrowser(), startFakeConsole()]);
});
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
  it.each(SCREENS)('axe finds nothing on $path', async ({ path, heading }) => {
    const { page, faults, origins } = await openTab(browser, served.url, { colorScheme });
    await page.goto(path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await page.waitForLoadState('networkidle');
    await page.evaluate(`document.querySelectorAll('details').forEach((part) => { part.open = true; })`);
    expect(await axeFindings(page)).toEqual([]);
    expect(faults).toEqual([]);
    expect([...origins]).toEqual([new URL(served.url).origin]);
  });

  it('axe finds nothing in the menu of a narrow screen', async () => {
    const { page } = await openTab(browser, served.url, { colorScheme, viewport: { width: 360, height: 740 } });
    await page.goto('/');
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Audit log' }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });
});

it('axe finds what is wrong, when something is', async () => {
  const { page } = await openTab(browser, served.url);
  await page.goto('/keys');
  await page.getByRole('heading', { level: 1 }).waitFor();
  // What arrives later draws the page anew, without the picture.
  await page.waitForLoadState('networkidle');
  await page.evaluate(`document.querySelector('main').insertAdjacentHTML('beforeend', '<img src="/nothing.png">')`);
  expect(await axeFindings(page)).toEqual([expect.stringMatching(/^image-alt/)]);
});

it.each(SCREENS)('$path fits into 360 px without scrolling sideways', async ({ path }) => {
  const { page } = await openTab(browser, served.url, { viewport: { width: 360, height: 740 } });
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
  const cut = await page.evaluate(`[...document.querySelectorAll('tbody .cell')].filter((cell) => {
    const [inner, outer] = [cell, cell.closest('tr')].map((element) => element.getBoundingClientRect());
    return inner.top < outer.top || inner.bottom > outer.bottom || inner.right > outer.right;
  }).map((cell) => cell.innerText)`);
  expect(cut).toEqual([]);
  expect(await axeFindings(page)).toEqual([]);
});

it.each(SCREENS.flatMap(({ path }) => [740, 900, 1024, 1280].map((width) => ({ path, width }))))(
  'nothing of $path is cut off at $width px',
  async ({ path, width }) => {
    const { page } = await openTab(browser, served.url, { viewport: { width, height: 800 } });
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    const outside = await page.evaluate(`[...document.querySelectorAll('th, td')]
    .filter((cell) => cell.getBoundingClientRect().right > cell.closest('table').getBoundingClientRect().right)
    .map((cell) => cell.innerText)`);
    expect(outside).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.context().close();
  },
);

it('says what is wrong, what to do, and the command that does the same', async () => {
  const broken = await startFakeConsole({
    'GET /api/dead-letters': () =>
      problem(503, 'The table did not answer.', { command: 'npm run ops -- dlq list --local' }),
  });
  const { page } = await openTab(browser, broken.url);
  await page.goto('/dead-letters');
  const alert = page.getByRole('alert').filter({ hasText: 'The table did not answer.' });
  await alert.waitFor();
  expect(await alert.innerText()).toMatch(/What to do: Do what the test says\.[\s\S]*npm run ops -- dlq list --local/);
  await page.context().close();
  await broken.close();
});

it('offers a viewer nothing that changes anything', async () => {
  const viewer = await startFakeConsole({}, 'viewer');
  const { page } = await openTab(browser, viewer.url);
  for (const { path } of SCREENS) {
    await page.goto(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    for (const button of await page.getByRole('main').getByRole('button').all()) {
      const offered = (await button.isEnabled()) && (await button.getAttribute('aria-disabled')) !== 'true';
      if (offered) expect(await button.innerText()).toMatch(/^(By recipient…|Live: pause|Preview|)$/);
    }
  }
  expect(viewer.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  await page.context().close();
  await viewer.close();
});
