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
import { periodOf } from '../core/operator/search-filter.ts';
import type { OperatorDeps } from './deps.ts';

/** What the audit log keeps of a decision. */
interface Audit {
  readonly what: string;
  readonly on: readonly string[];
  /** Never an address of a recipient, or a credential. */
  readonly details?: object;
  /** The decision shows data and changes nothing. A repeated request is shown it again, with a record of its own. */
  readonly shows?: true;
}

/** A checked decision that is not carried out yet. The front that was asked audits it and calls `run`. */
export interface Decision<A> {
  /** Undefined: nothing to audit, as it changes nothing and shows no personal data, like a dry run. */
  readonly audit: Audit | undefined;
  readonly run: () => Promise<Outcome<A>>;
}

export const decisionOf = <A>(audit: Decision<A>['audit'], run: Decision<A>['run']): Decision<A> => ({ audit, run });

/** The result of a decision. `repeated`: the answer is that of an earlier request with the same id, which ran it. */
export interface Decided<A> {
  readonly answer: A;
  readonly repeated: boolean;
}

interface Decider {
  readonly who: string;
  readonly role: string;
}

interface RepeatableRequest {
  readonly caller: Decider;
  readonly path: Readonly<Record<string, string | undefined>>;
  readonly input: { readonly request_id: string };
}

/** Runs a decision of the page once per request_id: the page repeats a request that got no answer. */
export async function decideOnce<A>(
  { audit, run }: Decision<A>,
  route: string,
  { caller: { who, role }, path, input }: RepeatableRequest,
  deps: AuditDeps & { readonly hashKey: () => Promise<string> },
): Promise<Decided<A>> {
  if (audit === undefined) return { ...(await run()), repeated: false };
  const { request_id } = input;
  const action = { who, role, ...stored(audit), request_id };
  if (audit.shows) return { ...(await recorded(action, deps, run)), repeated: false };
  // Keyed, as the input holds an address where a recipient is corrected or suppressed.
  const asked = JSON.stringify([who, route, path, input]);
  const fingerprint = keyedHash(await deps.hashKey(), 'decisions', asked).toString('base64url');
  return audited({ ...action, fingerprint }, deps, run);
}

/** Runs a decision of a command. Each run of a command is a decision of its own. */
export type Decide = <A>(decision: Decision<A> | Promise<Decision<A>>) => Promise<A>;

export function decideNow(decider: () => Promise<Decider>, deps: AuditDeps): Decide {
  return async (decision) => {
    const { audit, run } = await decision;
    if (audit === undefined) return (await run()).answer;
    const { who, role } = await decider();
    return (await recorded({ who, role, ...stored(audit), request_id: deps.newId() }, deps, run)).answer;
  };
}

function stored({ details, shows: _, ...rest }: Audit) {
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
  const { from, to } = periodOf(request, clock(), AUDIT_PERIOD_MS);
  return audit.list({ from, to, limit, ...(after && { after }), fits: (record) => fitsAudit(request, record) });
}
