import { createHash } from 'node:crypto';
import type { Outcome } from '../core/operator/audit/audited.ts';
import { audited } from '../core/operator/audit/audited.ts';
import type { RouteKey } from './contract/routes.ts';
import type { ConsoleDeps } from './deps.ts';
import type { Checked } from './route.ts';

export interface Decision {
  readonly what: string;
  readonly on: readonly string[];
  /** Never an address or a credential. */
  readonly details?: object;
}

/** Runs a decision of a person once per request_id, written to the audit log. */
export function decide<I extends { readonly request_id: string }, A>(
  key: RouteKey,
  { caller, path, input }: Checked<I>,
  decision: Decision,
  deps: ConsoleDeps,
  run: () => Promise<Outcome<A>>,
): Promise<{ readonly answer: A; readonly repeated: boolean }> {
  const { details, ...rest } = decision;
  const request = JSON.stringify([caller.who, key, path, input]);
  const action = {
    ...caller,
    ...rest,
    request_id: input.request_id,
    fingerprint: createHash('sha256').update(request).digest('base64url'),
    ...(details !== undefined && { details: JSON.stringify(details) }),
  };
  return audited(action, deps, run);
}
