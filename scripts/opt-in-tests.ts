import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PROJECT_ROOT } from './project-root.ts';
import { findChromium, NO_CHROMIUM } from './tools/browser/find-chromium.ts';

interface Suite {
  /** The variable that switches the tests on. */
  readonly variable: string;
  readonly folder: string;
  readonly options?: readonly string[];
  /** The sentence to print when the suite cannot run here. */
  readonly missing?: () => string | undefined;
  /** What it needs cannot be had everywhere: without it nothing has failed. */
  readonly optional?: boolean;
}

const SUITES: Readonly<Record<string, Suite>> = {
  'dynamodb-local': {
    variable: 'WITH_DYNAMODB_LOCAL',
    folder: 'test/contract',
    missing: () =>
      spawnSync('java', ['-version'], { stdio: 'ignore' }).status === 0
        ? undefined
        : "Amazon's DynamoDB Local needs Java 17 or newer, and there is no `java` in the PATH.\n" +
          'Install one (https://adoptium.net), or run `npm test`, which needs no Java on Linux x64.',
  },
  incidents: { variable: 'WITH_INCIDENTS', folder: 'test/incidents' },
  // One file after the other, because they measure time.
  realtime: { variable: 'WITH_REALTIME', folder: 'test/realtime', options: ['--no-file-parallelism'] },
  browser: {
    variable: 'WITH_BROWSER',
    folder: 'test/browser',
    missing: () => (findChromium() === undefined ? NO_CHROMIUM : undefined),
    optional: true,
  },
  packages: { variable: 'WITH_PACKAGES', folder: 'test/packages' },
  tools: { variable: 'WITH_TOOLS', folder: 'test/tools' },
  clients: { variable: 'WITH_CLIENTS', folder: 'test/clients' },
  emulator: { variable: 'WITH_EMULATOR', folder: 'test/emulator' },
};

// A script, because the shells of Mac, Linux and Windows do not agree on how a command sets an environment variable.
const [name = '', ...rest] = process.argv.slice(2);
const suite = SUITES[name];
const missing =
  suite === undefined ? `There is no suite ${name}: ${Object.keys(SUITES).join(', ')}.` : suite.missing?.();
if (suite === undefined || missing !== undefined) {
  process.stderr.write(`${missing}\n`);
  process.exit(suite?.optional === true ? 0 : 1);
}
const vitest = join(PROJECT_ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', suite.folder, ...(suite.options ?? []), ...rest], {
  cwd: PROJECT_ROOT,
  env: { ...process.env, [suite.variable]: '1' },
  stdio: 'inherit',
});
process.exit(status ?? 1);
