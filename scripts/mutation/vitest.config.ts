import { defineConfig } from 'vitest/config';

/** The tests of one target of `npm run test:mutation`, which sets the variable. */
export default defineConfig({
  test: {
    include: process.env['MUTATION_TESTS']?.split(',') ?? [],
    // Processes that are killed at random say nothing about one mutant, and take long.
    exclude: ['test/client/spool/chaos.test.ts'],
    globalSetup: ['test/support/temporary-directory.ts'],
    testTimeout: 20_000,
    env: { POWERTOOLS_METRICS_DISABLED: 'true' },
  },
});
