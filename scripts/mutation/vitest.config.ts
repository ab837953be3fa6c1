import { defineConfig } from 'vitest/config';

/** The tests of one target of `npm run test:mutation`, which sets the variable. */
export default defineConfig({
  test: {
    include: process.env['MUTATION_TESTS']?.split(',') ?? [],
    // A death at each call, or at random, takes too long to be repeated for each mutant.
    exclude: ['test/client/spool/{chaos,faults}.test.ts'],
    globalSetup: ['test/support/temporary-directory.ts'],
    testTimeout: 20_000,
    env: { POWERTOOLS_METRICS_DISABLED: 'true' },
  },
});
