import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A run of the mutants of one target: what the process that starts it tells the one that runs the tests. */
export interface Run {
  readonly folder: string;
  readonly testFiles: readonly string[];
}

export type Status = 'Begun' | 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Static';

export function paths(folder: string) {
  return { instrumented: join(folder, 'instrumented.json'), results: join(folder, 'results.jsonl') };
}

/** The last known status per mutant. */
export function resultsOf(folder: string): Map<string, Status> {
  const { results } = paths(folder);
  const lines = existsSync(results) ? readFileSync(results, 'utf8').split('\n').filter(Boolean) : [];
  return new Map(lines.map((line) => JSON.parse(line) as { id: string; status: Status }).map((r) => [r.id, r.status]));
}

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
