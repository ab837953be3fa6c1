import { randomUUID } from 'node:crypto';
import type { Channel } from '../../core/model/channels.ts';
import { apiBase } from './api-url.ts';
import { type Answer, answerOf, TIMEOUT } from './retry-rules.ts';

/** @internal */
export interface ApiOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Milliseconds in which the API must answer. */
  readonly timeoutMs: number;
  readonly clock: () => Date;
}

/** Posts JSON with an idempotency key. @returns the answer, or the code of the reason why there is none @internal */
export type ApiRequest = (path: string, body: object, key: string, signal?: AbortSignal) => Promise<Answer | string>;

/** @internal */
export function createRequest({ url, apiKey, timeoutMs, clock }: ApiOptions): ApiRequest {
  const base = apiBase(url);
  return async (path, body, key, signal) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
        // A redirect is not an acceptance, and the API key belongs to this address only.
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      return await answerOf(response, clock());
    } catch (error) {
      return signal?.aborted ? 'interrupted' : codeOf(error);
    }
  };
}

/** `fetch` puts the reason into `cause`. Only the code is used, because the messages contain addresses. */
function codeOf(error: unknown): string {
  const { name, cause } = error as {
    name?: string;
    cause?: { code?: string; message?: string; errors?: readonly { code?: string }[] };
  };
  if (name === 'TimeoutError') return TIMEOUT;
  // The name of an error that `fetch` throws is always TypeError, which says nothing to an operator.
  const otherwise = name !== 'TypeError' ? name : cause?.message === 'bad port' ? 'bad port' : 'connection failed';
  return cause?.code ?? cause?.errors?.[0]?.code ?? otherwise ?? 'unknown';
}

/** What a token may do, and for how long: 1 to 3,600 seconds, 900 unless given. */
export type TokenRequest = { readonly ttl_seconds?: number } & (
  | {
      readonly send: true;
      readonly channel?: Channel;
      readonly recipient?: string;
      readonly integration_config_id?: string;
    }
  | { readonly log_ids: readonly string[] }
);

export interface PageToken {
  readonly token: string;
  /** ISO-8601 UTC. */
  readonly expires_at: string;
}

/** One attempt: the page asks again, and a person waits for it. @internal */
export function createTokenCall(request: ApiRequest): (given: TokenRequest) => Promise<PageToken> {
  return async (given) => {
    const answer = await request('/v1/tokens', given, randomUUID());
    if (typeof answer === 'string') throw new Error(`The API gave no token: no answer (${answer}).`);
    const { token, expires_at, detail } = (answer.json ?? {}) as Partial<PageToken> & { readonly detail?: unknown };
    if (answer.status === 201 && token !== undefined && expires_at !== undefined) return { token, expires_at };
    throw new Error(
      `The API gave no token: status ${answer.status}. ${typeof detail === 'string' ? detail : ''}`.trim(),
    );
  };
}
