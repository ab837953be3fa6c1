import { keyedHash } from '../adapters/signing/hashed-ids.ts';
import {
  AUDIT_PERIOD_MS,
  type AuditDeps,
  type AuditFilter,
  type AuditPlace,
  type AuditRecord,
  audited,
  fitsAudit,
  type Outcome,
  recorded,
} from '../core/operator/audit.ts';
import type { OperatorDeps } from './deps.ts';

interface Decision {
  readonly what: string;
  readonly on: readonly string[];
  /** Never an address of a recipient, or a credential. */
  readonly details?: object;
  /** It shows somebody something and changes nothing: a repeated request is shown it again, and that is written, too. */
  readonly shows?: true;
}

/** Runs a decision of a person, or answers what it was answered before. It is written to the audit log before it begins and with its result afterwards. */
export type Decide = <A>(decision: Decision, run: () => Promise<Outcome<A>>) => Promise<A>;

interface Decider {
  readonly who: string;
  readonly role: string;
}

interface RepeatableRequest {
  readonly caller: Decider;
  readonly path: Readonly<Record<string, string | undefined>>;
  readonly input: { readonly request_id: string };
}

interface KeyedDeps {
  readonly hashKey: () => Promise<string>;
}

/** For a page, which repeats a request that was not answered: each request_id decides once. */
export function decideOnce(route: string, request: RepeatableRequest, deps: AuditDeps & KeyedDeps): Decide {
  const { path, input } = request;
  const { who, role } = request.caller;
  const { request_id } = input;
  const asked = JSON.stringify([who, route, path, input]);
  return async (decision, run) => {
    const action = { who, role, ...stored(decision), request_id };
    if (decision.shows) return (await recorded(action, deps, run)).answer;
    // What is asked has an address in it where a recipient is corrected or suppressed.
    const fingerprint = keyedHash(await deps.hashKey(), 'decisions', asked).toString('base64url');
    return (await audited({ ...action, fingerprint }, deps, run)).answer;
  };
}

/** For a command: each run of it is a decision of its own, and nobody repeats it. */
export function decideNow(decider: () => Promise<Decider>, deps: AuditDeps): Decide {
  return async (decision, run) => {
    const { who, role } = await decider();
    return (await recorded({ who, role, ...stored(decision), request_id: deps.newId() }, deps, run)).answer;
  };
}

function stored({ details, shows: _, ...rest }: Decision) {
  return { ...rest, ...(details !== undefined && { details: JSON.stringify(details) }) };
}

export interface AuditRequest extends AuditFilter {
  /** By default of the last 7 days. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly limit: number;
  readonly after?: AuditPlace | undefined;
}

/** Who did what when, newest first. A page may hold fewer entries than its limit, even none, and not be the last one. */
export async function listAudit(
  request: AuditRequest,
  { audit, clock }: Pick<OperatorDeps, 'audit' | 'clock'>,
): Promise<{ readonly records: readonly AuditRecord[]; readonly next?: AuditPlace }> {
  const { limit, after } = request;
  const to = request.to ?? clock().toISOString();
  const from = request.from ?? new Date(Math.max(0, Date.parse(to) - AUDIT_PERIOD_MS)).toISOString();
  return audit.list({ from, to, limit, ...(after && { after }), fits: (record) => fitsAudit(request, record) });
}
