import type { LookupFunction } from 'node:net';
import { AnswerReader } from './answer-reader.ts';
import { Connections } from './connections.ts';
import { type HttpAnswer, NetworkFault, networkFault } from './network-classification.ts';
import { createTargetGuard, type TargetGuardOptions } from './target-guard.ts';

/** Most bytes of an answer that are read, unless an option says otherwise. The answer only serves as a diagnosis. */
export const MAX_ANSWER_BYTES = 64 * 1024;

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

export type Poster = ReturnType<typeof createPoster>;

/** Without Node's client, which takes most of a post's CPU (docs/decisions/channels/outbound-http.md). */
export function createPoster(options: PosterOptions = {}) {
  const { timeoutMs = 15_000, maxAnswerBytes = MAX_ANSWER_BYTES, lookup } = options;
  const connections = new Connections(lookup);

  /**
   * Makes one POST over a kept-alive connection. Redirects are not followed. From the end of the final head on the answer
   * counts, whatever follows, is missing or is malformed: a second post of an accepted message would be worse.
   * @throws NetworkFault when no answer came
   */
  function post({ url, headers, body, signal }: PostRequest): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(timedOut());
      const reader = new AnswerReader(maxAnswerBytes);
      const end = (fault: () => NetworkFault) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', cut);
        release(reader.keptSeconds);
        if (reader.answer === undefined) reject(reader.fault ?? fault());
        else resolve(reader.answer);
      };
      const cut = () => end(timedOut);
      const release = connections.send(url, requestOf(url, headers, body), {
        read(bytes) {
          reader.read(bytes);
          if (reader.ended) end(timedOut);
        },
        close(error) {
          reader.close();
          end(() => networkFault(error ?? { code: 'ECONNRESET' }, reader.came));
        },
      });
      const timer = setTimeout(cut, timeoutMs);
      signal.addEventListener('abort', cut, { once: true });
    });
  }

  return { post, close: () => connections.close() };
}

const timedOut = (): NetworkFault => new NetworkFault('TIMEOUT', 'the endpoint did not answer in time');

/** What would end a field, and the head with it. */
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** @throws TypeError for a field that would not end where it should */
function requestOf(url: URL, headers: Readonly<Record<string, string>>, body: string): string {
  let head = `POST ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (NO_VALUE.test(value)) throw new TypeError(`The header ${name} has a character that no header has.`);
    head += `${name}: ${value}\r\n`;
  }
  return `${head}content-length: ${Buffer.byteLength(body)}\r\nHost: ${url.host}\r\nConnection: keep-alive\r\n\r\n${body}`;
}

export type TargetPosterOptions = TargetGuardOptions & Omit<PosterOptions, 'lookup'>;

export interface TargetMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ports?: readonly number[] | undefined;
}

export type TargetPoster = ReturnType<typeof createTargetPoster>;

/** Posts to URLs that tenants choose. Every post passes the guard. */
export function createTargetPoster(options: TargetPosterOptions = {}) {
  const guard = createTargetGuard(options);
  const poster = createPoster({ ...options, lookup: guard.lookup });
  return {
    /**
     * @throws TargetRefusedError when the form or host of the URL is refused; NetworkFault with code TARGET_REFUSED
     *   when its name leads to a private address; NetworkFault with another code when no answer came
     */
    post: async (target: string, { ports, ...message }: TargetMessage, signal: AbortSignal) =>
      poster.post({ url: guard.check(target, ports), ...message, signal }),
    close: poster.close,
  };
}
