import { colorsFor } from '../../terminal/colors.ts';
import type { Endpoints } from './endpoints-file.ts';

/** Tells a person what the runtime is doing: on stderr, so that stdout holds results alone. */
export function showStep(step: string): void {
  process.stderr.write(`${colorsFor(process.stderr).cyan('•')} ${step}\n`);
}

export function showError(error: unknown): void {
  process.stderr.write(
    `${colorsFor(process.stderr).red('✗')} ${error instanceof Error ? error.message : String(error)}\n`,
  );
}

/** The endpoints as a table, and what to do next. */
export function showEndpoints({ endpoints, tables, logs }: Endpoints, file: string): void {
  const rows: [string, string][] = [
    ...Object.entries(endpoints),
    ...Object.entries(tables),
    ['logs', logs],
    ['all of it', file],
  ];
  const { dim } = colorsFor(process.stdout);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `  ${dim(name.padEnd(width))}  ${value}`);
  const next = `  ${dim('a run'.padEnd(width))}  npm run batch:notification-retry -- --local --wait`;
  process.stdout.write(`${lines.join('\n')}\n${next}\n`);
}
