import type { SynthesizedStack } from '../src/local/emulator/template/assembly.ts';
import type { Measurement } from './figure.ts';

export interface BenchContext {
  /** The synthesized stack; the benchmarks measure its bundles. */
  readonly stack: SynthesizedStack;
  /** Temporary directory of this run, removed at its end. */
  readonly home: string;
  /** Directory for CPU profiles of the functions; undefined: no profiles. */
  readonly profiles?: string;
  /** Reports the current step. */
  readonly step: (text: string) => void;
}

/** One or more budgets of docs/architecture.md that are measured together. */
export interface Benchmark {
  /** Name for `--only`. */
  readonly name: string;
  readonly describes: string;
  /** Work that may run beside earlier benchmarks, as these only count. */
  readonly prepare?: (context: BenchContext) => Promise<void>;
  readonly run: (context: BenchContext) => Promise<Measurement[]>;
}
