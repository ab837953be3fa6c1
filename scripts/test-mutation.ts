import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PROJECT_ROOT } from '../src/local/runtime/directories.ts';
import { installPackages } from './tools/install-packages.ts';

/** What is mutated together, and judged by which tests. */
interface Target {
  readonly mutate: readonly string[];
  readonly include: readonly string[];
  /** Tests that take too long to be repeated for each mutant. */
  readonly exclude?: readonly string[];
}

const TARGETS: Readonly<Record<string, Target>> = {
  spool: {
    mutate: ['src/client/spool/*.ts'],
    include: ['test/client/spool/*.test.ts'],
    // A death at each call, or at random.
    exclude: ['test/client/spool/{chaos,faults}.test.ts'],
  },
  intake: { mutate: ['src/core/intake/**/*.ts'], include: ['test/core/intake/**/*.test.ts'] },
  delivery: { mutate: ['src/core/delivery/**/*.ts'], include: ['test/core/{delivery,model}/**/*.test.ts'] },
  breaker: { mutate: ['src/core/breaker/**/*.ts'], include: ['test/core/breaker/**/*.test.ts'] },
  sweep: { mutate: ['src/core/sweep/**/*.ts'], include: ['test/core/sweep/**/*.test.ts'] },
};

/** The least share of mutants, in percent, that the tests of a file must notice. */
const LEAST = 90;
/** Files whose equivalent mutants (docs/testing.md) keep them below it. */
const LEAST_OF: Readonly<Record<string, number>> = {
  // What is left there is a guard against a defect of our own validation, which nothing reaches.
  'src/core/intake/new-row.ts': 86,
};

/** What is used of @stryker-mutator/core, which is no dependency of the project. */
interface Core {
  readonly Stryker: new (
    options: object,
  ) => { runMutationTest(): Promise<readonly { readonly fileName: string; readonly status: string }[]> };
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(TARGETS);
const unknown = names.filter((name) => !Object.hasOwn(TARGETS, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no target ${unknown.join(', ')}: ${Object.keys(TARGETS).join(', ')}.\n`);
  process.exit(2);
}
const packages = join(
  installPackages('mutation', join(PROJECT_ROOT, 'scripts', 'mutation', 'tools.json')),
  'node_modules',
  '@stryker-mutator',
);
const { Stryker } = (await import(pathToFileURL(join(packages, 'core', 'dist', 'src', 'index.js')).href)) as Core;
for (const name of names) {
  const { mutate, ...tests } = TARGETS[name] as Target;
  process.env['MUTATION_TESTS'] = JSON.stringify(tests);
  const mutants = await new Stryker({
    mutate,
    testRunner: 'vitest',
    plugins: [pathToFileURL(join(packages, 'vitest-runner', 'dist', 'src', 'index.js')).href],
    vitest: { configFile: 'scripts/mutation/vitest.config.ts', related: false },
    // What is computed once on import would need a new process per mutant.
    ignoreStatic: true,
    coverageAnalysis: 'perTest',
    concurrency: 2,
    // Beside other work a test may take this much longer than alone, in milliseconds.
    timeoutMS: 10_000,
    tempDirName: '.local/mutation/sandbox',
    ignorePatterns: ['/.local', '/dist', '/cdk.out'],
    reporters: ['progress-append-only', 'clear-text', 'html'],
    clearTextReporter: { allowColor: false, reportTests: false, logTests: false },
    htmlReporter: { fileName: `.local/mutation/${name}.html` },
  }).runMutationTest();
  const counted = mutants.filter(({ status }) => status !== 'Ignored');
  for (const [path, all] of Map.groupBy(counted, ({ fileName }) => fileName)) {
    const file = relative(PROJECT_ROOT, path);
    const score = (100 * all.filter(({ status }) => /Killed|Timeout/.test(status)).length) / all.length;
    const least = LEAST_OF[file] ?? LEAST;
    if (score >= least) continue;
    process.stderr.write(`${file}: ${score.toFixed(1)} % of ${all.length} mutants are noticed, expected ${least} %\n`);
    process.exitCode = 1;
  }
}
