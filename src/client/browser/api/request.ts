import { apiBase, apiUrlFault } from '../../handover/api-url.ts';
import { type Answer, answerOf } from '../../handover/retry-rules.ts';
import { createTokens, type GetToken, type Purpose } from './tokens.ts';

export interface ApiOptions {
  /** URL of the API, without `/v1`; one that is relative counts from the page. */
  readonly url: string;
  readonly getToken: GetToken;
}

/** @returns the answer, or a string: why there is none */
export type PageRequest = (
  purpose: Purpose,
  path: string,
  init?: { readonly method?: string; readonly body?: object; readonly idempotencyKey?: string },
) => Promise<Answer | string>;

/** Milliseconds in which the API, or `getToken`, must answer. */
const TIMEOUT_MS = 20_000;

/** Requests of a page, each with a token. A 401 asks `getToken` once for a new one. @throws TypeError for the URL */
export function createPageRequest({ url, getToken }: ApiOptions): PageRequest {
  const page = globalThis.location?.href;
  const fault = apiUrlFault(url, page);
  if (fault !== undefined) throw new TypeError(`The url of the API ${fault}: ${url}`);
  const base = apiBase(url, page);
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
    return answerOf(response, new Date());
  };

  return async (purpose, path, init) => {
    try {
      const token = await tokens.get(purpose);
      const answer = await once(token, purpose, path, init);
      if (answer.status !== 401) return answer;
      return await once(await tokens.renew(purpose, token), purpose, path, init);
    } catch (error) {
      return (error as Error | undefined)?.name ?? 'unknown';
    }
  };
}
