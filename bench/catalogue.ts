import type { Benchmark } from './benchmark.ts';
import { bundles } from './cases/bundles.ts';
import { dispatcherCpu } from './cases/dispatcher-cpu.ts';
import { imports } from './cases/imports.ts';
import { intake } from './cases/intake.ts';
import { memory } from './cases/memory.ts';
import { sweepReads } from './cases/sweep-reads.ts';
import { usage } from './cases/usage.ts';
import { webhookCpu } from './cases/webhook-cpu.ts';

/** In the order in which they run: those that only count come first, beside what the second prepares. */
export const BENCHMARKS: readonly Benchmark[] = [
  usage,
  intake,
  sweepReads,
  bundles,
  dispatcherCpu,
  webhookCpu,
  imports,
  memory,
];
