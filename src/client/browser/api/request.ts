import { retryAfterOf } from '../../handover/retry-rules.ts';
import { createTokens, type GetToken, type Purpose } from './tokens.ts';

export interface ApiOptions {
  /** Base URL of the API. */
  readonly url: string;
  readonly getToken: GetToken;
}

/** What a page reads of a response. */
export interface Answer {
  readonly status: number;
  readonly json: unknown;
  readonly repeat: boolean;
  readonly retryAfterMs?: number;
}

/** @returns the answer, or a string: why there is none */
export type PageRequest = (
  purpose: Purpose,
  path: string,
  init?: { readonly method?: string; readonly body?: object; readonly idempotencyKey?: string },
) => Promise<Answer | string>;

/** Milliseconds in which the API, or `getToken`, must answer. */
const TIMEOUT_MS = 20_000;

/** Requests of a page, each with a token. A 401 asks `getToken` once for a new one. */
export function createPageRequest({ url, getToken }: ApiOptions): PageRequest {
  const base = url.replace(/\/+$/, '');
  const tokens = createTokens(getToken, TIMEOUT_MS);

  const once = async (token: string, ...[, path, init = {}]: Parameters<PageRequest>): Promise<Answer> => {
    const { method = 'GET', body, idempotencyKey } = init;
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body && { body: JSON.stringify(body) }),
      // The token is all that the API needs; cookies are nothing to it.
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const retryAfterMs = retryAfterOf(response.headers, new Date());
    return {
      status: response.status,
      json: parsed(text),
      repeat: response.headers.get('idempotent-replayed') === 'true',
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  };

  return async (purpose, path, init) => {
    try {
      const token = await tokens.get(purpose);
      const answer = await once(token, purpose, path, init);
      if (answer.status !== 401) return answer;
      return await once(await tokens.renew(purpose, token), purpose, path, init);
    } catch (error) {
      return error instanceof Error ? error.name : 'unknown';
    }
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
