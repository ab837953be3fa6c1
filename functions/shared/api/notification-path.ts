import { notFound } from '../../../src/core/intake/public-state.ts';
import { pathSegment } from '../../../src/http/paths.ts';
import type { ApiRequest } from './api-function.ts';

/** The path of a notification's status, relative to the API. */
export const statusUrl = (log_id: string): string => `/v1/notifications/${pathSegment(log_id)}`;

/** A text that cannot be a log_id is answered like an unknown log_id. @throws Problem not-found */
export function logIdIn({ log_id = '' }: ApiRequest['path']): string {
  if (log_id.length === 0 || [...log_id].length > 50 || !log_id.isWellFormed()) throw notFound();
  return log_id;
}
