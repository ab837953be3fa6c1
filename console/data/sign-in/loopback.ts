import type { SignIn } from './outcome.ts';

const NEEDS_LINK = {
  state: 'out',
  why: 'This console was opened without its sign-in link, or the program that served it was started again.',
  remedy: 'Start it again with `npm run ops -- console`, and open the link that it prints.',
} as const;

/** Exchanges the token in the URL's fragment, if there is one, for the cookie of `npm run ops -- console`. */
export async function signInByLink(): Promise<SignIn> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) return { state: 'in' };
  // The token leaves the address bar before anything else happens, so that it is in no history and in no screenshot.
  history.replaceState(null, '', location.pathname + location.search);
  const answer = await fetch('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
    credentials: 'same-origin',
  });
  return answer.ok ? { state: 'in' } : NEEDS_LINK;
}

export function needsLink(): SignIn {
  return NEEDS_LINK;
}
