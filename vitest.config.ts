import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Workers, and the commands and runtimes that the tests start hundreds of times, compile the same modules.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '.local', 'compile-cache');

const FLOWS = 'test/flow/**/*.test.ts';

/**
 * Of `npm run test:local`, which `.ci/run` runs: the local runtime itself, and the flows whose rules are held by cheaper
 * tests, too. Each starts a runtime or more, so `npm test` has no time for them.
 */
const LOCAL = [
  'test/local/{processes/start-child,runtime/runtime,runtime/start-unless-stopped,stand-ins/sqs}.test.ts',
  'test/flow/{api,background-job,delivery-events,forget,gone-members,newsletter,operator,restore}.test.ts',
];

/**
 * Suites of their own, each by `npm run test:NAME`: what takes minutes (installs packages, kills, breaks and waits, runs
 * an earlier version), measures rates, or needs programs of others.
 */
const OPT_IN: Readonly<
  Record<
    string,
    {
      readonly include?: readonly string[];
      readonly testTimeout?: number;
      readonly hookTimeout?: number;
      readonly synthesizes?: true;
    }
  >
> = {
  local: { include: LOCAL, testTimeout: 90_000, synthesizes: true },
  incidents: { testTimeout: 90_000, synthesizes: true },
  packages: { testTimeout: 120_000 },
  browser: { testTimeout: 120_000, hookTimeout: 180_000, synthesizes: true },
  upgrade: { synthesizes: true },
  realtime: { testTimeout: 180_000, synthesizes: true },
  tools: {},
  clients: {},
  emulator: {},
};
const filesOf = (name: string): readonly string[] => OPT_IN[name]?.include ?? [`test/${name}/**/*.test.ts`];

/** Once for all of a suite. */
const SYNTHESIS = 'test/support/synthesize-once.ts';

/**
 * They leave their process as they found it, so they share one: a process and the same imports per file cost more than
 * most of these files' tests.
 */
const SHARED = [
  'test/{core,terminal,bench,docs}/**/*.test.ts',
  'test/adapters/**/*.test.ts',
  'test/{lib,faults,console-server,application,client,contract,examples,simulation}/**/*.test.ts',
  'test/{batch,console,http,local,processes,scripts}/**/*.test.ts',
  'test/cli/*.test.ts',
  'test/cli/commands/!(members)/**/*.test.ts',
  'test/functions/shared/**/*.test.ts',
  'test/hostile/hostile-readers.test.ts',
];

/** What takes long in a short file. Vitest begins with large files, and would end with one core at work on these. */
const LONG =
  /\/test\/(faults|simulation)\/|\/spool\/(chaos|everything-fails|faults|lock)\.|\/(notification-retry|price-at-rest|scale-settings|newest-first|dead-letters|forced-in-bulk|members|suggested-commands|openapi)\.test/;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bySize = await super.sort(files);
    const rankOf = ({ moduleId, project }: TestSpecification) => {
      if (moduleId.endsWith('/test/checks.test.ts')) return 0;
      return project.name !== 'shared' || LONG.test(moduleId) ? 1 : 2;
    };
    return bySize.sort((a, b) => rankOf(a) - rankOf(b));
  }
}

export default defineConfig({
  test: {
    // Half of the tests' time is waiting (for timers of queues and runtimes, for disks): five workers fill two cores.
    maxWorkers: 5,
    sequence: { sequencer: LongFirst },
    // Explorations, histories and syntheses make much that is soon garbage: a twentieth less CPU with room for it.
    execArgv: ['--max-semi-space-size=64'],
    // Node loads what is tested, as it loads the commands and stand-ins: Vite's runner transforms every module once more,
    // and reads each import through an object. The loader that would mock modules is off: no test mocks one.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    globalSetup: ['test/support/temporary-directory.ts', 'test/support/plain-output.ts'],
    setupFiles: ['test/support/seed.ts', 'test/support/share-compiled.ts'],
    // It ends what hangs. Beside four other processes on two cores, what computes for six seconds takes three times that.
    testTimeout: 40_000,
    env: {
      // Metrics that no test reads would be printed between the results (test/support/emf.ts reads them).
      POWERTOOLS_METRICS_DISABLED: 'true',
      // The CDK's own validation takes seconds per synthesis; test/tools/cfn-lint.test.ts has it.
      CDK_VALIDATION: 'false',
      // Metadata of each construct that no test reads takes a quarter of a synthesis.
      CDK_CONTEXT_JSON: JSON.stringify({
        'aws:cdk:disable-creation-stack-traces': true,
        'aws:cdk:disable-logicalId-metadata': true,
        'aws:cdk:version-reporting': false,
      }),
    },
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'shared', include: SHARED, exclude: LOCAL, isolate: false } },
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: [...SHARED, FLOWS, ...Object.keys(OPT_IN).flatMap(filesOf)],
        },
      },
      {
        extends: true,
        test: { name: 'flow', include: [FLOWS], exclude: LOCAL, testTimeout: 90_000, globalSetup: [SYNTHESIS] },
      },
      ...Object.entries(OPT_IN)
        .filter(([name]) => process.env[`WITH_${name.toUpperCase()}`])
        .map(([name, { include: _, synthesizes, ...timeouts }]) => ({
          extends: true as const,
          test: { name, include: [...filesOf(name)], globalSetup: synthesizes ? [SYNTHESIS] : [], ...timeouts },
        })),
    ],
  },
});
