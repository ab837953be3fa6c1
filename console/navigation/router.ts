import { useEffect, useState } from 'preact/hooks';

/** Where the page is. Filters live in the query, so that each view can be linked, reloaded and opened in a new tab. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Goes on with other filters; undefined removes one. */
  readonly set: (change: Readonly<Record<string, string | undefined>>) => void;
}

const CHANGED = 'console:navigated';

function place(): Place {
  const path = location.pathname;
  const query = new URLSearchParams(location.search);
  return { path, query, set: (change) => navigate(hrefOf(path, { ...Object.fromEntries(query), ...change })) };
}

/** What a place of the history keeps beside its URL, for whoever comes back to it. */
export interface Remembered {
  /** Pixels. */
  readonly scroll?: number;
  /** The key of the row that was opened. */
  readonly row?: string;
  /** Where a period that moves with the clock began. */
  readonly from?: string;
}

// The page draws its lists itself, so only the page knows when there is something to scroll.
history.scrollRestoration = 'manual';

export const remembered = (): Remembered => history.state ?? {};

export function remember(what: Remembered): void {
  history.replaceState({ ...remembered(), ...what }, '');
}

/** Frames in which the list that was left should be there again. */
const FRAMES = 120;

function restoreScroll(frame = 0): void {
  const { scroll = 0 } = remembered();
  scrollTo(0, scroll);
  if (Math.abs(scrollY - scroll) > 1 && frame < FRAMES) requestAnimationFrame(() => restoreScroll(frame + 1));
}

/** @param replace keeps the history short while a filter is typed */
export function navigate(href: string, { replace = false } = {}): void {
  if (href === location.pathname + location.search) return;
  const stays = new URL(href, location.href).pathname === location.pathname;
  remember({ scroll: scrollY });
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  if (!stays) scrollTo(0, 0);
  dispatchEvent(new Event(CHANGED));
}

export function usePlace(): Place {
  const [now, setNow] = useState(place);
  useEffect(() => {
    const update = () => setNow(place());
    const back = () => {
      update();
      restoreScroll();
    };
    addEventListener('popstate', back);
    addEventListener(CHANGED, update);
    return () => {
      removeEventListener('popstate', back);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return now;
}

/** The link of a screen with filters; filters without a value are left out. */
export function hrefOf(path: string, filters: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, value);
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Follows plain clicks on links of this page without loading it; the browser handles new tabs and other sites. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
  if (link.pathname.startsWith('/api/') || (link.hash !== '' && link.pathname === location.pathname)) return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
}
