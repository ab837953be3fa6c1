import { useEffect, useState } from 'preact/hooks';

/** In rem, as `.table-row` of the styles has them: between columns, and at both ends of a row. */
const GAP = 0.875;
const PADDING = 2;

interface Track {
  /** A grid track, such as `8rem` or `minmax(10rem, 2fr)`. */
  readonly width: string;
  /** Where there is no room for all, columns are left out by this number, the smallest first; without one, never. */
  readonly yields?: number;
}

/** The columns that have room. Where those that never yield have none, texts are cut short. @param room rem */
export function fittingColumns<C extends Track>(columns: readonly C[], room: number): readonly C[] {
  const needed = columns.reduce((sum, { width }) => sum + leastOf(width) + GAP, PADDING - GAP);
  if (needed <= room) return columns;
  const least = Math.min(...columns.map(({ yields = Number.POSITIVE_INFINITY }) => yields));
  if (least === Number.POSITIVE_INFINITY) return columns.map(shrinking);
  return fittingColumns(
    columns.toSpliced(
      columns.findIndex(({ yields }) => yields === least),
      1,
    ),
    room,
  );
}

function shrinking<C extends Track>(column: C): C {
  return { ...column, width: column.width.replace(/minmax\([^,]+/, 'minmax(0') };
}

const leastOf = (width: string): number => Number(/([\d.]+)rem/.exec(width)?.[1] ?? 0);

/** The width of the screen's content in rem. It is known before the first drawing, so nothing is drawn twice. */
export function useRoom(): number {
  const [room, setRoom] = useState(measure);
  useEffect(() => {
    const update = () => setRoom(measure());
    addEventListener('resize', update);
    return () => removeEventListener('resize', update);
  }, []);
  return room;
}

function measure(): number {
  const content = document.querySelector<HTMLElement>('.screen');
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return (content?.clientWidth ?? innerWidth) / rem;
}

const NARROW = matchMedia('(max-width: 44rem)');

/** Whether the window is as narrow as a phone: tables become cards. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const update = () => setNarrow(NARROW.matches);
    NARROW.addEventListener('change', update);
    return () => NARROW.removeEventListener('change', update);
  }, []);
  return narrow;
}
