import { type Answer, answerOf, TIMEOUT } from './retry-rules.ts';

export interface ApiOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Milliseconds in which the API must answer. */
  readonly timeoutMs: number;
  readonly clock: () => Date;
}

/**
 * Posts JSON to a path of the API, with an idempotency key.
 * @returns the answer, or the code of the reason why there is none
 */
export type ApiRequest = (path: string, body: object, key: string, signal?: AbortSignal) => Promise<Answer | string>;

export function createRequest({ url, apiKey, timeoutMs, clock }: ApiOptions): ApiRequest {
  const base = url.replace(/\/+$/, '');
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
