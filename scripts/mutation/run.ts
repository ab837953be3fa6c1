import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

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
