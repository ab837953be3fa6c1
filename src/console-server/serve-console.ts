import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Problem } from '../core/model/problem.ts';
import type { ConsoleConfig } from '../operator-service/contract/session.ts';
import { fail } from '../operator-service/http/dispatch.ts';
import type { Caller, ConsoleAnswer, ConsoleRequest } from '../operator-service/http/request.ts';
import { loopbackRefusal } from '../processes/loopback-guard.ts';
import { securityHeaders } from './security-headers.ts';
import { OPEN_SIGN_IN, type SignIn, tokenSignIn } from './sign-in.ts';
import { staticFile } from './static-files.ts';

export interface ServeOptions {
  readonly dispatch: (request: ConsoleRequest) => Promise<ConsoleAnswer>;
  /** Directory of the built page. */
  readonly page: string;
  /** 0: any free port. */
  readonly port: number;
  readonly caller: Caller;
  /** Without it every program of this machine may call. */
  readonly token: boolean;
  readonly local: boolean;
}

export interface ServedConsole {
  /** `http://127.0.0.1:PORT`, with the token in the fragment if one is needed. */
  readonly url: string;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1024 * 1024;
const HEADERS = securityHeaders();

/** Serves page and routes on loopback, on an origin of their own. @throws Error when the port is taken */
export async function serveConsole(options: ServeOptions): Promise<ServedConsole> {
  let signIn: SignIn = OPEN_SIGN_IN;
  const server = createServer((request, response) => {
    answer(request, { ...options, signIn })
      .catch(() => fail(new Problem('unavailable', 'The request failed on our side.'), '', options.local))
      .then(({ status, headers, body }) => response.writeHead(status, { ...HEADERS, ...headers }).end(body))
      .catch(() => response.destroy());
  });
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  if (options.token) signIn = tokenSignIn(port, Date.now);
  return {
    url: `http://127.0.0.1:${port}/${signIn.token === undefined ? '' : `#token=${signIn.token}`}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

type Answering = ServeOptions & { readonly signIn: SignIn };

async function answer(request: IncomingMessage, options: Answering): Promise<Answered> {
  const { dispatch, page, caller, local, signIn } = options;
  const refuse = (problem: ConstructorParameters<typeof Problem>[0], detail: string) =>
    fail(new Problem(problem, detail), '', local);
  const fault = loopbackRefusal(request);
  if (fault !== undefined) return refuse('forbidden', `${fault}.`);
  const url = new URL(request.url ?? '/', 'http://localhost');
  const method = request.method ?? 'GET';
  if (!url.pathname.startsWith('/api/'))
    return method === 'GET' ? serveFile(url.pathname, page, signIn) : refuse('no-such-path', 'Files are read only.');
  const body = await bodyOf(request);
  if (body === undefined) return refuse('too-large', `The body may have at most ${MAX_BODY_BYTES} bytes.`);
  const isJson = /^application\/json\b/i.test(request.headers['content-type'] ?? '');
  if (method !== 'GET' && !isJson) return refuse('invalid-request', 'Send the body as application/json.');
  if (method === 'POST' && url.pathname === '/api/session') return exchange(body, signIn, refuse);
  if (!signIn.isSignedIn(request)) {
    return refuse('unauthenticated', 'Open the address that `ops console` printed, with its token.');
  }
  return dispatch({
    method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    body,
    if_none_match: request.headers['if-none-match'],
    caller,
  });
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
function exchange(
  body: string,
  signIn: SignIn,
  refuse: (problem: 'unauthenticated', detail: string) => Answered,
): Answered {
  const cookie = signIn.token === undefined ? '' : signIn.signIn(tokenIn(body));
  if (cookie === undefined) return refuse('unauthenticated', 'The token is not that of this console.');
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return { status: 200, headers: { ...headers, ...(cookie !== '' && { 'set-cookie': cookie }) }, body: '{}' };
}

function tokenIn(body: string): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null && 'token' in parsed ? parsed.token : undefined;
  } catch {
    return undefined;
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`Port ${port} for the console is taken: stop what listens there or choose another with --port`)
          : error,
      ),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
}
