import type { Colors } from './colors.ts';
import { printableValue } from './printable.ts';

export interface Column<T> {
  readonly title: string;
  readonly of: (row: T) => string | number | null | undefined;
}

/** Rows under the titles of their columns. Numbers are aligned to the right; an absent value is a dash. */
export function table<T>(columns: readonly Column<T>[], rows: readonly T[], colors: Colors): string {
  const cells = rows.map((row) => columns.map(({ of }) => of(row)));
  const present = columns.map((_, i) => cells.map((row) => row[i] ?? undefined).filter((cell) => cell !== undefined));
  const numeric = present.map((column) => column.length > 0 && column.every((cell) => typeof cell === 'number'));
  const texts = cells.map((row) =>
    row.map((cell) => (cell === null || cell === undefined ? '–' : printableValue(String(cell)))),
  );
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...texts.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (numeric[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${[colors.dim(line(columns.map(({ title }) => title))), ...texts.map(line)].join('\n')}\n`;
}

/** One line per entry: its name, and its value in a second column. */
export function fields(entries: readonly (readonly [name: string, value: unknown])[], colors: Colors): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => `  ${colors.dim(name.padEnd(width))}  ${printableValue(String(value))}\n`)
    .join('');
}

/** How long ago a time was, for people: `3 h 20 min ago`. */
export function ago(iso: string, now: Date): string {
  const minutes = Math.floor((now.getTime() - Date.parse(iso)) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min ago` : `${Math.floor(hours / 24)} days ago`;
}
