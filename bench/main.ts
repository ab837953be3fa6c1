import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAssembly } from '../src/local/emulator/template/assembly.ts';
import { DEFAULT_WORK_DIR } from '../src/local/runtime/directories.ts';
import { synthesize } from '../src/local/runtime/synthesize.ts';
import { command } from '../src/terminal/command-line.ts';
import { showProgress } from '../src/terminal/progress.ts';
import { processTerminal } from '../src/terminal/terminal.ts';
import { type Benchmark, parseOptions, runAll, usage } from './benchmark.ts';
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
  // Steps go to stderr, so they do no harm beside the JSON on stdout.
  const progress = showProgress({ terminal, json: false });
  const step = (text: string) => progress.step(text);
  const home = mkdtempSync(join(tmpdir(), 'notification-retry-bench-'));
  // Child processes end with this process, but their files would stay.
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  try {
    step('reading the synthesized stack');
    const stack = readAssembly(
      await synthesize(DEFAULT_WORK_DIR, () => step('synthesizing and bundling the stack: once per change')),
    );
    const chosen = BENCHMARKS.filter(({ name }) => only === undefined || only.includes(name));
    const measured = await runAll(chosen, { stack, home, step });
    progress.end();
    const report = reportOf(started, new Date(), measured.figures, measured.failures);
    terminal.print(json ? `${JSON.stringify(report, null, 2)}\n` : renderReport(report));
    return measured.failures.length > 0 ? 1 : 0;
  } finally {
    progress.end();
  }
}
