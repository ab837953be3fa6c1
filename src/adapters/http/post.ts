import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { ExplainedError } from '../../core/model/problem.ts';
import { bareHost, createTargetGuard, type TargetGuardOptions } from './target-guard.ts';

/**
 * Not imported: as an ES module node:http would load all of Node's `fetch` at every cold start, only to list its
 * exports.
 */
const http = process.getBuiltinModule('node:http');

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

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** UTF-8, cut off at the limit. */
  readonly text: string;
}

/** No answer came. The message never names the target, because it may go into logs and records. */
export class NetworkFault extends ExplainedError {
  override readonly name = 'NetworkFault';
  /** `TIMEOUT`, `TARGET_REFUSED`, or Node's code (`ECONNREFUSED`, `CERT_HAS_EXPIRED`, …). */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
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
   * Makes one POST over a kept-alive connection. Redirects are not followed. Once the status line has arrived the
   * answer counts, even if its body is cut off: a second post of an accepted message would be worse.
   * @throws NetworkFault when no answer came
   */
  post(request: PostRequest): Promise<HttpAnswer>;
  /** Closes idle connections. */
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
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        agent: tls ? secure : plain,
        ...(lookup && { lookup }),
      });
      let settled = false;
      const settle = (how: () => void) => {
        if (settled) return;
        settled = true;
        clearTimeout(timer);
        signal.removeEventListener('abort', cut);
        how();
      };
      let answer: PartialAnswer | undefined;
      const cut = () => {
        settle(() => (answer ? resolve(answer.soFar()) : reject(timedOut())));
        request.destroy();
      };
      const timer = setTimeout(cut, timeoutMs);
      signal.addEventListener('abort', cut, { once: true });
      request.on('error', (error: NodeJS.ErrnoException) => settle(() => reject(faultOf(error))));
      request.on('response', (response) => {
        answer = readAnswer(response, maxAnswerBytes, (whole) => settle(() => resolve(whole)));
      });
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

function timedOut(): NetworkFault {
  return new NetworkFault('TIMEOUT', 'the endpoint did not answer in time');
}

/** Only the code is kept of Node's errors, because their messages name the address. */
function faultOf(error: NodeJS.ErrnoException): NetworkFault {
  const code = error.code ?? 'UNKNOWN';
  return code === 'TARGET_REFUSED'
    ? new NetworkFault(code, `the target URL is refused: ${error.message}`)
    : new NetworkFault(code, `the endpoint could not be reached (${code})`);
}

export type TargetPosterOptions = TargetGuardOptions & Omit<PosterOptions, 'lookup'>;

/** Posts to URLs that tenants choose. Every post passes the guard. */
export interface TargetPoster {
  /**
   * @throws TargetRefusedError when the form or host of the URL is refused; NetworkFault with code TARGET_REFUSED
   *   when its name leads to a private address; NetworkFault with another code when no answer came
   */
  post(target: string, message: TargetMessage, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes idle connections. */
  close(): void;
}

export interface TargetMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Ports that the integration allows. */
  readonly ports?: readonly number[] | undefined;
}

export function createTargetPoster(options: TargetPosterOptions = {}): TargetPoster {
  const guard = createTargetGuard(options);
  const poster = createPoster({ ...options, lookup: guard.lookup });
  return {
    post: async (target, { ports, ...message }, signal) =>
      poster.post({ url: guard.check(target, ports), ...message, signal }),
    close: poster.close,
  };
}
