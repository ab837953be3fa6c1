import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { GuardedRequest } from '../processes/loopback-guard.ts';
import { isOwnPage } from '../processes/loopback-guard.ts';

/** A session ends with its process, or after a working day. */
const SESSION_MS = 12 * 3_600_000;

export interface SignIn {
  /** For the fragment of the URL, which browsers send to nobody; undefined: no token is needed. */
  readonly token: string | undefined;
  /** Whether the request is of somebody who signed in, or of a program with the token itself. */
  isSignedIn(request: GuardedRequest): boolean;
  /** The cookie for a right token. */
  signIn(token: unknown): string | undefined;
}

/** Every program of this machine may: the Host and the Origin of requests are checked before. */
export const OPEN_SIGN_IN: SignIn = { token: undefined, isSignedIn: () => true, signIn: () => undefined };

/**
 * A random token, exchanged for a cookie. Cookies ignore ports: a browser sends this one to every server of this host,
 * so the cookie counts only together with the browser's word that the page is ours, which no other page can forge.
 * @param port of the server; two consoles in one browser need two cookies
 */
export function tokenSignIn(port: number, now: () => number): SignIn {
  const token = randomBytes(32).toString('base64url');
  const name = `nr_console_${port}`;
  const sessions = new Map<string, number>();
  return {
    token,
    isSignedIn(request) {
      const { authorization = '', cookie = '' } = request.headers;
      if (authorization !== '') return isSame(authorization, `Bearer ${token}`);
      const session = cookie.split(/; */).find((pair) => pair.startsWith(`${name}=`));
      const ends = sessions.get(session?.slice(name.length + 1) ?? '') ?? 0;
      return ends > now() && isOwnPage(request);
    },
    signIn(given) {
      if (typeof given !== 'string' || !isSame(given, token)) return undefined;
      const session = randomBytes(32).toString('base64url');
      sessions.set(session, now() + SESSION_MS);
      return `${name}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${SESSION_MS / 1000}`;
    },
  };
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}
