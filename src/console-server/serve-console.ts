import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ConsoleOptions, refuse } from '../application/console.ts';
import type { ConsoleConfig } from '../application/contract/overview.ts';
import { createOwnConsole } from '../application/operation-runner.ts';
import type { Caller } from '../application/route.ts';
import type { ProblemName } from '../core/model/problem.ts';
import { jsonObject } from '../core/model/text.ts';
import type { HttpAnswer, HttpRequest } from '../http/kernel.ts';
import { type HttpServer, requestOf, serve } from '../http/loopback-server.ts';
import { type GuardedRequest, isOwnPage } from '../processes/loopback-guard.ts';
import { userOfMachine } from '../processes/process-identity.ts';
import { securityHeaders } from './security-headers.ts';
import { staticFile } from './static-files.ts';

interface OpenOptions extends ConsoleOptions {
  /** The directory of the built page. */
  readonly page: string;
  /** 0: any free port. */
  readonly port: number;
  /** Who acts; the user of this machine unless given. */
  readonly who?: string;
  /** Whether a browser needs the token of the URL's fragment. */
  readonly token: boolean;
}

/** Serves page and routes on loopback for the user of this machine, and goes on with the bulk operations of others that stopped. */
export async function openConsole({ page, port, token, who = userOfMachine(), ...options }: OpenOptions) {
  const own = createOwnConsole(options);
  const { local } = options;
  const caller = { who, role: 'operator' } as const;
  const served = await serveConsole({ dispatch: own.dispatch, page, port, caller, token, local });
  return {
    url: served.url,
    resume: own.resume,
    async close(): Promise<void> {
      await served.close();
      await own.stop();
    },
  };
}

export interface ServeOptions {
  readonly dispatch: (request: HttpRequest<Caller>) => Promise<HttpAnswer>;
  readonly page: string;
  readonly port: number;
  readonly caller: Caller;
  /** Without it every program of this machine may call. */
  readonly token: boolean;
  readonly local: boolean;
}

/** Its URL has the token in the fragment if one is needed. */
export type ServedConsole = HttpServer;

const MAX_BODY_BYTES = 1024 * 1024;
const HEADERS = securityHeaders();

/** Serves page and routes on loopback, on an origin of their own. @throws Error when the port is taken */
export async function serveConsole(options: ServeOptions): Promise<ServedConsole> {
  const { port, token, local } = options;
  let signIn: SignIn = OPEN_SIGN_IN;
  const send = (response: ServerResponse, { status, headers, body }: Answered) => {
    response.writeHead(status, { ...HEADERS, ...headers }).end(body);
  };
  const server = await serve(
    async (request, response, body) => send(response, await answer(request, body, { ...options, signIn })),
    port,
    'the console',
    {
      max_bytes: MAX_BODY_BYTES,
      refuse: (response, status, message) => send(response, refuse(REFUSALS[status], message, local)),
    },
  );
  if (token) signIn = tokenSignIn(Number(new URL(server.url).port), Date.now);
  return { ...server, url: `${server.url}/${signIn.token === undefined ? '' : `#token=${signIn.token}`}` };
}

const REFUSALS = { 403: 'forbidden', 413: 'too-large', 500: 'unavailable' } as const satisfies Record<
  number,
  ProblemName
>;

type Answering = ServeOptions & { readonly signIn: SignIn };

async function answer(request: IncomingMessage, body: Buffer, options: Answering): Promise<Answered> {
  const { dispatch, page, caller, local, signIn } = options;
  const url = new URL(request.url ?? '/', 'http://localhost');
  const { method = 'GET' } = request;
  if (!url.pathname.startsWith('/api/')) {
    return method === 'GET'
      ? serveFile(url.pathname, page, signIn)
      : refuse('no-such-path', 'Files are read only.', local);
  }
  const isJson = /^application\/json\b/i.test(request.headers['content-type'] ?? '');
  if (method !== 'GET' && !isJson) return refuse('invalid-request', 'Send the body as application/json.', local);
  if (method === 'POST' && url.pathname === '/api/session') return exchange(String(body), signIn, local);
  if (!signIn.isSignedIn(request)) {
    return refuse('unauthenticated', 'Open the address that `ops console` printed, with its token.', local);
  }
  return dispatch(requestOf(request, url, body, caller));
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

async function serveFile(path: string, page: string, { token }: SignIn): Promise<Answered> {
  if (path === '/config.json') {
    const config: ConsoleConfig = { sign_in: token === undefined ? 'none' : 'cookie' };
    const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
    return { status: 200, headers, body: JSON.stringify(config) };
  }
  const file = await staticFile(page, path);
  if (file !== undefined) return { status: 200, ...file };
  return { status: 404, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'There is no such file.\n' };
}

/** `POST /api/session` `{"token"}`: the only route without a session. */
function exchange(body: string, signIn: SignIn, local: boolean): Answered {
  const cookie = signIn.token === undefined ? '' : signIn.signIn(jsonObject(body)?.['token']);
  if (cookie === undefined) return refuse('unauthenticated', 'The token is not that of this console.', local);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return { status: 200, headers: { ...headers, ...(cookie !== '' && { 'set-cookie': cookie }) }, body: '{}' };
}

/** A session ends with its process, or after a working day. */
const SESSION_MS = 12 * 3_600_000;

interface SignIn {
  /** For the fragment of the URL, which browsers send to nobody; undefined: no token is needed. */
  readonly token: string | undefined;
  /** Whether the request is of somebody who signed in, or of a program with the token itself. */
  isSignedIn(request: GuardedRequest): boolean;
  /** The cookie for a right token. */
  signIn(token: unknown): string | undefined;
}

/** Every program of this machine may: the Host and the Origin of requests are checked before. */
const OPEN_SIGN_IN: SignIn = { token: undefined, isSignedIn: () => true, signIn: () => undefined };

/**
 * A random token, exchanged for a cookie. Cookies ignore ports: a browser sends this one to every server of this host,
 * so the cookie counts only together with the browser's word that the page is ours, which no other page can forge.
 * @param port of the server; two consoles in one browser need two cookies
 */
function tokenSignIn(port: number, now: () => number): SignIn {
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
