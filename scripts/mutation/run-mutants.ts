import { appendFileSync, readFileSync, utimesSync } from 'node:fs';
import { it } from 'vitest';
import { beginFile, type CollectedTest, collected, runTest } from './collected-tests.ts';
import { paths, type Run, resultsOf, type Status } from './run.ts';

/** What Stryker's switches read and write (INSTRUMENTER_CONSTANTS of its API). */
interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: {
    readonly static: Readonly<Record<string, number>>;
    readonly perTest: Readonly<Record<string, Readonly<Record<string, number>>>>;
  };
}

interface Result {
  readonly status: Status;
  /** The first test that noticed it. */
  readonly by?: string;
}

interface TimedTest {
  readonly test: CollectedTest;
  readonly ms: number;
  readonly hits: Readonly<Record<string, number>>;
}

const switches: Switches = {};
Object.assign(globalThis, { __stryker__: switches });

/** A mutant that is met this many times as often as the original is in an endless loop. */
const HIT_FACTOR = 100;
/** Beyond this, a test is waiting for something that does not come. Other work on the machine makes a test slow, too. */
const TEST_MS = 10_000;
const { setTimeout } = globalThis;

it('runs the mutants', { timeout: 0 }, async () => {
  const { folder, testFiles } = JSON.parse(process.env['MUTATION_RUN'] ?? '') as Run;
  const { instrumented, results } = paths(folder);
  const note = (line: object) => appendFileSync(results, `${JSON.stringify(line)}\n`);
  for (const file of testFiles) {
    beginFile();
    await import(/* @vite-ignore */ file);
  }
  const timed = await dryRun();
  const known = resultsOf(folder);
  const { mutants } = JSON.parse(readFileSync(instrumented, 'utf8')) as { mutants: readonly { id: string }[] };
  for (const { id } of mutants) {
    if (known.has(id)) continue;
    const reaching = timed.filter(({ hits }) => id in hits);
    if (reaching.length === 0) {
      note({ id, status: id in (switches.mutantCoverage?.static ?? {}) ? 'Static' : 'NoCoverage' });
      continue;
    }
    note({ id, status: 'Begun' });
    // The time of the file tells who watches this process that it goes on.
    note({ id, ...(await runMutant(id, reaching, () => utimesSync(results, new Date(), new Date()))) });
  }
});

/** All tests without a mutant, the fast ones first. */
async function dryRun(): Promise<TimedTest[]> {
  const timed: TimedTest[] = [];
  for (const test of collected) {
    switches.currentTestId = test.id;
    const began = performance.now();
    await runTest(test);
    timed.push({ test, ms: performance.now() - began, hits: {} });
    switches.currentTestId = undefined;
  }
  const perTest = switches.mutantCoverage?.perTest ?? {};
  return timed.map((one) => ({ ...one, hits: perTest[one.test.id] ?? {} })).sort((a, b) => a.ms - b.ms);
}

async function runMutant(id: string, tests: readonly TimedTest[], beat: () => void): Promise<Result> {
  for (const { test, ms, hits } of tests) {
    beat();
    switches.hitCount = 0;
    switches.hitLimit = HIT_FACTOR * (hits[id] ?? 1);
    switches.activeMutant = id;
    const ending = await Promise.race([outcomeOf(test), timeLimit(TEST_MS + 10 * ms)]);
    switches.activeMutant = undefined;
    if (switches.hitCount > switches.hitLimit || ending === 'late') return { status: 'Timeout', by: test.id };
    if (ending === 'failed') return { status: 'Killed', by: test.id };
  }
  return { status: 'Survived' };
}

function outcomeOf(test: CollectedTest): Promise<'passed' | 'failed'> {
  return runTest(test).then(
    () => 'passed',
    () => 'failed',
  );
}

function timeLimit(ms: number): Promise<'late'> {
  return new Promise((resolve) => setTimeout(() => resolve('late'), ms).unref());
}
