import type { Benchmark } from './benchmark.ts';
import { dispatcherCpu } from './cases/dispatcher-cpu.ts';
import { bundles, imports } from './cases/imports.ts';
import { intake } from './cases/intake.ts';
import { memory } from './cases/memory.ts';
import { newsletterCpu } from './cases/newsletter/cpu.ts';
import { newsletterPreparation } from './cases/newsletter/preparation.ts';
import { newsletterRate } from './cases/newsletter/rate.ts';
import { newsletterUsage } from './cases/newsletter/usage.ts';
import { sealing } from './cases/sealing.ts';
import { sweepReads } from './cases/sweep-reads.ts';
import { storageCalls, usage } from './cases/usage.ts';
import { webhookCpu } from './cases/webhook-cpu.ts';

/** The benchmarks in the order of their run. Those that only count come first, while later ones prepare. */
export const BENCHMARKS: readonly Benchmark[] = [
  usage,
  storageCalls,
  intake,
  newsletterUsage,
  sweepReads,
  bundles,
  dispatcherCpu,
  webhookCpu,
  newsletterCpu,
  sealing,
  imports,
  memory,
  newsletterPreparation,
  newsletterRate,
];
