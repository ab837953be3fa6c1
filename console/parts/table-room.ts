import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks';

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

/** Rows that are drawn above and below the window, so that scrolling shows no gap. */
const OVERSCAN = 12;
/** As `--row` and `--card-row` of the styles, in rem. */
const ROW_REM = { wide: 2.5, narrow: 4.5 } as const;
/** Height of what stays at the top of the window, in pixels. */
const STICKY_PX = 120;

/** The rows [first, last) are to be drawn; `reveal` scrolls one into the window. */
export function useVisibleRows(body: RefObject<HTMLElement | null>, count: number, more: boolean, onEnd: () => void) {
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const rowHeight = (useNarrow() ? ROW_REM.narrow : ROW_REM.wide) * rem;
  const [range, setRange] = useState({ first: 0, last: 50 });

  const measure = useCallback(() => {
    if (body.current === null) return;
    const above = -body.current.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(above / rowHeight) - OVERSCAN);
    const last = Math.min(count, Math.ceil((above + innerHeight) / rowHeight) + OVERSCAN);
    setRange((before) => (before.first === first && before.last === last ? before : { first, last }));
  }, [body, count, rowHeight]);

  useLayoutEffect(measure, [measure]);
  useEffect(() => {
    let frame = 0;
    const onScroll = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(measure);
    };
    addEventListener('scroll', onScroll, { passive: true });
    addEventListener('resize', onScroll);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', onScroll);
      removeEventListener('resize', onScroll);
    };
  }, [measure]);

  const atEnd = more && count > 0 && range.last >= count;
  useEffect(() => {
    if (atEnd) onEnd();
  }, [atEnd, onEnd]);

  const reveal = useCallback(
    (index: number) => {
      if (body.current === null) return;
      const top = body.current.getBoundingClientRect().top + index * rowHeight;
      if (top < STICKY_PX) scrollBy(0, top - STICKY_PX);
      else if (top + rowHeight > innerHeight - rowHeight) scrollBy(0, top + 2 * rowHeight - innerHeight);
      measure();
    },
    [body, rowHeight, measure],
  );
  return { ...range, rowHeight, reveal };
}
