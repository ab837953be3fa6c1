import type { Session } from './session.ts';

interface Result {
  readonly log_id: string;
  readonly result: string;
  readonly because?: string;
}

const GOOD = new Set(['queued', 'cancelled', 'dropped']);

/** A line for each notification: what was done with it, and if nothing, why. */
export function showResults<R extends Result>(results: readonly R[], { terminal }: Session): void {
  const { colors } = terminal;
  for (const { log_id, result, because } of results) {
    const word = GOOD.has(result) ? colors.green(result) : colors.yellow(result.replace('_', ' '));
    terminal.print(`${log_id}  ${word}${because === undefined ? '' : `: ${because}`}\n`);
  }
}
