import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { useNarrow } from './fitting-columns.ts';

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
