import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { NextPage, ProblemBody } from '../../src/application/contract/fields.ts';
import { type Answer, type GetRoute, type Params, problemOf, type Query, read } from './api.ts';
import { useRead } from './use-read.ts';

export interface List<T> {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Whether the first page has come. */
  readonly loaded: boolean;
  readonly problem: ProblemBody | undefined;
  readonly more: boolean;
  /** Whether the last page that was read is in the order of tenants: too many sent on that day. */
  readonly by_tenant: boolean;
  /** Rows that came while the list was held. */
  readonly newer: number;
  readonly loadMore: () => void;
  readonly refresh: () => void;
}

type PagedRoute = { [K in GetRoute]: Answer<K> extends NextPage ? K : never }[GetRoute];

interface Tail<T> {
  readonly key: string;
  readonly rows: readonly T[];
  readonly next: string | null;
  readonly by_tenant: boolean;
  readonly problem?: ProblemBody;
}

/** The pages that were read of the last lists, so that whoever comes back finds the row that was left. */
const tails = new Map<string, Tail<unknown>>();
/** A screen has no more lists of several pages. */
const MOST_TAILS = 2;

interface ListSpec<K extends PagedRoute, T> {
  readonly route: K;
  readonly params?: Params;
  readonly query: Query<K>;
  readonly rowsOf: (page: Answer<K>) => readonly T[];
  readonly keyOf: (row: T) => string;
  readonly when?: boolean;
  /** The rows stay as they are shown; what comes is counted. */
  readonly held?: boolean;
  /** Read once; the pages that another screen has shown are taken as they are. */
  readonly once?: boolean;
}

/** Empty pages that are followed at once before the reader is asked: a rare match may lie behind many of them. */
const MOST_EMPTY_PAGES = 20;

/** A list by cursor: the first page is polled, further ones are appended when the reader comes to the end. */
export function useList<K extends PagedRoute, T>(spec: ListSpec<K, T>): List<T> {
  const { route, params = {}, query, rowsOf, keyOf, when = true, held = false, once = false } = spec;
  const key = JSON.stringify([route, params, query]);
  const latest = useRead(route, params, query, { when, ...(once && { every: 0 }) });
  const frozen = useRef<{ readonly key: string; readonly data: Answer<K> }>(undefined);
  if (latest.data !== undefined && !(held && frozen.current?.key === key)) frozen.current = { key, data: latest.data };
  const head = { ...latest, data: frozen.current?.key === key ? frozen.current.data : undefined };
  const [tail, setTail] = useState<Tail<T> | undefined>(() => tails.get(key) as Tail<T> | undefined);
  const busy = useRef(false);
  const current = useRef(key);
  current.current = key;
  const own = tail?.key === key ? tail : undefined;
  const next = own === undefined ? (head.data?.next_cursor ?? null) : own.next;
  const by_tenant = own?.by_tenant ?? isByTenant(head.data);

  const loadMore = useCallback(async () => {
    if (busy.current || next === null) return;
    busy.current = true;
    try {
      let cursor: string | null = next;
      let found: readonly T[] = [];
      let by_tenant = false;
      for (let page = 0; cursor !== null && found.length === 0 && page < MOST_EMPTY_PAGES; page++) {
        const answer: Answer<K> = await read(route, params, { ...query, cursor } as Query<K>);
        found = rowsOf(answer);
        cursor = (answer as NextPage).next_cursor;
        by_tenant = isByTenant(answer);
      }
      if (current.current === key)
        setTail((before) => ({
          key,
          rows: [...(before?.key === key ? before.rows : []), ...found],
          next: cursor,
          by_tenant,
        }));
    } catch (error) {
      setTail((before) => ({
        key,
        rows: before?.key === key ? before.rows : [],
        next,
        by_tenant,
        problem: problemOf(error),
      }));
    } finally {
      busy.current = false;
    }
  }, [key, next, by_tenant]);

  const firstRows = head.data === undefined ? undefined : rowsOf(head.data);
  const empty = firstRows?.length === 0 && (own?.rows.length ?? 0) === 0 && next !== null;
  useEffect(() => {
    if (empty) void loadMore();
  }, [empty, loadMore]);

  // What newer rows push out of the first page stays, once further pages are shown: there would be a gap otherwise.
  useEffect(() => {
    if (own === undefined || firstRows === undefined) return;
    const merged = { ...own, rows: joined(firstRows, own.rows, keyOf) };
    tails.delete(key);
    tails.set(key, merged);
    const [oldest] = tails.keys();
    if (tails.size > MOST_TAILS && oldest !== undefined) tails.delete(oldest);
    setTail((before) => (before === own && merged.rows.length > own.rows.length ? merged : before));
  }, [head.data, own]);

  const rows = useMemo(() => joined(firstRows ?? [], own?.rows ?? [], keyOf), [head.data, own]);
  const newer = useMemo(() => {
    if (latest.data === head.data || latest.data === undefined) return 0;
    const known = new Set(rows.map(keyOf));
    return rowsOf(latest.data).filter((row) => !known.has(keyOf(row))).length;
  }, [latest.data, rows]);
  // A further page that failed is nothing that the first one brings.
  const refresh = () => {
    head.refresh();
    if (own?.problem === undefined) return;
    const { problem: _, ...rest } = own;
    setTail(rest);
    void loadMore();
  };
  return {
    rows,
    keyOf,
    newer,
    loaded: head.data !== undefined && !empty,
    problem: head.problem ?? own?.problem,
    more: next !== null,
    by_tenant,
    loadMore,
    refresh,
  };
}

function isByTenant(answer: object | undefined): boolean {
  return answer !== undefined && 'by_tenant' in answer && answer.by_tenant === true;
}

function joined<T>(first: readonly T[], rest: readonly T[], keyOf: (row: T) => string): readonly T[] {
  const fresh = new Set(first.map(keyOf));
  return [...first, ...rest.filter((row) => !fresh.has(keyOf(row)))];
}
