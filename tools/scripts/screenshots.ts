import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { startLocalRuntime } from '../../src/local/runtime/runtime.ts';
import { firstRun } from '../../src/local/samples/first-run.ts';
import { arriving } from '../../test/support/newsletter/arriving.ts';
import { emailContent } from '../../test/support/newsletter/job-rows.ts';
import { launchChromium } from '../third-party/browser/find-chromium.ts';

/** Half a second, so that the samples' retries end while the script waits. */
const BASE_INTERVAL_SECONDS = 0.5;
const RETRIES_MS = 45_000;
const IMAGES = join(PROJECT_ROOT, 'docs', 'images');

interface Shot {
  readonly file: string;
  readonly path: string;
  readonly theme: 'light' | 'dark';
  readonly width: number;
  readonly height: number;
  /** What to do before the picture is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const WIDE = { width: 1360, height: 850 } as const;
const PHONE = { width: 360, height: 740 } as const;

const openFirst = (name: RegExp) => async (page: Page) => {
  await page.getByRole('link', { name }).first().click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
};
const previewRedrive = async (page: Page) => {
  await page
    .getByRole('button', { name: /^Redrive/ })
    .first()
    .click();
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: /^Redrive \d+ notification/ }).waitFor();
};

const SHOTS: readonly Shot[] = [
  { file: 'console-overview', path: '/', theme: 'light', ...WIDE },
  { file: 'console-overview-dark', path: '/', theme: 'dark', ...WIDE },
  { file: 'console-notifications', path: '/notifications', theme: 'light', ...WIDE },
  {
    file: 'console-notification',
    path: '/dead-letters?channel=slack',
    theme: 'light',
    ...WIDE,
    prepare: openFirst(/^sample-/),
  },
  { file: 'console-dead-letters', path: '/dead-letters', theme: 'light', ...WIDE },
  { file: 'console-redrive', path: '/dead-letters?channel=slack', theme: 'dark', ...WIDE, prepare: previewRedrive },
  { file: 'console-phone', path: '/', theme: 'dark', ...PHONE },
  { file: 'console-phone-notifications', path: '/notifications', theme: 'light', ...PHONE },
];

/** A newsletter in Markdown as a member gets it, and its pictures: docs/images/newsletter-*.png. */
async function showNewsletter(browser: Browser): Promise<void> {
  const body = readFileSync(join(PROJECT_ROOT, 'test/corpus/bodies/newsletter.md'), 'utf8');
  const { html } = await arriving(emailContent({ body, format: 'markdown', subject: 'Release 4.2' }));
  const bars = Array.from({ length: 20 }, (_, i) => `<path d="M${i * 60 + 30} 300V${40 + 200 / (1 + i * i * 0.3)}"/>`);
  const chart = `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="300" stroke="#1a5fb4" stroke-width="48">${bars.join('')}</svg>`;
  const logo =
    '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48"><circle cx="24" cy="24" r="20" fill="#1a5fb4"/></svg>';
  for (const [theme, width] of [
    ['dark', 600],
    ['light', 360],
  ] as const) {
    const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 600 } });
    const page = await context.newPage();
    await page.route('https://img.example.com/*', (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body: route.request().url().includes('chart') ? chart : logo }),
    );
    await page.setContent(html, { waitUntil: 'networkidle' });
    await page.screenshot({ path: join(IMAGES, `newsletter-${theme}.png`), fullPage: true });
    await context.close();
    process.stdout.write(`docs/images/newsletter-${theme}.png\n`);
  }
}

/** Pictures of the console with the sample data, as `npm start` shows it: docs/images/console-*.png. */
async function main(): Promise<void> {
  const browser = await launchChromium('--no-sandbox');
  await showNewsletter(browser);
  const workDir = mkdtempSync(join(tmpdir(), 'screenshots-'));
  const runtime = await startLocalRuntime({ workDir, baseIntervalSeconds: BASE_INTERVAL_SECONDS, schedule: 'off' });
  try {
    await firstRun(runtime);
    await setTimeout(RETRIES_MS);
    mkdirSync(IMAGES, { recursive: true });
    for (const { file, path, theme, prepare, ...viewport } of SHOTS) {
      const baseURL = runtime.endpoints.endpoints.console;
      const context = await browser.newContext({ baseURL, colorScheme: theme, viewport, locale: 'en-GB' });
      const page = await context.newPage();
      await page.goto(path);
      await page.waitForLoadState('networkidle');
      await prepare?.(page);
      await page.screenshot({ path: join(IMAGES, `${file}.png`) });
      await context.close();
      process.stdout.write(`docs/images/${file}.png\n`);
    }
  } finally {
    await browser.close();
    await runtime.stop();
    rmSync(workDir, { recursive: true, force: true });
  }
}

await main();
process.exit();
