import { COLORS, printableValue } from './printable.ts';

type Cell = string | number | null | undefined;
type CellName<T> = { [K in keyof T]-?: T[K] extends Cell ? K & string : never }[keyof T];
/**
 * A field of the rows under its own name; or a title, and the field or what is made of the row. `wide`: it is left out
 * of a terminal that has no room for all columns, the last one first.
 */
export type Column<T> = CellName<T> | readonly [title: string, of: CellName<T> | ((row: T) => Cell), only?: 'wide'];

/** Between two columns. */
const GAP = 2;
/** A column is folded to no fewer places, where all of them are too wide. */
const LEAST = 16;

/**
 * Rows under the titles of their columns. Numbers are aligned to the right; an absent value is a dash.
 * @param room places of the terminal; what is read by a program has all columns, each row in one line
 */
export function table<T>(
  rows: readonly T[],
  columns: readonly Column<NoInfer<T>>[],
  room = process.stdout.columns || Number.POSITIVE_INFINITY,
): string {
  const all = columns.map((column) => drawn(rows, column));
  const shown = fitting(all, room);
  let cap = Math.max(0, ...shown.map(({ width }) => width));
  while (cap > LEAST && placesOf(shown, cap) > room) cap -= 1;
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => {
        const padding = ' '.repeat((shown[i] ? widthAt(shown[i], cap) : 0) - widthOf(cell));
        return shown[i]?.numeric ? padding + cell : cell + padding;
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  const lines = rows.flatMap((_, row) => {
    const cells = shown.map((column) => folded(column.texts[row] ?? '', widthAt(column, cap)));
    const height = Math.max(...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, i) => line(cells.map((cell) => cell[i] ?? '')));
  });
  const left = all.filter((column) => !shown.includes(column)).map(({ title }) => title);
  const more = left.length === 0 ? [] : folded(`In a wider terminal, and with --json: ${left.join(', ')}`, room);
  return `${[COLORS.dim(line(shown.map(({ title }) => title))), ...lines, ...more.map(COLORS.dim)].join('\n')}\n`;
}

type Drawn = ReturnType<typeof drawn<unknown>>;

function drawn<T>(rows: readonly T[], column: Column<T>) {
  const [title, of, only] = typeof column === 'string' ? ([column, column] as const) : column;
  const cells = rows.map((row) => (typeof of === 'function' ? of(row) : (row[of] as Cell)) ?? undefined);
  const present = cells.filter((cell) => cell !== undefined);
  const numeric = present.length > 0 && present.every((cell) => typeof cell === 'number');
  const texts = cells.map((cell) => (cell === undefined ? '–' : printableValue(String(cell))));
  const widest = (of: readonly string[]) => Math.max(...of.map(widthOf), 0);
  const least = widest([title, ...texts.flatMap((text) => text.split(' '))]);
  return { title, numeric, texts, only, width: Math.max(title.length, widest(texts)), least };
}

/** No column is narrower than its title and its longest word: an id stays whole. */
const widthAt = ({ width, least }: Drawn, cap: number): number => Math.max(least, Math.min(width, cap));

function placesOf(columns: readonly Drawn[], cap: number): number {
  return columns.reduce((sum, column) => sum + GAP + widthAt(column, cap), -GAP);
}

function fitting(columns: readonly Drawn[], room: number): readonly Drawn[] {
  const last = columns.findLastIndex(({ only }) => only === 'wide');
  if (last < 0 || placesOf(columns, Number.POSITIVE_INFINITY) <= room) return columns;
  return fitting(columns.toSpliced(last, 1), room);
}

/** The text in lines of at most so many places, where its words allow it. */
export function folded(text: string, places: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || widthOf(last) + 1 + widthOf(word) > places) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** The beginning of a text, in at most so many places; a character that a person sees as one stays whole. */
export function cut(text: string, places: number): string {
  if (widthOf(text) <= places) return text;
  let begun = '';
  for (const { segment } of GRAPHEMES.segment(text)) {
    if (widthOf(begun) + widthOf(segment) >= places) break;
    begun += segment;
  }
  return `${begun}…`;
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
