import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

export interface HttpServer {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  close(): Promise<void>;
}

export type Handle = (request: IncomingMessage, response: ServerResponse, body: Buffer) => Promise<void> | void;

/** SES takes messages of up to 40 MB as base64; nothing else here is as large. */
const MAX_BODY_BYTES = 60 * 1024 * 1024;

/**
 * Serves on loopback. An error of the handler becomes a 500 with its message.
 * @param port 0: any free one
 * @param what is served, for the message when the port is taken
 */
export function serve(handle: Handle, port: number, what: string): Promise<HttpServer> {
  const server = createServer(async (request, response) => {
    try {
      await handle(request, response, await bodyOf(request));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { message });
    }
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explained(error, port, what)));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      const actual = typeof address === 'object' && address !== null ? address.port : port;
      resolve({
        url: `http://127.0.0.1:${actual}`,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`the request has more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function explained(error: NodeJS.ErrnoException, port: number, what: string): Error {
  if (error.code !== 'EADDRINUSE') return error;
  return new Error(`Port ${port} for ${what} is taken: stop what listens there or choose another port with --port`, {
    cause: error,
  });
}
