import { relative } from 'node:path';
import { PROJECT_ROOT } from '../project-root.ts';
import type { Mutant, Source } from './instrument.ts';
import type { Status } from './run.ts';

export interface FileScore {
  /** From the repository's folder. */
  readonly file: string;
  /** Percent of the mutants that the tests notice, as Stryker counts: what is computed once on import is left out. */
  readonly score: number;
  readonly all: number;
  /** A line per mutant that no test notices. */
  readonly unnoticed: readonly string[];
}

export function scoresOf(
  sources: readonly Source[],
  mutants: readonly Mutant[],
  results: ReadonlyMap<string, Status>,
): FileScore[] {
  return sources.map(({ name, content }) => {
    const own = mutants.filter(({ id, fileName }) => fileName === name && results.get(id) !== 'Static');
    const alive = own.filter(({ id }) => ['Survived', 'NoCoverage'].includes(results.get(id) ?? ''));
    const score = own.length === 0 ? 100 : (100 * (own.length - alive.length)) / own.length;
    const lines = content.split('\n');
    const unnoticed = alive.map((mutant) => described(mutant, lines, results.get(mutant.id)));
    return { file: relative(PROJECT_ROOT, name), score, all: own.length, unnoticed };
  });
}

export function reportOf(scores: readonly FileScore[]): string {
  return scores
    .map(({ file, score, all, unnoticed }) => [`${file}: ${score.toFixed(1)} % of ${all}`, ...unnoticed].join('\n'))
    .join('\n');
}

function described(mutant: Mutant, lines: readonly string[], status?: Status): string {
  const { start, end } = mutant.location;
  const first = lines[start.line] ?? '';
  const original = start.line === end.line ? first.slice(start.column, end.column) : `${first.slice(start.column)} …`;
  const reached = status === 'NoCoverage' ? ' (never run)' : '';
  return `  ${start.line + 1}:${start.column + 1}${reached} ${short(original)}  →  ${short(mutant.replacement)}`;
}

function short(code: string): string {
  return code.replace(/\s+/g, ' ').slice(0, 110);
}
