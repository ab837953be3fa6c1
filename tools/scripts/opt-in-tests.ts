import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { findChromium, NO_CHROMIUM } from '../third-party/browser/find-chromium.ts';

/** What `test:upgrade` upgrades from: each release moves it to the one before. */
process.env['UPGRADE_FROM'] ??= '4b8f225f';

interface Suite {
  /** `test/` and the name of the suite, unless given. */
  readonly folder?: string;
  readonly options?: readonly string[];
  /** The sentence to print when the suite cannot run here. */
  readonly missing?: () => string | undefined;
  /** What it needs cannot be had everywhere: without it nothing has failed. */
  readonly optional?: boolean;
}

const succeeds = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args, { cwd: PROJECT_ROOT, stdio: 'ignore' }).status === 0;

const SUITES: Readonly<Record<string, Suite>> = {
  'dynamodb-local': {
    folder: 'test/contract',
    missing: () =>
      succeeds('java', '-version')
        ? undefined
        : "Amazon's DynamoDB Local needs Java 17 or newer, and there is no `java` in the PATH.\n" +
          'Install one (https://adoptium.net), or run `npm test`, which needs no Java on Linux x64.',
  },
  local: { options: ['test/flow', '--project=local'] },
  incidents: {},
  // One file after the other, because they measure time.
  realtime: { options: ['--no-file-parallelism'] },
  upgrade: {
    missing: () =>
      succeeds('git', 'cat-file', '-e', `${process.env['UPGRADE_FROM']}^{commit}`)
        ? undefined
        : 'The history lacks the commit from which the test upgrades. Fetch all of it: git fetch --unshallow',
    optional: true,
  },
  browser: { missing: () => (findChromium() === undefined ? NO_CHROMIUM : undefined), optional: true },
  packages: {},
  tools: {},
  clients: {},
  // The storage contracts run on the emulator's DynamoDB, too.
  emulator: { options: ['test/contract'] },
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
const { folder = `test/${name}`, options = [] } = suite;
// These suites wait on wall clocks and other people's programs: with CI_RETRIES a test that fails is run again so often,
// and named by the report as one that was.
const retries = process.env['CI_RETRIES'];
const retry = retries === undefined ? [] : [`--retry=${retries}`];
const { status } = spawnSync(process.execPath, [vitest, 'run', folder, ...options, ...retry, ...rest], {
  cwd: PROJECT_ROOT,
  // `WITH_DYNAMODB_LOCAL` switches the tests of `dynamodb-local` on.
  env: { ...process.env, [`WITH_${name.toUpperCase().replace('-', '_')}`]: '1' },
  stdio: 'inherit',
});
process.exit(status ?? 1);
