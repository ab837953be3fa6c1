import { AsyncLocalStorage } from 'node:async_hooks';
import type { FetchFunction, WebClient } from '@slack/web-api';
import { createPoster, type HttpAnswer, NetworkFault, type PosterOptions } from '../http/post.ts';

const MAX_CLIENTS = 200;

/** Slack answers with the whole message, twice, non-ASCII characters escaped to six bytes: 40,000 of them fit. */
const MAX_SLACK_ANSWER_BYTES = 2 * 1024 * 1024;

export interface SlackApiOptions extends Omit<PosterOptions, 'lookup'> {
  /** Base URL of the Web API; Slack's own unless given. */
  readonly slackApiUrl?: string;
}

interface SlackPost {
  readonly token: string;
  readonly channel: string;
  readonly text: string;
  readonly mrkdwn: boolean;
}

/** chat.postMessage, once; the answer as it came, and Slack's verdict on it. */
export interface SlackApi {
  /** @throws NetworkFault when no answer came. */
  postMessage(post: SlackPost, signal: AbortSignal): Promise<SlackAnswer>;
  close(): void;
}

interface SlackAnswer {
  readonly ok: boolean;
  readonly http: HttpAnswer;
  /** The message's id in its channel. */
  readonly ts?: string | undefined;
}

/** One call's signal and, once it has come, its answer: the client passes neither through. */
interface Exchange {
  readonly signal: AbortSignal;
  answer?: HttpAnswer;
}

export function createSlackApi({ slackApiUrl, ...http }: SlackApiOptions = {}): SlackApi {
  const poster = createPoster({ maxAnswerBytes: MAX_SLACK_ANSWER_BYTES, ...http });
  const exchanges = new AsyncLocalStorage<Exchange>();
  const clients = new Map<string, Promise<WebClient>>();

  const fetch: FetchFunction = async (url, init) => {
    const exchange = exchanges.getStore();
    if (exchange === undefined) throw new Error('The Slack client left the context of its call.');
    const body = typeof init?.body === 'string' ? init.body : '';
    const request = { url: new URL(url), headers: init?.headers ?? {}, body, signal: exchange.signal };
    exchange.answer = await poster.post(request);
    return asFetchResponse(exchange.answer, String(url));
  };

  function clientOf(token: string): Promise<WebClient> {
    const known = clients.get(token);
    if (known !== undefined) return known;
    if (clients.size >= MAX_CLIENTS) clients.clear();
    const client = createClient(token, fetch, slackApiUrl);
    clients.set(token, client);
    return client;
  }

  return {
    async postMessage({ token, ...message }, signal) {
      const client = await clientOf(token);
      const exchange: Exchange = { signal };
      try {
        const result = await exchanges.run(exchange, () => client.chat.postMessage(message));
        if (exchange.answer === undefined) throw new Error('The Slack client reported success without an exchange.');
        return { ok: true, http: exchange.answer, ts: result.ts };
      } catch (error) {
        if (exchange.answer === undefined) throw networkFaultOf(error);
        // An acceptance whose end was cut off is one all the same: posting again would make a duplicate.
        const ok = exchange.answer.status === 200 && /^\s*\{\s*"ok"\s*:\s*true\b/.test(exchange.answer.text);
        return { ok, http: exchange.answer };
      }
    },
    close: poster.close,
  };
}

/** Loaded on first use: a function whose integrations are incoming webhooks never needs it. */
async function createClient(token: string, fetch: FetchFunction, slackApiUrl?: string): Promise<WebClient> {
  const { createWebClient } = await import('./web-client.ts');
  return createWebClient(token, fetch, slackApiUrl);
}

/** The client wraps what its fetch throws. */
function networkFaultOf(error: unknown): unknown {
  if (error instanceof Error && 'original' in error && error.original instanceof NetworkFault) return error.original;
  return error;
}

function asFetchResponse({ status, headers, text }: HttpAnswer, url: string): Awaited<ReturnType<FetchFunction>> {
  const entries = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return {
    ok: status >= 200 && status < 300,
    status,
    statusText: '',
    url,
    headers: {
      get: (name) => entries.find(([known]) => known === name.toLowerCase())?.[1] ?? null,
      entries: () => entries[Symbol.iterator](),
    },
    text: async () => text,
    json: async () => JSON.parse(text),
    arrayBuffer: async () => new TextEncoder().encode(text).buffer,
  };
}
