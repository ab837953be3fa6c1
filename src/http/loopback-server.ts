import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AllowPage, loopbackRefusal } from '../processes/loopback-guard.ts';
import type { HttpRequest } from './kernel.ts';
import { queryOf } from './paths.ts';

export type Handle = (request: IncomingMessage, response: ServerResponse, body: Buffer) => Promise<void> | void;

export interface HttpServer {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  close(): Promise<void>;
}

/** A server that has its port. Requests wait until `serve` gives it a handler. */
export interface BoundServer extends HttpServer {
  readonly closing: AbortSignal;
  serve(handle: Handle): void;
}

/** Longer than the pauses between two requests of a paced sender. Node's own default is five seconds. */
const KEEP_ALIVE_MS = 65_000;

/** Largest body in bytes unless a server names one. SES takes messages of up to 40 MB as base64. */
const MAX_BODY_BYTES = 60 * 1024 * 1024;

export interface LoopbackOptions {
  /** Pages of other origins that may call it; none unless given. */
  readonly allowPage?: AllowPage;
  /** Largest body in bytes. */
  readonly max_bytes?: number;
  /** Answers what comes from elsewhere (403), is too large (413) or failed (500); else JSON with the message does. */
  readonly refuse?: (response: ServerResponse, status: 403 | 413 | 500, message: string) => void;
}

/**
 * Takes a loopback port, so that its URL is known before the handler exists.
 * @param port 0: any free port
 * @param what names the server in the message for a port that is taken
 * @throws Error that names the port and what to do
 */
export function bind(port: number, what: string, options: LoopbackOptions = {}): Promise<BoundServer> {
  const { allowPage, max_bytes = MAX_BODY_BYTES, refuse = refuseByMessage } = options;
  const closing = new AbortController();
  const handler = Promise.withResolvers<Handle>();
  const server = createServer(async (request, response) => {
    // These servers invoke functions and show messages without a key.
    const fault = loopbackRefusal(request, allowPage);
    if (fault !== undefined) {
      const { port: own } = server.address() as AddressInfo;
      return refuse(response.setHeader('connection', 'close'), 403, `${fault}: use http://127.0.0.1:${own}`);
    }
    try {
      const body = await bodyOf(request, max_bytes);
      if (body === undefined) return refuse(response, 413, `The body may have at most ${max_bytes} bytes.`);
      const handle = await handler.promise;
      await handle(request, response, body);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else refuse(response, 500, error instanceof Error ? error.message : String(error));
    }
  });
  // As AWS's endpoints do: a client that reuses a connection after some seconds must not meet one that was just closed.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explained(error, port, what)));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      const actual = typeof address === 'object' && address !== null ? address.port : port;
      resolve({
        url: `http://127.0.0.1:${actual}`,
        closing: closing.signal,
        serve: (handle) => handler.resolve(handle),
        close: () =>
          new Promise((closed) => {
            closing.abort();
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}

/** As `bind`, with the handler at once. An error of the handler becomes a 500 with its message. */
export async function serve(
  handle: Handle,
  port: number,
  what: string,
  options?: LoopbackOptions,
): Promise<HttpServer> {
  const server = await bind(port, what, options);
  server.serve(handle);
  return server;
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
}

function refuseByMessage(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { message });
}

async function bodyOf(request: IncomingMessage, max_bytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > max_bytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** What a kernel answers of a request. @param url of the request */
export function requestOf<C>({ method = 'GET', headers }: IncomingMessage, url: URL, body: Buffer, caller: C) {
  return {
    method,
    path: url.pathname,
    query: queryOf(url.searchParams),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(',')])),
    body,
    caller,
  } satisfies HttpRequest<C>;
}

function explained(error: NodeJS.ErrnoException, port: number, what: string): Error {
  if (error.code !== 'EADDRINUSE') return error;
  return new Error(`Port ${port} for ${what} is taken: stop what listens there or choose another port with --port`, {
    cause: error,
  });
}
