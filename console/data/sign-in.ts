import type { ConsoleConfig } from '../../src/console-api/session.ts';

export type SignIn =
  | { readonly state: 'in' }
  | { readonly state: 'out'; readonly why: string; readonly remedy: string };

let signedOut: (() => void) | undefined;

/** What to call when the API answers 401: the session has ended. */
export function onSignedOut(listener: () => void): void {
  signedOut = listener;
}

export function signInAgain(): void {
  signedOut?.();
}

/** For the header `Authorization`; undefined where a cookie, or nothing, identifies the page. */
export async function accessToken(): Promise<string | undefined> {
  return undefined;
}

const NEEDS_LINK = {
  state: 'out',
  why: 'This console was opened without its sign-in link, or the program that served it was started again.',
  remedy: 'Start it again with `npm run ops -- console`, and open the link that it prints.',
} as const;

/** Signs in as `config.json` says (console-api/session.ts). */
export async function signIn(): Promise<SignIn> {
  const config = await readConfig();
  if (config.sign_in !== 'cookie') return { state: 'in' };
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

async function readConfig(): Promise<ConsoleConfig> {
  const answer = await fetch('/config.json', { cache: 'no-store' });
  if (!answer.ok) throw new Error(`/config.json answers ${answer.status}`);
  return answer.json();
}
