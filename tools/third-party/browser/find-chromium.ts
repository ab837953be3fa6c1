import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { PROJECT_ROOT } from '../../../src/local/runtime/directories.ts';

const UNPACKED = join(PROJECT_ROOT, '.local', 'tools', 'browser', 'chromium');

export const NO_CHROMIUM =
  'The browser tests did not run: there is no Chromium. `npm run tools:install` brings one on Linux x64; elsewhere set CHROMIUM to the path of yours.';

/** `CHROMIUM`, a path, or what `npm run tools:install` unpacked; undefined when neither starts. */
export function findChromium() {
  const executable = process.env['CHROMIUM'] ?? join(UNPACKED, 'chromium');
  if (!existsSync(executable)) return undefined;
  // A small Linux lacks libraries such as libnss3; the package brings them. Where they are there, those of the system fit.
  const candidates: readonly Readonly<Record<string, string>>[] = [
    {},
    { LD_LIBRARY_PATH: join(UNPACKED, 'al2023', 'lib') },
  ];
  const env = candidates.find(
    (more) => spawnSync(executable, ['--version'], { env: { ...process.env, ...more }, stdio: 'ignore' }).status === 0,
  );
  return env === undefined ? undefined : { executable, env };
}

/** @throws Error when no Chromium starts here */
export async function launchChromium(...args: readonly string[]): Promise<Browser> {
  const found = findChromium();
  if (found === undefined) throw new Error(NO_CHROMIUM);
  const { chromium } = await import('playwright-core');
  const env = { ...process.env, ...found.env };
  return chromium.launch({ executablePath: found.executable, env, args: [...args] });
}
