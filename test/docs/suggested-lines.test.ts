import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseRetryJobOptions } from '../../src/batch/retry-job/retry-job-options.ts';
import { parseSendingJobOptions } from '../../src/batch/sending-job/sending-job-options.ts';
import { parseCommand } from '../../src/local/runtime/options.ts';
import { parseOptions } from '../../tools/simulation/options.ts';
import { shellCommands } from '../support/docs/shell-lines.ts';
import { PROJECT_ROOT } from '../support/project-root.ts';

/**
 * What runs each line for the shell that a document, a message, an error or a comment suggests. The tests that are
 * marked collect their lines as this one does, so that a new one is run without further ado.
 */
const RUN_BY: readonly (readonly [line: RegExp, by: string])[] = [
  // Collects.
  [/^npm run (?:-s )?ops\b|^ops |^npx notification-retry ops\b/, 'test/cli/suggested-commands.test.ts'],
  // Collects.
  [/^aws /, 'test/tools/aws-lines.test.ts'],
  // Collects.
  [/^npm run batch:notification-retry|^npx notification-retry job/, 'test/flow/api.test.ts'],
  [/^(?:curl|node -p|cat) |^npx tsx examples.(?:traces|batch-951)/, 'test/flow/api.test.ts'],
  [/^npm run batch:batch-sending-service-job|^npx notification-retry sending-job/, 'test/batch/sending-job'],
  [/^npx tsx examples.background-job/, 'test/flow/background-job.test.ts'],
  [/^npx tsx examples.offline-page/, 'test/support/browser/example-page.ts'],
  [/^npx notification-spool|^(?:list|show|resend|clean)$/, 'test/client/spool'],
  [/^npx cdk (?:synth\b|publish-assets |diff )|^terraform apply/, 'test/emulator/recipes.test.ts'],
  [/^npx (?:cdk|aws-cdk@2) (?:bootstrap|deploy|destroy)/, 'test/support/emulator/deployed-stack.ts'],
  [/^npm run smoke:aws|^node --import tsx tools.smoke.smoke-app.ts/, 'test/emulator/smoke-aws.test.ts'],
  [/^npm (?:install|pack) |^npm run build:(?:client|package)/, 'test/packages'],
  [/^npm run local|^npm start/, 'test/local'],
  [/^npm run simulate/, 'test/simulation'],
  [/^npm run house/, 'test/docs/house-rules.test.ts'],
  [/^npm run bench:(?:scale|peers)/, 'test/bench'],
  [/^npm run check:commits/, '.github/workflows/ci.yml'],
  [/^npm (?:ci|test)|^npx vitest run |^npm run (?:check$|explore|tools:install|test:)/, '.ci/run'],
];

/** Not run by any test. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm run test:mutation': 'hours; a person looks at what it finds',
  'npm run bench': 'measures, with nothing beside it',
  'npm run format': 'changes the files of the repository',
  'npm run screenshots': 'changes the files of the repository; a person looks at them',
  'npm ci --omit=dev': 'says what does not work: the local runtime needs the development dependencies',
  'git ': 'reads the history, or names git in a comment',
};

const LINES = shellCommands().map(({ where, words }) => ({ where, words, line: words.join(' ') }));
const isRun = (line: string) => RUN_BY.some(([pattern]) => pattern.test(line));
const notRun = (line: string) => Object.keys(NOT_RUN).find((begin) => line.startsWith(begin));

describe('a suggested line for the shell', () => {
  it('is run by a test, or says why not', () => {
    expect(LINES.length).toBeGreaterThan(250);
    expect(LINES.filter(({ line }) => notRun(line) === undefined && !isRun(line))).toEqual([]);
    for (const [, by] of RUN_BY) expect(existsSync(join(PROJECT_ROOT, by)), by).toBe(true);
    for (const begin of Object.keys(NOT_RUN))
      expect(
        LINES.some(({ line }) => line.startsWith(begin)),
        begin,
      ).toBe(true);
  });

  it('names a script of package.json, and a file that is there', () => {
    const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
    const named = LINES.flatMap(({ line }) => /^npm run (?:-s )?(\S+)/.exec(line)?.slice(1) ?? []);
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
    const files = LINES.flatMap(
      ({ line }) => /^(?:npx (?:tsx|vitest run)|node --import tsx) (\S+)/.exec(line)?.slice(1) ?? [],
    );
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((file) => !existsSync(join(PROJECT_ROOT, file)))).toEqual([]);
  });

  it.each<[string, (args: readonly string[]) => unknown]>([
    ['batch:notification-retry', parseRetryJobOptions],
    ['batch:batch-sending-service-job', parseSendingJobOptions],
    ['simulate', parseOptions],
    ['local', parseCommand],
  ])('has options that %s takes', (script, parse) => {
    const lines = LINES.filter(({ line }) => line.startsWith(`npm run ${script} -- `));
    const meant = lines.filter(({ words }) => !words.some((word) => word.startsWith('[')));
    expect(meant.length).toBeGreaterThan(0);
    for (const { where, line, words } of meant) expect(() => parse(words.slice(4)), `${where}: ${line}`).not.toThrow();
  });
});
