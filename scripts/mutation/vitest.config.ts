import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { type Instrumented, paths, type Run } from './run.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const { folder } = JSON.parse(process.env['MUTATION_RUN'] ?? '') as Run;
const { files } = JSON.parse(readFileSync(paths(folder).instrumented, 'utf8')) as Instrumented;
const mutated = new Map(files.map(({ name, content }) => [name, content]));
const COLLECTED = '\0collected-tests';

/** One file that loads the tests of a target (run-mutants.ts), on the sources with all mutants in them. */
export default defineConfig({
  root: ROOT,
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre',
      resolveId: (source, importer) =>
        source === 'vitest' && importer?.startsWith(join(ROOT, 'test')) ? COLLECTED : undefined,
      load(id) {
        if (id !== COLLECTED) return mutated.get(id);
        const collected = JSON.stringify(join(import.meta.dirname, 'collected-tests.ts'));
        return `export * from ${collected}; export { expect, vi } from 'vitest';`;
      },
    },
  ],
  test: {
    include: ['scripts/mutation/run-mutants.ts'],
    globalSetup: ['test/support/temporary-directory.ts'],
    pool: 'threads',
    maxWorkers: 1,
    // Its key is the source without its mutants.
    fsModuleCache: false,
    // What a mutant leaves behind is no failure of the run.
    dangerouslyIgnoreUnhandledErrors: true,
    env: { POWERTOOLS_METRICS_DISABLED: 'true' },
  },
});
