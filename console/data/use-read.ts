import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { ProblemBody } from '../../src/application/contract/fields.ts';
import { type Answer, type GetRoute, type Params, problemOf, type Query, read } from './api.ts';
import { SessionContext } from './session.ts';

export interface Reading<T> {
  /** The last good answer, also after a failed poll. */
  readonly data: T | undefined;
  readonly problem: ProblemBody | undefined;
  /** Reads again now. */
  readonly refresh: () => void;
}

interface ReadOptions {
  /** Milliseconds between polls; the session's by default, 0: read once, unless the answer is known. */
  readonly every?: number;
  /** False: nothing is read. */
  readonly when?: boolean;
}

/** The last answers, by what was asked: whoever comes back to a screen sees it at once, and then what is new. */
const known = new Map<string, unknown>();
const MOST_KNOWN = 20;

function keep(key: string, answer: unknown): void {
  known.delete(key);
  known.set(key, answer);
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
}

/** Reads a route and polls it. Nothing is read while the page is hidden; it catches up when it is shown again. */
export function useRead<K extends GetRoute>(
  route: K,
  params: Params,
  query: Query<K>,
  { every, when = true }: ReadOptions = {},
): Reading<Answer<K>> {
  const { poll_ms } = useContext(SessionContext);
  const key = JSON.stringify([route, params, query]);
  const [state, setState] = useState<{ key: string; data?: Answer<K>; problem?: ProblemBody }>({ key });
  const latest = useRef({ params, query });
  latest.current = { params, query };
  const [round, setRound] = useState(0);
  const refresh = useCallback(() => setRound((count) => count + 1), []);
  const interval = every ?? poll_ms;

  useEffect(() => {
    if (!when || (interval === 0 && round === 0 && known.has(key))) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    const load = async () => {
      clearTimeout(timer);
      try {
        const data = await read(route, latest.current.params, latest.current.query, abort.signal);
        failures = 0;
        keep(key, data);
        setState({ key, data });
      } catch (error) {
        if (abort.signal.aborted) return;
        failures += 1;
        const problem = problemOf(error);
        setState((before) => ({ ...(before.key === key ? before : {}), key, problem }));
      }
      // A server that is down is asked less and less often, at most once per 8 intervals.
      if (interval > 0 && !abort.signal.aborted && !document.hidden)
        timer = setTimeout(load, interval * 2 ** Math.min(3, failures));
    };
    const onVisibility = () => {
      if (document.hidden) clearTimeout(timer);
      else void load();
    };
    if (interval > 0) document.addEventListener('visibilitychange', onVisibility);
    void load();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [key, when, interval, round]);

  const current = state.key === key ? state : undefined;
  // Asked for with this key before, so of this type.
  const data = current?.data ?? (known.get(key) as Answer<K> | undefined);
  return { data, problem: current?.problem, refresh };
}
