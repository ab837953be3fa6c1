import { Problem } from '../model/problem.ts';
import { isGone } from '../model/work/history-index.ts';

/**
 * Returns the row if it belongs to the tenant and has not expired. The row of another tenant is answered like an
 * unknown one, after the same work, so that no tenant learns which notifications others have.
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
  return new Problem('not-found', 'The notification does not exist.');
}
