import { COLORS } from './colors.ts';
import { printableValue } from './printable.ts';

type Cell = string | number | null | undefined;
type CellName<T> = { [K in keyof T]-?: T[K] extends Cell ? K & string : never }[keyof T];
/** A field of the rows under its own name; or a title, and the field or what is made of the row. */
export type Column<T> = CellName<T> | readonly [title: string, of: CellName<T> | ((row: T) => Cell)];

/** Rows under the titles of their columns. Numbers are aligned to the right; an absent value is a dash. */
export function table<T>(rows: readonly T[], columns: readonly Column<NoInfer<T>>[]): string {
  const named = columns.map((column) => (typeof column === 'string' ? ([column, column] as const) : column));
  const cells = rows.map((row) => named.map(([, of]) => (typeof of === 'function' ? of(row) : (row[of] as Cell))));
  const present = named.map((_, i) => cells.map((row) => row[i] ?? undefined).filter((cell) => cell !== undefined));
  const numeric = present.map((column) => column.length > 0 && column.every((cell) => typeof cell === 'number'));
  const texts = cells.map((row) =>
    row.map((cell) => (cell === null || cell === undefined ? '–' : printableValue(String(cell)))),
  );
  const widths = named.map(([title], i) => Math.max(title.length, ...texts.map((row) => widthOf(row[i] ?? ''))));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => {
        const padding = ' '.repeat((widths[i] ?? 0) - widthOf(cell));
        return numeric[i] ? padding + cell : cell + padding;
      })
      .join('  ')
      .trimEnd();
  return `${[COLORS.dim(line(named.map(([title]) => title))), ...texts.map(line)].join('\n')}\n`;
}

const GRAPHEMES = new Intl.Segmenter();
/** What a terminal shows in two places: the East Asian wide and full-width ranges, and emoji. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u;

/** The places that a text takes on a terminal. */
function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  return [...GRAPHEMES.segment(text)].reduce((sum, { segment }) => sum + (WIDE.test(segment) ? 2 : 1), 0);
}

/** One line per entry: its name, and its value in a second column. */
export function fields(entries: readonly (readonly [name: string, value: unknown])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => `  ${COLORS.dim(name.padEnd(width))}  ${printableValue(String(value))}\n`)
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
