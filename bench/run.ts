import type { BenchContext, Benchmark } from './benchmark.ts';
import { type Figure, judge } from './figure.ts';
import type { Failure } from './report.ts';

/** Runs the benchmarks one after the other. The others run although one fails. */
export async function runAll(
  benchmarks: readonly Benchmark[],
  context: BenchContext,
): Promise<{ figures: Figure[]; failures: Failure[] }> {
  const prepared = new Map(benchmarks.map(({ name, prepare }) => [name, settled(prepare?.(context))]));
  const figures: Figure[] = [];
  const failures: Failure[] = [];
  for (const { name, run } of benchmarks) {
    try {
      const failed = await prepared.get(name);
      if (failed !== undefined) throw failed.reason;
      figures.push(...(await run(context)).map(judge));
    } catch (error) {
      failures.push({ benchmark: name, error: error instanceof Error ? error.message : String(error) });
    }
  }
  await Promise.all(prepared.values());
  return { figures, failures };
}

/** Resolves with the failure, because a rejection that nobody awaits yet would end the process. */
function settled(work: Promise<void> | undefined): Promise<{ readonly reason: unknown } | undefined> {
  return Promise.resolve(work).then(
    () => undefined,
    (reason: unknown) => ({ reason }),
  );
}
