import { sayError } from '../../terminal/output.ts';
import { fields } from '../../terminal/table.ts';
import { processTerminal } from '../../terminal/terminal.ts';
import type { Endpoints } from './endpoints-file.ts';

const terminal = processTerminal();

/** A step of the runtime, on stderr, because stdout is for results. Unlike a step of `Progress`, the line stays. */
export function showStep(step: string): void {
  terminal.say(`${terminal.colors.cyan('•')} ${step}\n`);
}

export function showError(error: unknown): void {
  sayError(terminal, error instanceof Error ? error.message : String(error));
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
  terminal.print(fields(rows));
}
