import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { type FakeConsole, startFakeConsole } from '../support/browser/fake-console.ts';
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

const JAPANESE = { locale: 'ja-JP', timezoneId: 'Asia/Tokyo' } as const;
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

it("speaks the browser's language, and after the switch the other one, which the browser keeps", async () => {
  const { page, faults } = await openTab(browser, served.url, JAPANESE);
  await page.goto('/');
  await heading(page, '概要');
  expect(await page.getAttribute('html', 'lang')).toBe('ja');
  await page.getByRole('link', { name: 'デッドレター' }).first().waitFor();
  await page.getByRole('time').or(page.locator('time')).first().getByText(/前$/).waitFor();
  await page.getByRole('button', { name: 'Show in English' }).click();
  await heading(page, 'Overview');
  expect(await page.getAttribute('html', 'lang')).toBe('en');
  await page.reload();
  await heading(page, 'Overview');
  await page.getByRole('button', { name: '日本語で表示' }).click();
  await heading(page, '概要');
  expect(faults).toEqual([]);
});

it.each([
  ['a language that it does not speak', 'de-DE', 'en', 'Overview'],
  ['one of several that it speaks', 'ja', 'ja', '概要'],
])('reads %s as it can', async (_, locale, lang, title) => {
  const { page } = await openTab(browser, served.url, { locale });
  await page.goto('/');
  await heading(page, title);
  expect(await page.getAttribute('html', 'lang')).toBe(lang);
});

it('says in Japanese what operators did, by whom of a role, and what a verification has counted', async () => {
  const entry = { at: new Date().toISOString(), role: 'operator', on: ['slack'], targets: 1, request_id: 'request-1' };
  const who = 'arn:aws:sts::111122223333:assumed-role/Operators/hanako@example.com';
  const result = { queued: 2, refused: 1 };
  const acts = ['dlq.drop', 'email.resolve.resend', 'verification.start'];
  const entries = acts.map((what, i) => ({ ...entry, audit_id: `A${i}`, who, what, result }));
  const later = await startFakeConsole({ 'GET /api/audit': { entries, next_cursor: null } });
  const { page } = await openTab(browser, later.url, JAPANESE);
  await page.goto('/audit');
  const row = page.getByRole('row').filter({ hasText: 'デッドレターを削除' });
  expect(await row.innerText()).toMatch(/hanako@example\.com[\s\S]*投入 2 件, 拒否 1 件/);
  for (const hasText of ['不明分: 再送', '検証: 開始']) await page.getByRole('row').filter({ hasText }).waitFor();
  await page.goto('/operations');
  await page.getByText(/^受け付け [\d,]+ 件 = 配信済み [\d,]+ 件/).waitFor();
  await later.close();
});

it.each(SCREENS)('in Japanese, $path shows no blank, no English headings, and fits into 390 px', async ({ path }) => {
  const { page, faults } = await openTab(browser, served.url, { ...JAPANESE, viewport: { width: 390, height: 844 } });
  await page.goto(path);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  expect(await page.getByText(/\{\w+\}/).count()).toBe(0);
  const heads = (await page.locator('h2, th[scope=col]').allInnerTexts()).filter((text) => text.trim() !== '');
  expect(heads.filter((text) => /[A-Za-z]/.test(text) && !/[぀-ヿ一-鿿]/.test(text))).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  expect(await axeFindings(page)).toEqual([]);
  expect(faults).toEqual([]);
});
