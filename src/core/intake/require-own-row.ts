import { isGone } from '../model/history-index.ts';
import { Problem } from './problem.ts';

/**
 * The row, if it is the tenant's and not expired. Another tenant's is answered as an unknown one is, after the same
 * work, so that nobody learns what others have.
 * @throws Problem not-found
 */
export function requireOwnRow<R extends { readonly tenant_id?: unknown }>(
  row: R | undefined,
  tenant_id: string,
  now: Date,
): R {
  if (row === undefined || row.tenant_id !== tenant_id || isGone({ ...row }, now)) throw notFound();
  return row;
}

export function notFound(): Problem {
  return new Problem('not-found', 'There is no such notification.');
}
