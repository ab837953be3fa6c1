import { processTerminal } from '../../terminal/terminal.ts';
import type { Endpoints } from './endpoints-file.ts';

const { colors, print, say } = processTerminal();

/** Shows a step of the runtime on stderr, because stdout is for results. */
export function showStep(step: string): void {
  say(`${colors.cyan('•')} ${step}\n`);
}

export function showError(error: unknown): void {
  say(`${colors.red('✗')} ${error instanceof Error ? error.message : String(error)}\n`);
}

/** The endpoints as a table, and the command for a run. */
export function showEndpoints({ endpoints, tables, logs }: Endpoints, file: string): void {
  const rows: [string, string][] = [
    ...Object.entries(endpoints),
    ...Object.entries(tables),
    ['logs', logs],
    ['all of it', file],
    ['a run', 'npm run batch:notification-retry -- --local --wait'],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) print(`  ${colors.dim(name.padEnd(width))}  ${value}\n`);
}
