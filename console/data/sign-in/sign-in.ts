import type { ConsoleConfig } from '../../../src/operator-service/contract/session.ts';
import { needsLink, signInByLink } from './loopback.ts';
import { createOidc, type Oidc } from './oidc.ts';
import type { SignIn } from './outcome.ts';

let oidc: Oidc | undefined;
let listener: ((out: SignIn) => void) | undefined;

/** What to call when the session has ended. */
export function onSignedOut(listen: (out: SignIn) => void): void {
  listener = listen;
}

/** The API answered 401: whatever identified the page does not any more. */
export function sessionEnded(): SignIn {
  const out = oidc?.ended() ?? needsLink();
  listener?.(out);
  return out;
}

/**
 * For the header `Authorization`; undefined where a cookie, or nothing, identifies the page, and after the session's end.
 * @throws TypeError when the issuer cannot be reached
 */
export async function accessToken(): Promise<string | undefined> {
  return oidc?.accessToken();
}

/** Signs in as `config.json` says (src/operator-service/contract/session.ts). */
export async function signIn(): Promise<SignIn> {
  const config = await readConfig();
  if (config.sign_in === 'none') return { state: 'in' };
  if (config.sign_in === 'cookie') return signInByLink();
  oidc ??= createOidc(config);
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
