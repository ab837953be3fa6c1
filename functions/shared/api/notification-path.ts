import { notFound } from '../../../src/core/intake/require-own-row.ts';
import type { ApiRequest } from './api-function.ts';

/** Where a notification can be asked after, relative to the API. */
export function statusUrl(log_id: string): string {
  return `/v1/notifications/${encodeURIComponent(log_id)}`;
}

/** What cannot be a log_id is as unknown as one that nobody has. @throws Problem */
export function logIdIn({ log_id = '' }: ApiRequest['path']): string {
  if (log_id.length === 0 || log_id.length > 50 || !log_id.isWellFormed()) throw notFound();
  return log_id;
}
