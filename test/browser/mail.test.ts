import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parsePost } from '../../src/cli/commands/emails/post.ts';
import { axeFindings, openTab, startBrowser } from '../support/browser/browser.ts';
import { arriving } from '../support/newsletter/arriving.ts';
import { emailContent } from '../support/newsletter/job-rows.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
}, 60_000);
afterAll(() => browser?.close());

it.each([
  ['digest.md', 'markdown'],
  ['designed.html', 'html'],
  ['plain.txt', 'text'],
] as const)(
  'a mail (%s) fits its window, and axe finds nothing in it, light and dark',
  async (file, format) => {
    const source = readFileSync(new URL(`../../examples/newsletters/${file}`, import.meta.url), 'utf8');
    const says = { sender_name: 'K & Co', postal_address: '1-1 Chiyoda, Tokyo', contact: 'ask@k.example' };
    const newsletter = { ...emailContent().newsletter, ...says, accent_color: '#ffd500' };
    const { html } = await arriving({ ...parsePost(source, format, file), newsletter });
    const { page } = await openTab(browser, 'http://localhost');
    const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="400"/>';
    await page.route('https://**', (route) => route.fulfill({ contentType: 'image/svg+xml', body: picture }));
    await page.setContent(html, { waitUntil: 'load' });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 600, 360]) {
        await page.setViewportSize({ width, height: 700 });
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${width}`).toBe(width);
      }
      // A mail is no page: it has no landmarks, and its heading is its author's.
      const findings = (await axeFindings(page)).filter(
        (one) => !/^(?:region|landmark-one-main|page-has-heading-one):/.test(one),
      );
      expect(findings, colorScheme).toEqual([]);
    }
  },
  60_000,
);
