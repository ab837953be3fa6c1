import {
  AUDIT_PERIOD_MS,
  type AuditDeps,
  type AuditFilter,
  type AuditPlace,
  type AuditRecord,
  type Decision,
  fitsAudit,
  recorded,
} from '../core/operator/audit.ts';
import { periodOf } from '../core/operator/search-filter.ts';
import type { OperatorDeps } from './deps.ts';

export interface Decider {
  readonly who: string;
  readonly role: string;
}

/** Runs a decision of a command. Each run of a command is a decision of its own. */
export type Decide = <A>(decision: Decision<A> | Promise<Decision<A>>) => Promise<A>;

export function decideNow(decider: () => Promise<Decider>, deps: AuditDeps): Decide {
  return async (decision) => {
    const { audit, run } = await decision;
    if (audit === undefined) return (await run()).answer;
    const { who, role } = await decider();
    return (await recorded({ who, role, ...audit, request_id: deps.newId() }, deps, run)).answer;
  };
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
