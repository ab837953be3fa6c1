import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAssembly, type SynthesizedStack } from '../../src/local/emulator/template/assembly.ts';
import { DEFAULT_WORK_DIR } from '../../src/local/runtime/directories.ts';
import { synthesize } from '../../src/local/runtime/synthesize.ts';
import { read, UsageError } from '../../src/terminal/command-line.ts';
import { type Figure, judge, type Measurement } from './figure.ts';
import type { Failure } from './report.ts';

export interface BenchContext {
  /** The synthesized stack; the benchmarks measure its bundles. */
  readonly stack: SynthesizedStack;
  /** Temporary directory of this run, removed at its end. */
  readonly home: string;
  /** Reports the current step. */
  readonly step: (text: string) => void;
}

/** Synthesizes what benchmarks run with. */
export async function createContext(step: BenchContext['step']): Promise<BenchContext> {
  const home = mkdtempSync(join(tmpdir(), 'notification-retry-bench-'));
  // Child processes end with this process, but their files would stay.
  process.once('exit', () => rmSync(home, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  step('reading the synthesized stack');
  const synthesizing = () => step('synthesizing and bundling the stack: once per change');
  return { stack: readAssembly(await synthesize(DEFAULT_WORK_DIR, synthesizing)), home, step };
}

/** One or more budgets of docs/architecture.md that are measured together. */
export interface Benchmark {
  /** Name for `--only`. */
  readonly name: string;
  readonly describes: string;
  readonly run: (context: BenchContext) => Promise<Measurement[]>;
}

/** Runs the benchmarks one after the other. The others run although one fails. */
export async function runAll(
  benchmarks: readonly Benchmark[],
  context: BenchContext,
): Promise<{ figures: Figure[]; failures: Failure[] }> {
  const figures: Figure[] = [];
  const failures: Failure[] = [];
  for (const { name, run } of benchmarks) {
    try {
      figures.push(...(await run(context)).map(judge));
    } catch (error) {
      failures.push({ benchmark: name, error: error instanceof Error ? error.message : String(error) });
    }
  }
  return { figures, failures };
}

const OPTIONS = {
  only: { type: 'string', multiple: true },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

/** @returns undefined when help is asked for. @throws UsageError */
export function parseOptions(args: readonly string[], names: readonly string[]) {
  const { help, only, json } = read(args, OPTIONS);
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`There is no benchmark "${unknown}". --only takes one of: ${names.join(', ')}`);
  }
  return help ? undefined : { only, json };
}

export function usage(benchmarks: readonly Pick<Benchmark, 'name' | 'describes'>[]): string {
  const width = Math.max(...benchmarks.map(({ name }) => name.length));
  return `npm run bench -- [--only NAME]… [--json]

Measures the budgets of docs/architecture.md and prints each beside a plain reading of the specification.

  --only NAME    runs this one only; may be repeated:
${benchmarks.map(({ name, describes }) => `      ${name.padEnd(width)}  ${describes}\n`).join('')}\
  --json         prints one object on stdout in place of the table

Exit code 1 when a benchmark could not be run, 2 for wrong options.
`;
}
