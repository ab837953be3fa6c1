import type { SynthesizedStack } from '../src/local/emulator/template/assembly.ts';
import type { Measurement } from './figure.ts';

export interface BenchContext {
  /** The stack as `cdk synth` makes it: its bundles are what is measured. */
  readonly stack: SynthesizedStack;
  /** A directory of this run, removed at its end. */
  readonly home: string;
  /** Where CPU profiles of the functions go; undefined: none are made. */
  readonly profiles?: string;
  /** Tells what is being done now. */
  readonly step: (text: string) => void;
}

/** One or more budgets of design §9 that are measured together. */
export interface Benchmark {
  /** As `--only` names it. */
  readonly name: string;
  readonly describes: string;
  /** Work that may go on beside earlier benchmarks that only count. */
  readonly prepare?: (context: BenchContext) => Promise<void>;
  readonly run: (context: BenchContext) => Promise<Measurement[]>;
}
