import { command } from '../../src/terminal/command-line.ts';
import { withProgress } from '../../src/terminal/progress.ts';
import { processTerminal } from '../../src/terminal/terminal.ts';
import { type Benchmark, createContext, parseOptions, runAll, usage } from './benchmark.ts';
import { dispatcherCpu } from './cases/dispatcher-cpu.ts';
import { bundles, imports } from './cases/imports.ts';
import { intake } from './cases/intake.ts';
import { memory } from './cases/memory.ts';
import { newsletterCpu, newsletterPreparation, newsletterUsage } from './cases/newsletter.ts';
import { newsletterRate } from './cases/newsletter-rate.ts';
import { sweepReads } from './cases/sweep-reads.ts';
import { usage as retryUsage } from './cases/usage.ts';
import { storageCalls, webhookCpu } from './cases/webhook.ts';
import { renderReport, reportOf } from './report.ts';

/** The benchmarks in the order of their run. */
const BENCHMARKS: readonly Benchmark[] = [
  ...[retryUsage, storageCalls, intake, newsletterUsage, sweepReads, bundles],
  ...[dispatcherCpu, webhookCpu, newsletterCpu, imports, memory, newsletterPreparation, newsletterRate],
];

const names = BENCHMARKS.map(({ name }) => name);
process.exitCode = await command(
  (args) => parseOptions(args, names),
  () => usage(BENCHMARKS),
  bench,
);

async function bench({ only, json }: NonNullable<ReturnType<typeof parseOptions>>): Promise<number> {
  const started = new Date();
  const terminal = processTerminal();
  const chosen = BENCHMARKS.filter(({ name }) => only === undefined || only.includes(name));
  // Steps go to stderr, so they do no harm beside the JSON on stdout.
  const { figures, failures } = await withProgress({ terminal, json: false }, async ({ step }) =>
    runAll(chosen, await createContext(step)),
  );
  const report = reportOf(started, new Date(), figures, failures);
  terminal.print(json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report));
  return failures.length > 0 ? 1 : 0;
}
