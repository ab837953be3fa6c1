import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { parsePost } from '../../src/cli/commands/emails/post.ts';
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

/** The examples of newsletters as a member gets them, and their pictures: docs/images/newsletter-*.png. */
const MAILS = [
  { post: 'digest', form: 'md', format: 'markdown', theme: 'light', width: 600 },
  { post: 'digest', form: 'md', format: 'markdown', theme: 'dark', width: 360 },
  { post: 'designed', form: 'html', format: 'html', theme: 'dark', width: 360 },
  { post: 'plain', form: 'txt', format: 'text', theme: 'light', width: 360 },
] as const;

const NEWSLETTER = {
  ...emailContent().newsletter,
  name: 'Weekly',
  sender_name: 'Example Software Ltd',
  postal_address: '1 Harbour Street, London E1 6AN',
  contact: 'support@example.com',
  accent_color: '#0f766e',
};
const JAPANESE = {
  ...NEWSLETTER,
  name: '定例のお知らせ',
  language: 'ja',
  sender_name: '株式会社エグザンプル',
  postal_address: '〒100-0001 東京都千代田区千代田1-1',
  contact: 'https://example.com/contact',
} as const;

/** Without one, Japanese is boxes. */
function needJapaneseFont(): void {
  const found = () => execFileSync('fc-list', [':lang=ja', 'family'], { encoding: 'utf8' }).trim() !== '';
  if (!found()) execFileSync('apt-get', ['install', '-y', 'fonts-ipafont-gothic'], { stdio: 'inherit' });
  if (!found()) throw new Error('There is no font for Japanese: install fonts-ipafont-gothic, or another one.');
}

async function showNewsletters(browser: Browser): Promise<void> {
  needJapaneseFont();
  const bars = Array.from({ length: 20 }, (_, i) => `<path d="M${i * 80 + 40} 400V${60 + 260 / (1 + i * i * 0.3)}"/>`);
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="400" stroke="#1a5fb4" stroke-width="60"><rect width="1600" height="400" fill="#dbe6f5" stroke="none"/>${bars.join('')}</svg>`;
  for (const { post, form, format, theme, width } of MAILS) {
    const file = `${post}.${form}`;
    const source = readFileSync(join(PROJECT_ROOT, 'examples/newsletters', file), 'utf8');
    const newsletter = post === 'plain' ? JAPANESE : NEWSLETTER;
    const { html } = await arriving({ ...parsePost(source, format, file), newsletter });
    const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 600 } });
    const page = await context.newPage();
    await page.route('https://img.example.com/*', (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body: picture }),
    );
    await page.setContent(html, { waitUntil: 'networkidle' });
    await page.screenshot({ path: join(IMAGES, `newsletter-${post}-${theme}.png`), fullPage: true });
    await context.close();
    process.stdout.write(`docs/images/newsletter-${post}-${theme}.png\n`);
  }
}

/** Pictures of the console with the sample data, as `npm start` shows it: docs/images/console-*.png. */
async function main(): Promise<void> {
  const browser = await launchChromium('--no-sandbox');
  await showNewsletters(browser);
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
