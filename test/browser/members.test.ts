import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, problem, startFakeConsole } from '../support/browser/fake-console.ts';

let browser: Browser;
let served: FakeConsole;
beforeAll(async () => {
  [browser, served] = await Promise.all([startBrowser(), startFakeConsole()]);
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await served?.close();
});

const FILE = { name: 'members.csv', mimeType: 'text/csv', buffer: Buffer.from('email\nアン@example.com\n') };
const bodies = (path: string) =>
  served.requests.filter((request) => request.path === path).map(({ body }) => JSON.parse(String(body)));

it('members are listed by newsletter and state, which the link holds, and say what they get', async () => {
  const { page, faults } = await openTab(browser, served.url);
  await page.goto('/newsletters');
  await page.getByRole('link', { name: 'Members' }).click();
  const one = page.getByRole('row').filter({ hasText: 'M1' });
  expect(await one.innerText()).toMatch(/Subscribed[\s\S]*M1[\s\S]*daily/);
  await page.getByRole('combobox', { name: /^Newsletter/ }).selectOption('weekly');
  await page.getByRole('combobox', { name: /^State/ }).selectOption('suppressed');
  await page.waitForURL('**/newsletters/members?tenant=TENANT001&newsletter=weekly&state=suppressed');
  await expect.poll(() => served.requests.at(-1)?.query['state']).toBe('suppressed');
  await one.getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: 'M1' }).waitFor();
  const said = await page.getByRole('main').innerText();
  expect(said).toMatch(/gets no newsletter/);
  expect(said).not.toMatch(/subscribes to/);
  expect(faults).toEqual([]);
});

it('a file is imported only as somebody looked at what it would do, in as many requests as it takes', async () => {
  const done = { line: 200, created: 200, changed: 0, bad: 0, skipped: 0, unsubscribed: 0, suppressed: 0, faults: [] };
  served.answer({
    'POST /api/members/import': ({ body }) =>
      JSON.parse(String(body)).after === 200 ? { ...done, line: 240, created: 40, next: null } : { ...done, next: 200 },
  });
  const { page, faults } = await openTab(browser, served.url);
  await page.goto('/newsletters/members');
  await page.getByRole('button', { name: 'Import…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import members' });
  const act = dialog.getByRole('button', { name: /^Import/ });
  expect(await act.isEnabled()).toBe(false);
  await dialog.getByLabel('File', { exact: true }).setInputFiles(FILE);
  await dialog.getByLabel('Newsletter', { exact: true }).selectOption('weekly');
  await dialog.getByLabel('All of them are').selectOption('unsubscribed');
  await dialog.getByText(/members import FILE.csv --tenant TENANT001 --newsletter weekly --as unsubscribed/).waitFor();
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('Line 3: email must be an address.').waitFor();
  expect(await act.innerText()).toBe('Import 3 lines');
  await dialog.getByLabel('Labels').fill('vip, old');
  expect(await act.isEnabled()).toBe(false);
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await act.click();
  await page.getByText('240 members are new, 0 were known.').waitFor();
  const [looked, imports] = [bodies('/api/members/import-preview'), bodies('/api/members/import')];
  expect(looked.at(-1)).toMatchObject({ newsletter: 'weekly', as: 'unsubscribed', labels: ['vip', 'old'] });
  expect(Buffer.from(looked[0].content, 'base64').equals(FILE.buffer)).toBe(true);
  expect(imports.map(({ after }) => after)).toEqual([0, 200]);
  expect(new Set(imports.map(({ request_id }) => request_id)).size).toBe(2);
  expect(faults).toEqual([]);
});

it('a file that is too long, or wrong as a whole, is said to be so, and nothing is imported', async () => {
  const before = bodies('/api/members/import').length;
  served.answer({ 'POST /api/members/import-preview': () => problem(400, 'file cannot be taken. The file is empty.') });
  const { page } = await openTab(browser, served.url);
  await page.goto('/newsletters/members');
  await page.getByRole('button', { name: 'Import…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import members' });
  await dialog.getByLabel('File', { exact: true }).setInputFiles({ ...FILE, buffer: Buffer.alloc(700_001, 'a') });
  await dialog.getByRole('button', { name: 'Preview' }).click();
  expect(await page.evaluate(`document.querySelector('input[type=file]').validationMessage`)).toContain(
    'At most 700 KB',
  );
  await dialog.getByLabel('File', { exact: true }).setInputFiles(FILE);
  await dialog.getByRole('button', { name: 'Preview' }).click();
  await dialog.getByText('file cannot be taken. The file is empty.').waitFor();
  expect(bodies('/api/members/import').length).toBe(before);
});

it.each([
  [1280, 'light'],
  [1280, 'dark'],
  [390, 'light'],
  [390, 'dark'],
] as const)('axe finds nothing at %s px, %s', async (width, colorScheme) => {
  const { page } = await openTab(browser, served.url, { viewport: { width, height: 844 }, colorScheme });
  served.answer({ 'POST /api/members/import-preview': PREVIEW });
  const picture = async (name: string) => {
    const pictures = process.env['PICTURES'];
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}-${width}-${colorScheme}.png` });
    expect(await axeFindings(page)).toEqual([]);
  };
  await page.goto('/newsletters/members');
  await page.getByRole('row').filter({ hasText: 'M1' }).waitFor();
  await picture('members');
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  await page.getByRole('button', { name: 'Import…' }).click();
  await page.getByLabel('File', { exact: true }).setInputFiles(FILE);
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('Line 3: email must be an address.').waitFor();
  await picture('import');
});

const PREVIEW = {
  line: 4,
  created: 2,
  changed: 1,
  bad: 1,
  skipped: 0,
  unsubscribed: 1,
  suppressed: 0,
  faults: [{ line: 3, column: 'email', rule: 'email', message: 'must be an address' }],
  next: null,
};
