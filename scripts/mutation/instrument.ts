import { pathToFileURL } from 'node:url';

/** A change of a source, as Stryker describes it. Lines and columns start at 0. */
export interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: Readonly<Record<'start' | 'end', { readonly line: number; readonly column: number }>>;
}

export interface Source {
  readonly name: string;
  readonly content: string;
  readonly mutate: boolean;
}

export interface Instrumented {
  /** The sources with all of their mutants, each behind a switch of its own. */
  readonly files: readonly Source[];
  readonly mutants: readonly Mutant[];
}

/** What is used of @stryker-mutator/instrumenter, which is no dependency of the project. */
interface StrykerInstrumenter {
  readonly Instrumenter: new (
    logger: object,
  ) => {
    instrument(
      sources: readonly Source[],
      options: {
        readonly plugins: null;
        readonly excludedMutations: readonly string[];
        readonly ignorers: readonly [];
      },
    ): Promise<Instrumented>;
  };
}

/** @param entry of the installed instrumenter */
export async function instrument(sources: readonly Source[], entry: string): Promise<Instrumented> {
  const { Instrumenter } = (await import(pathToFileURL(entry).href)) as StrykerInstrumenter;
  const logger = { isDebugEnabled: () => false, debug() {}, info() {}, warn() {} };
  return new Instrumenter(logger).instrument(sources, { plugins: null, excludedMutations: [], ignorers: [] });
}
