import { defineConfig } from 'vitest/config';

const FLOWS = 'test/flow/**/*.test.ts';

export default defineConfig({
  test: {
    // The flow tests start whole runtimes; on two cores more workers than that only make each other slow.
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'parts', include: ['test/**/*.test.ts'], exclude: [FLOWS] } },
      {
        extends: true,
        test: { name: 'flow', include: [FLOWS], testTimeout: 90_000, globalSetup: ['test/support/synthesize-once.ts'] },
      },
    ],
  },
});
