import type { NotificationRow } from '../notification.ts';
import { Problem } from './problem.ts';

/**
 * The row, if it is the tenant's. Another tenant's is answered as an unknown one is, after the same work, so that nobody
 * learns what others have.
 * @throws Problem not-found
 */
export function own<R extends Pick<NotificationRow, 'tenant_id'>>(row: R | undefined, tenant_id: string): R {
  if (row === undefined || row.tenant_id !== tenant_id) throw notFound();
  return row;
}

export function notFound(): Problem {
  return new Problem('not-found', 'There is no such notification.');
}
