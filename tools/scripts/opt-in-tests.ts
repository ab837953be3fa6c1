import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { findChromium, NO_CHROMIUM } from '../third-party/browser/find-chromium.ts';

/** What `test:upgrade` upgrades from: each release moves it to the one before. */
process.env['UPGRADE_FROM'] ??= '4b8f225f';

interface Suite {
  /** `test/` and the name of the suite, unless given. */
  readonly folders?: readonly string[];
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
    folders: ['test/contract'],
    missing: () =>
      succeeds('java', '-version')
        ? undefined
        : "Amazon's DynamoDB Local needs Java 17 or newer, and there is no `java` in the PATH.\n" +
          'Install one (https://adoptium.net), or run `npm test`, which needs no Java on Linux x64.',
  },
  local: { folders: ['test/local', 'test/flow'], options: ['--project=local'] },
  incidents: {},
  // One file after the other: they measure time, or the first one installs what all of them run.
  realtime: { options: ['--no-file-parallelism'] },
  packages: { options: ['--no-file-parallelism'] },
  upgrade: {
    missing: () =>
      succeeds('git', 'cat-file', '-e', `${process.env['UPGRADE_FROM']}^{commit}`)
        ? undefined
        : 'The history lacks the commit from which the test upgrades. Fetch all of it: git fetch --unshallow',
    optional: true,
  },
  browser: { missing: () => (findChromium() === undefined ? NO_CHROMIUM : undefined), optional: true },
  tools: {},
  clients: {},
  // The storage contracts run on the emulator's DynamoDB, too.
  emulator: { folders: ['test/emulator', 'test/contract'] },
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
const { folders = [`test/${name}`], options = [] } = suite;
const report = join(PROJECT_ROOT, '.local', `tests-${name}.json`);

/** False where a test, a hook or what no test waited for has failed. */
const passes = (paths: readonly string[]): boolean => {
  rmSync(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...paths, ...options, ...reporters, ...rest], {
    cwd: PROJECT_ROOT,
    // `WITH_DYNAMODB_LOCAL` switches the tests of `dynamodb-local` on.
    env: { ...process.env, [`WITH_${name.toUpperCase().replace('-', '_')}`]: '1' },
    stdio: 'inherit',
  });
  return status === 0;
};

/** Files of the last run in which something failed. */
const failedFiles = (): readonly string[] => {
  if (!existsSync(report)) return [];
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: readonly { readonly name: string; readonly status: string }[];
  };
  return testResults.flatMap((file) => (file.status === 'failed' ? [file.name] : []));
};

// These suites wait on wall clocks and other people's programs, and their tests build on each other: with
// `FAILED_FILES_AGAIN` what failed is run once more from its start, with its hooks, and named.
let passed = passes(folders);
if (!passed && process.env['FAILED_FILES_AGAIN'] === '1') {
  const failed = failedFiles();
  const again = failed.length > 0 ? failed : folders;
  process.stdout.write(`── failed once, and run again: ${again.join(' ')}\n`);
  passed = passes(again);
}
process.exit(passed ? 0 : 1);
