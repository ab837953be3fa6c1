import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../navigation/keys.ts';
import { navigate } from '../navigation/router.ts';
import { fittingColumns, useRoom } from './fitting-columns.ts';
import { useNarrow } from './use-narrow.ts';
import { useVisibleRows } from './use-visible-rows.ts';

export interface Column<T> {
  readonly title: string;
  /** A grid track, such as `8rem` or `minmax(10rem, 2fr)`. */
  readonly width: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly align?: 'right';
  /**
   * On a narrow screen a row becomes a card: `line` cells stand in its second line. The others are left out there, and
   * from the left where a wider screen has no room for all.
   */
  readonly narrow?: 'head' | 'line';
}

interface TableProps<T> {
  /** What the rows are, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The page of a row; Enter and a click open it. */
  readonly hrefOf?: (row: T) => string;
  readonly more?: boolean;
  readonly onEnd?: () => void;
}

/**
 * Draws only the rows that are near the window, so that 100,000 rows scroll like 100. All rows have one height.
 * `j` and `k` move between rows, Enter opens one.
 */
export function Table<T>({ label, columns, rows, keyOf, hrefOf, more = false, onEnd }: TableProps<T>) {
  const narrow = useNarrow();
  const body = useRef<HTMLTableSectionElement>(null);
  const room = useRoom();
  const [active, setActive] = useState(-1);
  // Beside the state, because keys that repeat fast come before the next rendering.
  const position = useRef(-1);
  const { first, last, rowHeight, reveal } = useVisibleRows(body, rows.length, more, onEnd);

  const bindings = useMemo(() => {
    const move = (step: number) => {
      position.current = Math.max(0, Math.min(rows.length - 1, position.current + step));
      setActive(position.current);
      reveal(position.current);
      requestAnimationFrame(() =>
        body.current?.querySelector<HTMLElement>(`[data-row="${position.current}"]`)?.focus({ preventScroll: true }),
      );
    };
    return { j: () => move(1), k: () => move(-1) };
  }, [rows.length, reveal]);
  useKeys(bindings);

  const shown = narrow ? columns.filter((column) => column.narrow !== undefined) : fittingColumns(columns, room);
  const grid = narrow ? undefined : { gridTemplateColumns: shown.map(({ width }) => width).join(' ') };
  const open = (row: T, event: { readonly target: EventTarget | null }) => {
    const inner = event.target instanceof Element && event.target.closest('a, button, input') !== null;
    if (!inner && hrefOf !== undefined && getSelection()?.isCollapsed !== false) navigate(hrefOf(row));
  };
  return (
    <table class="table" aria-label={label} aria-rowcount={more ? -1 : rows.length + 1}>
      <thead class="table-head">
        <tr class="table-row" aria-rowindex={1} style={grid}>
          {shown.map(({ title, align }) => (
            <th key={title} scope="col" class={align === 'right' ? 'number' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody class="table-body" ref={body} style={{ height: `${rows.length * rowHeight}px` }}>
        {rows.slice(first, last).map((row, offset) => {
          const index = first + offset;
          return (
            <tr
              key={keyOf(row)}
              aria-rowindex={index + 2}
              data-row={index}
              tabIndex={index === Math.max(0, active) ? 0 : -1}
              class={`table-row${hrefOf === undefined ? '' : ' opens'}`}
              style={{ ...grid, transform: `translateY(${index * rowHeight}px)` }}
              onClick={(event) => open(row, event)}
              onFocus={() => {
                position.current = index;
                setActive(index);
              }}
              onKeyDown={(event) =>
                event.key === 'Enter' && event.target === event.currentTarget && open(row, { target: null })
              }
            >
              {shown.map(({ title, cell, align, narrow: place }) => (
                <td key={title} class={`cell${align === 'right' ? ' number' : ''}${narrow ? ` card-${place}` : ''}`}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
