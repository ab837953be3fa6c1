import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// The tests start the commands and the runtime hundreds of times, each of which compiles the same modules.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '.local', 'compile-cache');

const FLOWS = 'test/flow/**/*.test.ts';
/** They build and install the packages, which takes minutes: `npm run test:packages`. */
const PACKAGES = 'test/packages/**/*.test.ts';
/** They need a Chromium: `npm run test:browser`. */
const BROWSER = 'test/browser/**/*.test.ts';
/** They measure rates, so nothing else may run beside them: `npm run test:realtime`. */
const REALTIME = 'test/realtime/**/*.test.ts';

/** They run an earlier version beside this one: `npm run test:upgrade`. */
const UPGRADE = 'test/upgrade/**/*.test.ts';

/** They kill, break and wait, so they take minutes: `npm run test:incidents`. */
const INCIDENTS = 'test/incidents/**/*.test.ts';

/**
 * They leave their process as they found it, so they share one: a process and the same imports per file cost more than
 * most of these files' tests.
 */
const SHARED = [
  'test/{core,terminal,bench,docs}/**/*.test.ts',
  'test/adapters/**/*.test.ts',
  'test/{lib,faults,console-server,operator-service,client,contract,examples,simulation}/**/*.test.ts',
  'test/{batch,console,local,processes,scripts}/**/*.test.ts',
  'test/cli/commands/!(members)/**/*.test.ts',
  'test/functions/shared/{api,channel,newsletter}/**/*.test.ts',
  'test/hostile/hostile-readers.test.ts',
];

export default defineConfig({
  test: {
    // Half of the tests' time is waiting (for timers of queues and runtimes, for disks): five workers fill two cores.
    maxWorkers: 5,
    // Explorations, histories and syntheses make much that is soon garbage: a twentieth less CPU with room for it.
    execArgv: ['--max-semi-space-size=64'],
    globalSetup: ['test/support/temporary-directory.ts'],
    setupFiles: ['test/support/seed.ts'],
    // It ends what hangs. Beside four other processes on two cores, what computes for six seconds takes three times that.
    testTimeout: 40_000,
    env: {
      // Metrics that no test reads would be printed between the results (test/support/emf.ts reads them).
      POWERTOOLS_METRICS_DISABLED: 'true',
      // The CDK's own validation takes seconds per synthesis; it runs once, for the flows (synthesize-once.ts).
      CDK_VALIDATION: 'false',
      // Metadata of each construct that no template has takes a sixth of a synthesis.
      CDK_CONTEXT_JSON: JSON.stringify({
        'aws:cdk:disable-creation-stack-traces': true,
        'aws:cdk:disable-logicalId-metadata': true,
      }),
    },
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'shared', include: SHARED, isolate: false } },
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: [...SHARED, FLOWS, INCIDENTS, PACKAGES, REALTIME, BROWSER, UPGRADE],
        },
      },
      {
        extends: true,
        test: { name: 'flow', include: [FLOWS], testTimeout: 90_000, globalSetup: ['test/support/synthesize-once.ts'] },
      },
      ...(process.env['WITH_INCIDENTS']
        ? [
            {
              extends: true as const,
              test: {
                name: 'incidents',
                include: [INCIDENTS],
                testTimeout: 90_000,
                globalSetup: ['test/support/synthesize-once.ts'],
              },
            },
          ]
        : []),
      ...(process.env['WITH_PACKAGES']
        ? [{ extends: true as const, test: { name: 'packages', include: [PACKAGES], testTimeout: 120_000 } }]
        : []),
      ...(process.env['WITH_BROWSER']
        ? [
            {
              extends: true as const,
              test: {
                name: 'browser',
                include: [BROWSER],
                testTimeout: 120_000,
                hookTimeout: 180_000,
                globalSetup: ['test/support/synthesize-once.ts'],
              },
            },
          ]
        : []),
      ...(process.env['WITH_UPGRADE']
        ? [
            {
              extends: true as const,
              test: { name: 'upgrade', include: [UPGRADE], globalSetup: ['test/support/synthesize-once.ts'] },
            },
          ]
        : []),
      ...(process.env['WITH_REALTIME']
        ? [
            {
              extends: true as const,
              test: {
                name: 'realtime',
                include: [REALTIME],
                testTimeout: 180_000,
                globalSetup: ['test/support/synthesize-once.ts'],
              },
            },
          ]
        : []),
    ],
  },
});
