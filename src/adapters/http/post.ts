import type { ClientRequest, IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { type HttpAnswer, NetworkFault, networkFault, readHead } from './network-classification.ts';

/** Not imported: as an ES module node:http loads all of Node's `fetch` at a cold start, only to list its exports. */
const http = process.getBuiltinModule('node:http');

/** Most bytes of the head of an answer. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Most bytes of an answer that are read, unless an option says otherwise. The answer only serves as a diagnosis. */
export const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Milliseconds after which an idle connection is closed. The time is short because a frozen function does not notice
 * that the other side closes: a connection from before the freeze would fail the first send after it.
 */
const IDLE_MS = 4_000;

interface PostRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

export interface PosterOptions {
  /** Milliseconds for the whole exchange. The signal of the request may end it sooner. */
  readonly timeoutMs?: number;
  /** Most bytes of the body of an answer; MAX_ANSWER_BYTES unless given. */
  readonly maxAnswerBytes?: number;
  /** How names are resolved. It must be the lookup of the target guard wherever a tenant can choose the target. */
  readonly lookup?: LookupFunction;
}

export interface Poster {
  /**
   * Makes one POST over a kept-alive connection. Redirects are not followed. From the end of the final head on the answer
   * counts, whatever follows, is missing or is malformed: a second post of an accepted message would be worse.
   * @throws NetworkFault when no answer came
   */
  post(request: PostRequest): Promise<HttpAnswer>;
  close(): void;
}

export function createPoster(options: PosterOptions = {}): Poster {
  const { timeoutMs = 15_000, maxAnswerBytes = MAX_ANSWER_BYTES, lookup } = options;
  const pooling = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 32 };
  const plain = new http.Agent(pooling);
  const secure = new https.Agent(pooling);

  function post({ url, headers, body, signal }: PostRequest): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(timedOut());
      const tls = url.protocol === 'https:';
      const request = (tls ? https : http).request({
        method: 'POST',
        protocol: url.protocol,
        hostname: bareHost(url),
        port: url.port,
        path: `${url.pathname}${url.search}`,
        // Without it, any coding is acceptable (RFC 9110 §12.5.3), and none is read.
        headers: { 'accept-encoding': 'identity', ...headers, 'content-length': Buffer.byteLength(body) },
        agent: tls ? secure : plain,
        maxHeaderSize: MAX_HEAD_BYTES,
        // Reads what RFC 9112 lets a client read: bare LF (§2.2), two framings (§6.3), line folding (§5.2). The name
        // warns of servers behind a proxy, which may read a request in two ways.
        insecureHTTPParser: true,
        ...(lookup && { lookup }),
      });
      let settled = false;
      const settle = (how: () => void) => {
        if (settled) return;
        settled = true;
        clearTimeout(timer);
        signal.removeEventListener('abort', cut);
        how();
        // An answer may come before the body is written; without this, the socket would wait for the rest for ever.
        if (!request.writableFinished) request.destroy();
      };
      const accept = (answer: HttpAnswer) => settle(() => resolve(answer));
      const refuse = (fault: NetworkFault) => settle(() => reject(fault));
      let answer: PartialAnswer | undefined;
      const cut = () => {
        if (answer) accept(answer.soFar());
        else refuse(timedOut());
        request.destroy();
      };
      const timer = setTimeout(cut, timeoutMs);
      signal.addEventListener('abort', cut, { once: true });
      const came = keepHead(request);
      request.on('response', (response) => {
        came.forget();
        if (response.statusCode === 101) {
          refuse(switched());
          request.destroy();
          return;
        }
        answer = readAnswer(response, maxAnswerBytes, accept);
      });
      request.on('upgrade', (_response, socket) => {
        socket.destroy();
        refuse(switched());
      });
      // Node emits resets and malformed bodies here also after the head: then the answer's own events end it.
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (answer) return;
        const isReadable = error.code?.startsWith('HPE_') && error.code !== 'HPE_HEADER_OVERFLOW';
        const head = isReadable ? readHead(came.bytes(), maxAnswerBytes) : undefined;
        if (head) accept(head);
        else refuse(networkFault(error, came.bytes()));
      });
      request.on('close', () =>
        answer ? accept(answer.soFar()) : refuse(networkFault({ code: 'ECONNRESET' }, came.bytes())),
      );
      request.end(body);
    });
  }

  return {
    post,
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

const timedOut = (): NetworkFault => new NetworkFault('TIMEOUT', 'the endpoint did not answer in time');

const switched = (): NetworkFault =>
  new NetworkFault('NO_HTTP', 'the endpoint answered 101: it left HTTP without having been asked to');

interface PartialAnswer {
  soFar(): HttpAnswer;
}

function readAnswer(response: IncomingMessage, limit: number, done: (answer: HttpAnswer) => void): PartialAnswer {
  const chunks: Buffer[] = [];
  let size = 0;
  const soFar = (): HttpAnswer => ({
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: size === 0 ? '' : Buffer.concat(chunks, Math.min(size, limit)).toString('utf8'),
    complete: response.complete && response.readableLength === 0 && size <= limit,
  });
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) {
      done(soFar());
      response.destroy();
    }
  });
  response.on('end', () => done(soFar()));
  response.on('error', () => done(soFar()));
  return { soFar };
}

/** The host for a socket: an IPv6 address without its brackets. */
export function bareHost(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

/** What a connection has brought for its present request. */
interface Came {
  chunks: Buffer[];
  size: number;
  isOpen: boolean;
}

/** By connection: a listener per request would cost a tenth of the post. */
const heard = new WeakMap<Socket, Came>();

/** Collects what comes before a head is read, which Node's parser does not show of an answer that it refuses. */
function keepHead(request: ClientRequest) {
  let came: Came | undefined;
  request.on('socket', (socket) => {
    came = heard.get(socket) ?? listen(socket);
    came.isOpen = true;
    came.size = 0;
  });
  return {
    bytes: () => Buffer.concat(came?.chunks ?? []),
    forget() {
      if (came === undefined) return;
      came.isOpen = false;
      came.chunks = [];
    },
  };
}

function listen(socket: Socket): Came {
  const came: Came = { chunks: [], size: 0, isOpen: true };
  heard.set(socket, came);
  socket.prependListener('data', (chunk: Buffer) => {
    // Interim answers may come without end.
    if (!came.isOpen || came.size > 2 * MAX_HEAD_BYTES) return;
    came.chunks.push(chunk);
    came.size += chunk.length;
  });
  return came;
}
