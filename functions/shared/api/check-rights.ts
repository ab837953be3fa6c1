import type { Scope } from '../../../src/adapters/api-keys/api-key.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import type { Caller } from './caller.ts';

/** What a caller needs to use a route. */
export interface RouteRights {
  /** The scope that the API key must have; `any`: the route itself looks at the scopes. */
  readonly scope: Scope | 'any';
  /** The tokens of web pages that may use the route: those to send, or those of the log_id in its path. Absent: none. */
  readonly tokens?: 'send' | 'log_id';
}

interface Request {
  /** The log_id in the path. */
  readonly log_id: string | undefined;
  readonly now: Date;
}

/**
 * Checks what the caller may do. The authorizer's answer is cached by the header for a minute, whatever the route: so
 * everything that depends on route and time is checked here.
 * @throws Problem unauthenticated, forbidden
 */
export function checkRights(caller: Caller | undefined, route: RouteRights, { log_id, now }: Request): asserts caller {
  if (caller === undefined) {
    throw new Problem(
      'unauthenticated',
      'Send a valid API key, Authorization: Bearer nrk_<key_id>_<secret>, or a token of POST /v1/tokens that has not expired.',
    );
  }
  const { token, scopes } = caller;
  if (token !== undefined && Date.parse(token.expires_at) <= now.getTime()) {
    throw new Problem('unauthenticated', 'The token has expired. Ask for a new one: POST /v1/tokens.');
  }
  if (token !== undefined && !covers(token, route, log_id)) {
    throw new Problem('forbidden', 'This token may not do this: it is for other requests, or for other log_ids.');
  }
  if (route.scope !== 'any' && !scopes.includes(route.scope)) {
    throw new Problem('forbidden', `This API key lacks the scope ${route.scope}.`);
  }
}

function covers({ rights }: Required<Caller>['token'], { tokens }: RouteRights, log_id: string | undefined): boolean {
  if ('send' in rights) return tokens === 'send';
  return tokens === 'log_id' && log_id !== undefined && rights.log_ids.includes(log_id);
}
