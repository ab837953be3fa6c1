import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from '../src/local/runtime/directories.ts';
import { startLocalRuntime } from '../src/local/runtime/runtime.ts';
import { firstRun } from '../src/local/samples/first-run.ts';
import { launchChromium } from './tools/browser/find-chromium.ts';

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

/** Pictures of the console with the sample data, as `npm start` shows it: docs/images/console-*.png. */
async function main(): Promise<void> {
  const browser = await launchChromium('--no-sandbox');
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
