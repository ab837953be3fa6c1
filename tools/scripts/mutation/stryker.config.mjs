/** What all targets of `npm run test:mutation` have in common. */
export default {
  testRunner: 'vitest',
  vitest: { configFile: 'tools/scripts/mutation/vitest.config.ts', related: false },
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
};
