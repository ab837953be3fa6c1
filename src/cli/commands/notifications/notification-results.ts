import type { Session } from '../../session/session.ts';

/** What a command did with a notification. */
interface NotificationResult {
  readonly log_id: string;
  readonly result: string;
  /** Why the command did nothing. */
  readonly because?: string;
}

const SUCCESSFUL = new Set(['queued', 'cancelled', 'dropped']);

/** Prints one line per notification. */
export function printResults(results: readonly NotificationResult[], { terminal }: Session): void {
  const { colors } = terminal;
  for (const { log_id, result, because } of results) {
    const word = SUCCESSFUL.has(result) ? colors.green(result) : colors.yellow(result.replace('_', ' '));
    terminal.print(`${log_id}  ${word}${because === undefined ? '' : `: ${because}`}\n`);
  }
}
