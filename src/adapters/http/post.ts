import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { type ClassificationRule, classify } from '../../core/delivery/policy/classification.ts';
import type { Delivery, Refused, SendResult } from '../../core/delivery/sender.ts';
import { ExplainedError } from '../../core/model/problem.ts';
import { answerExcerpt } from './answer-excerpt.ts';
import { parseRetryAfter } from './network-classification.ts';
import { bareHost, createTargetGuard, type TargetGuardOptions, TargetRefusedError } from './target-guard.ts';

/** Not imported: as an ES module node:http loads all of Node's `fetch` at a cold start, only to list its exports. */
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
class NetworkFault extends ExplainedError {
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

const timedOut = (): NetworkFault => new NetworkFault('TIMEOUT', 'the endpoint did not answer in time');

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
  close(): void;
}

interface TargetMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
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

interface AnswerContext {
  /** Who answered, as the subject of the message: "the endpoint". */
  readonly who: string;
  readonly delivery: Delivery;
  readonly rules: readonly ClassificationRule[];
  /** The error code of the provider, if the answer has one. */
  readonly code?: string | undefined;
  /** The credentials and the URL that were used; an echo of them is not recorded. */
  readonly secrets?: readonly (string | undefined)[];
}

/** Classifies an answer that is not an acceptance. `Retry-After` counts from the time of the attempt. */
export function refusalOf(answer: HttpAnswer, { who, delivery, rules, code, secrets = [] }: AnswerContext): Refused {
  const { subject, body, recipient } = delivery.content;
  const text = answerExcerpt(answer.text, [...secrets, recipient, subject, body]);
  const retryAfter = parseRetryAfter(answer.headers['retry-after'], delivery.at);
  return {
    ok: false,
    error_type: classify({ status: answer.status, ...(code && { code }), text: answer.text.slice(0, 2000) }, rules),
    response_code: String(answer.status),
    message: `${who} answered ${answer.status}${code ? ` ${code}` : ''}`,
    ...(retryAfter !== undefined && { retry_after_ms: retryAfter }),
    details: { status: answer.status, ...(code && { code }), ...(text && { text }) },
  };
}

/** Classifies the lack of an answer. @throws what is neither NetworkFault nor TargetRefusedError: our defect */
export function faultRefusal(error: unknown, rules: readonly ClassificationRule[]): Refused {
  if (!(error instanceof NetworkFault) && !(error instanceof TargetRefusedError)) throw error;
  const message = error instanceof NetworkFault ? error.message : `the target URL is refused: ${error.message}`;
  return { ok: false, error_type: classify({ code: error.code }, rules), message, details: { code: error.code } };
}

interface Posting extends Omit<AnswerContext, 'code'> {
  readonly poster: TargetPoster;
  /** The URL, which is a credential itself. */
  readonly target: string;
  readonly message: TargetMessage;
  readonly signal: AbortSignal;
  /** The error code of the provider in the text of its answer. */
  readonly codeIn?: (text: string) => string | undefined;
  /** Of an answer with a status of success: whether its text says otherwise. */
  readonly isFailure?: RegExp;
}

/** Posts once to a URL that a tenant chose; every answer, and the lack of one, is a result. */
export async function postTo({ poster, target, message, signal, codeIn, isFailure, ...context }: Posting) {
  try {
    const answer = await poster.post(target, message, signal);
    const { status, text } = answer;
    const isAccepted = status >= 200 && status < 300 && !isFailure?.test(text);
    if (isAccepted) return { ok: true, response_code: String(status) } satisfies SendResult;
    const { secrets = [] } = context;
    return refusalOf(answer, { ...context, code: codeIn?.(text), secrets: [target, ...secrets] });
  } catch (error) {
    return faultRefusal(error, context.rules);
  }
}
