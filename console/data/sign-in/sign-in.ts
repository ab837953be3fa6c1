import type { ConsoleConfig } from '../../../src/application/contract/overview.ts';
import { t } from '../../language/language.ts';
import type { SignIn } from '../session.ts';
import { Oidc } from './oidc.ts';

let oidc: Oidc | undefined;
let listener: ((out: SignIn) => void) | undefined;

/** What to call when the session has ended. */
export function onSignedOut(listen: (out: SignIn) => void): void {
  listener = listen;
}

/** The API answered 401: whatever identified the page does not any more. */
export function sessionEnded(): SignIn {
  const out = oidc?.ended() ?? NEEDS_LINK;
  listener?.(out);
  return out;
}

/**
 * For the header `Authorization`; undefined where a cookie, or nothing, identifies the page, and after the session's end.
 * @throws TypeError when the issuer cannot be reached
 */
export const accessToken = async (): Promise<string | undefined> => oidc?.accessToken();

/** Signs in as `config.json` says (src/application/contract/overview.ts). */
export async function signIn(): Promise<SignIn> {
  const config = await readConfig();
  if (config.sign_in === 'none') return { state: 'in' };
  if (config.sign_in === 'cookie') return signInByLink();
  oidc ??= new Oidc(config);
  return oidc.start();
}

/** Ends the session here and at the issuer; undefined where a session has no end of its own. */
export function signOut(): (() => Promise<void>) | undefined {
  const current = oidc;
  return current && (async () => listener?.(await current.signOut()));
}

async function readConfig(): Promise<ConsoleConfig> {
  const answer = await fetch('/config.json', { cache: 'no-store' });
  if (!answer.ok) throw new Error(`/config.json answers ${answer.status}`);
  return answer.json();
}

const NEEDS_LINK = {
  state: 'out',
  why: t('This console was opened without its sign-in link, or the program that served it was started again.'),
  remedy: t('Start it again with `npm run ops -- console`, and open the link that it prints.'),
} as const;

/** Exchanges the token in the URL's fragment, if there is one, for the cookie of `npm run ops -- console`. */
async function signInByLink(): Promise<SignIn> {
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
