import { Problem } from '../../model/problem.ts';
import type { Operation } from './operation.ts';

/** What an operation takes. It never changes, so whoever goes on with an operation by its id must mean the same. */
export type Bounds = Pick<Operation, 'kind' | 'filter' | 'limit' | 'max_age_ms' | 'include_stopped'>;

/** Its bounds by their stored names, those that are not set left out: to compare, to show and to audit. */
function boundsOf({ kind, filter, limit, max_age_ms, include_stopped }: Bounds): Record<string, string> {
  const { created, ...conditions } = filter;
  const period = { created_from: created?.from, created_to: created?.to };
  const all = { kind, ...conditions, ...period, limit, max_age_ms, include_stopped };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]];
    }),
  );
}

const HOUR_MS = 3_600_000;

/** What an operation is bound to, for the audit: a recipient only by its hash. */
export function auditDetails(operation: Bounds & Pick<Operation, 'asked' | 'rate'>): object {
  const { kind, asked, rate, limit, max_age_ms, include_stopped } = operation;
  const age = max_age_ms !== undefined && { max_age_hours: max_age_ms / HOUR_MS };
  return { kind, ...asked, rate, ...(limit !== undefined && { limit }), ...age, include_stopped };
}

/** Names of the bounds in which the two differ. */
export function differences(a: Bounds, b: Bounds): string[] {
  const [one, other] = [boundsOf(a), boundsOf(b)];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].filter((name) => one[name] !== other[name]);
}

/** `op-x is a cancel of tenant_id T, channel slack`. */
export function inWords(operation: Bounds & Pick<Operation, 'operation_id'>): string {
  const { kind, include_stopped, ...bounds } = boundsOf(operation);
  const stopped = include_stopped === 'true' ? ['include_stopped true'] : [];
  const conditions = [...Object.entries(bounds).map(([name, value]) => `${name} ${value}`), ...stopped];
  return `${operation.operation_id} is a ${kind} of ${conditions.join(', ') || 'everything'}`;
}

/** @throws Problem when the operation that has the id is another one than was asked for */
export function checkIsSame(operation: Operation, asked: Bounds): void {
  const names = differences(operation, asked);
  if (names.length === 0) return;
  throw new Problem(
    'conflict',
    `${inWords(operation)}. It differs from what was asked for in ${names.join(', ')}: choose another id.`,
  );
}
