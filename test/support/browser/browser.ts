import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { launchChromium } from '../../../tools/third-party/browser/find-chromium.ts';

/** The rules of WCAG 2.2 AA that a program can check, and axe's best practices. */
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** A page, and what its console and its requests said that a person would call an error. */
export interface Tab {
  readonly page: Page;
  readonly faults: string[];
  /** Origins that the page asked for anything. */
  readonly origins: ReadonlySet<string>;
}

// Without the sandbox, because tests in containers run as root, where it does not start. Everything else is as users have it.
export const startBrowser = (): Promise<Browser> => launchChromium('--no-sandbox');

export async function openTab(browser: Browser, baseURL: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ baseURL, locale: 'en-GB', reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(30_000);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const faults: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith('http')) origins.add(origin);
  });
  return { page, faults, origins };
}

/** What axe finds on the page as it is shown, one line per rule and element. */
export async function axeFindings(page: Page): Promise<string[]> {
  // Evaluated from outside, so the page's policy for scripts stays as it is.
  await page.evaluate(axe.source);
  const { violations }: { violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] } =
    await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(AXE_TAGS)} })`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  );
}
