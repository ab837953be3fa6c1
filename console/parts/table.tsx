import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { List } from '../data/use-list.ts';
import { useKeys } from '../navigation/keys.ts';
import { navigate, remember, remembered } from '../navigation/router.ts';
import { type Word, WordBadge } from './badge.tsx';
import { Empty, type EmptyProps, Loading, Problem } from './states.tsx';
import { fittingColumns, useNarrow, useRoom, useVisibleRows } from './table-room.ts';

export interface Column<T> {
  readonly title: string;
  /** What stands in its head instead of the title. */
  readonly head?: ComponentChildren;
  /** A grid track, such as `8rem` or `minmax(10rem, 2fr)`. */
  readonly width: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly align?: 'right';
  /** On a narrow screen a row becomes a card: `line` cells stand in its second line. The others are left out there. */
  readonly narrow?: 'head' | 'line';
  /** Where a wider screen has no room for all, the smallest number is left out first; without one, never. */
  readonly yields?: number;
}

/** A state with its dot; it heads the card of a narrow screen. */
export function stateColumn<T>(title: string, width: string, wordOf: (row: T) => Word): Column<T> {
  return { title, width, narrow: 'head', cell: (row) => <WordBadge word={wordOf(row)} /> };
}

/** The name of a row, which leads to its page. */
export function linkColumn<T>(
  title: string,
  width: string,
  of: (row: T) => { readonly href: string; readonly text: string; readonly mono?: boolean },
): Column<T> {
  const link = ({ href, text, mono = false }: ReturnType<typeof of>) => (
    <a class={mono ? 'mono truncate' : 'truncate'} href={href} title={text} tabIndex={-1}>
      {text}
    </a>
  );
  return { title, width, narrow: 'head', cell: (row) => link(of(row)) };
}

interface TableProps<T> {
  /** What the rows are, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly list: List<T>;
  /** The page of a row; Enter and a click open it. */
  readonly hrefOf?: (row: T) => string;
}

/** A list by cursor; or why it cannot be shown, that it is coming, or that there is nothing. */
export function ListTable<T>({ empty, ...table }: TableProps<T> & { readonly empty: EmptyProps }) {
  return (
    <Listed {...table} empty={empty}>
      <Table {...table} />
    </Listed>
  );
}

type ListedProps<T> = {
  readonly label: string;
  readonly list: Pick<List<T>, 'problem' | 'loaded' | 'rows' | 'refresh'>;
  readonly empty: EmptyProps;
  readonly children: ComponentChildren;
};

export function Listed<T>({ label, list: { problem, loaded, rows, refresh }, empty, children }: ListedProps<T>) {
  return (
    <>
      {problem !== undefined && <Problem problem={problem} onRetry={refresh} />}
      {!loaded && problem === undefined && <Loading what={label.toLowerCase()} lines={12} />}
      {loaded && rows.length === 0 && <Empty {...empty} />}
      {rows.length > 0 && children}
    </>
  );
}

/** Draws only the rows near the window, which have one height. `j` and `k` move between rows, Enter opens one. */
function Table<T>({ label, columns, list: { rows, keyOf, more, loadMore }, hrefOf }: TableProps<T>) {
  const narrow = useNarrow();
  const body = useRef<HTMLTableSectionElement>(null);
  const room = useRoom();
  const [active, setActive] = useState(-1);
  // Beside the state, because keys that repeat fast come before the next rendering.
  const position = useRef(-1);
  const { first, last, rowHeight, reveal } = useVisibleRows(body, rows.length, more, loadMore);

  // New rows come above the one that is read: it stays where it is.
  const top = useRef<{ readonly key: string; readonly index: number }>(undefined);
  useLayoutEffect(() => {
    const { key, index = 0 } = top.current ?? {};
    const now = key === undefined ? -1 : rows.findIndex((row) => keyOf(row) === key);
    if (now >= 0 && now !== index && scrollY > rowHeight) scrollBy(0, (now - index) * rowHeight);
  }, [rows]);
  useEffect(() => {
    const row = rows[first];
    top.current = row && { key: keyOf(row), index: first };
  });

  // Back from the page of a row: the focus stands on it again.
  const left = useRef(remembered().row);
  useEffect(() => {
    const index = left.current === undefined ? -1 : rows.findIndex((row) => keyOf(row) === left.current);
    const row = body.current?.querySelector<HTMLElement>(`[data-row="${index}"]`);
    if (!row) return;
    left.current = undefined;
    row.focus({ preventScroll: true });
  }, [rows, first, last]);

  const bindings = useMemo(() => {
    const focus = () =>
      body.current?.querySelector<HTMLElement>(`[data-row="${position.current}"]`)?.focus({ preventScroll: true });
    const move = (step: number) => {
      position.current = Math.max(0, Math.min(rows.length - 1, position.current + step));
      setActive(position.current);
      reveal(position.current);
      // At once, so that a fast x or Enter meets this row; again when a row that was out of sight is drawn.
      focus();
      requestAnimationFrame(focus);
    };
    const choose = () => document.activeElement?.querySelector<HTMLElement>('input[type=checkbox]')?.click();
    return { j: () => move(1), k: () => move(-1), x: choose };
  }, [rows.length, reveal]);
  useKeys(bindings);

  const shown = narrow ? columns.filter((column) => column.narrow !== undefined) : fittingColumns(columns, room);
  const grid = narrow ? undefined : { gridTemplateColumns: shown.map(({ width }) => width).join(' ') };
  const open = (row: T, event: { readonly target: EventTarget | null }) => {
    remember({ row: keyOf(row) });
    const inner = event.target instanceof Element && event.target.closest('a, button, input') !== null;
    if (!inner && hrefOf !== undefined && getSelection()?.isCollapsed !== false) navigate(hrefOf(row));
  };
  return (
    <table
      class="table panel"
      aria-label={label}
      aria-colcount={columns.length}
      aria-rowcount={more ? -1 : rows.length + 1}
    >
      <Head columns={shown} grid={grid} />
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
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || event.target !== event.currentTarget) return;
                open(row, { target: null });
              }}
            >
              {shown.map(({ title, cell, align, narrow: place }) => {
                const content = cell(row);
                const classes = `cell${align === 'right' ? ' number' : ''}${narrow ? ` card-${place}` : ''}`;
                // A text may be cut off.
                return (
                  <td key={title} class={classes} title={typeof content === 'string' ? content : undefined}>
                    {content}
                  </td>
                );
              })}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

type HeadOf = {
  columns: readonly Pick<Column<never>, 'title' | 'head' | 'align'>[];
  grid: { readonly gridTemplateColumns: string } | undefined;
};

function Head({ columns, grid }: HeadOf) {
  return (
    <thead class="table-head">
      <tr class="table-row" aria-rowindex={1} style={grid}>
        {columns.map(({ title, head, align }) => (
          <th key={title} scope="col" class={align === 'right' ? 'number' : undefined}>
            {head ?? title}
          </th>
        ))}
      </tr>
    </thead>
  );
}
