import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Loopback {
  readonly url: string;
  readonly received: Received[];
  /** How the next requests are answered. */
  answer: (response: ServerResponse, request: Received) => void;
  close(): Promise<void>;
}

/** A real HTTP server on 127.0.0.1 that records its requests. It answers 204 until `answer` is set. */
export async function startLoopback(): Promise<Loopback> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const received = { method, path, headers, body: Buffer.concat(chunks).toString() };
      loopback.received.push(received);
      loopback.answer(response, received);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const loopback: Loopback = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: replying(204),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return loopback;
}

export function replying(status: number, body = '', headers: Record<string, string> = {}): Loopback['answer'] {
  return (response) => {
    response.writeHead(status, headers).end(body);
  };
}
