import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PROJECT_ROOT } from '../../src/local/runtime/directories.ts';
import { installPackages } from '../third-party/install-packages.ts';

/** What is mutated together, and judged by which tests. */
const TARGETS: Readonly<
  Record<string, { readonly mutate: string; readonly include: string; readonly exclude?: string }>
> = {
  // Tests that die at each call, or at random, take too long to be repeated for each mutant.
  spool: {
    mutate: 'src/client/spool/*.ts',
    include: 'test/client/spool/*.test.ts',
    exclude: 'test/client/spool/{chaos,faults}.test.ts',
  },
  intake: { mutate: 'src/core/intake/**/*.ts', include: 'test/core/intake/**/*.test.ts' },
  delivery: { mutate: 'src/core/delivery/**/*.ts', include: 'test/core/{delivery,model}/**/*.test.ts' },
  breaker: { mutate: 'src/core/breaker/**/*.ts', include: 'test/core/breaker/**/*.test.ts' },
  sweep: { mutate: 'src/core/sweep/**/*.ts', include: 'test/core/sweep/**/*.test.ts' },
};

/** The least share of mutants, in percent, that the tests of a file must notice. Stryker knows one threshold for all files. */
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
const folder = join(PROJECT_ROOT, 'tools', 'scripts', 'mutation');
const tools = installPackages('mutation', join(folder, 'tools.json'));
const moduleOf = (path: string) => pathToFileURL(join(tools, 'node_modules', '@stryker-mutator', path)).href;
const { Stryker } = (await import(moduleOf('core/dist/src/index.js'))) as Core;
for (const name of names) {
  const { mutate, include, exclude } = TARGETS[name] ?? {};
  process.env['MUTATION_TESTS'] = JSON.stringify({ include: [include], ...(exclude && { exclude: [exclude] }) });
  const mutants = await new Stryker({
    configFile: join(folder, 'stryker.config.mjs'),
    mutate: [mutate],
    plugins: [moduleOf('vitest-runner/dist/src/index.js')],
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
