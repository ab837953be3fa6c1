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
  /** It shows somebody something and changes nothing: a repeated request is shown it again, and that is written, too. */
  readonly shows?: true;
}

/** What a person decided, checked and not yet done: whoever was asked writes it down and runs it. */
export interface Decision<A> {
  /** Undefined: it changes nothing and shows nobody, as a dry run. */
  readonly audit: Audit | undefined;
  readonly run: () => Promise<Outcome<A>>;
}

export const decisionOf = <A>(audit: Decision<A>['audit'], run: Decision<A>['run']): Decision<A> => ({ audit, run });

/** What a decision led to. `repeated`: an earlier request with this id did it, and was answered so. */
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

/** Runs a decision of the page, which repeats a request that was not answered: each request_id decides once. */
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
  // What is asked has an address in it where a recipient is corrected or suppressed.
  const asked = JSON.stringify([who, route, path, input]);
  const fingerprint = keyedHash(await deps.hashKey(), 'decisions', asked).toString('base64url');
  return audited({ ...action, fingerprint }, deps, run);
}

/** Runs a decision of a command: each run of it is a decision of its own, and nobody repeats it. */
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
