import { defineConfig } from 'vitest/config';

/** The tests of a target in one thread that keeps its modules: a worker per mutant would take hours. */
export default defineConfig({
  test: {
    ...(JSON.parse(process.env['MUTATION_TESTS'] ?? '{}') as { include?: string[]; exclude?: string[] }),
    globalSetup: ['test/support/temporary-directory.ts'],
    setupFiles: ['test/support/seed.ts'],
    isolate: false,
    env: { POWERTOOLS_METRICS_DISABLED: 'true' },
  },
});
