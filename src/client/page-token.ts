import { randomUUID } from 'node:crypto';
import type { Channel } from '../core/model/channels.ts';
import type { ApiRequest } from './handover/api-request.ts';

/** What a token may do, and for how long: 1 to 3,600 seconds, 900 unless given. */
export type TokenRequest = { readonly ttl_seconds?: number } & (
  | { readonly send: true; readonly channel?: Channel; readonly recipient?: string }
  | { readonly log_ids: readonly string[] }
);

export interface PageToken {
  readonly token: string;
  /** ISO-8601 UTC. */
  readonly expires_at: string;
}

/** One attempt: the page asks again, and a person waits for it. */
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
