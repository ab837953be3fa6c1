import * as v from 'valibot';
import type { AuditRecord } from '../../core/operator/audit/audit.ts';
import { cursor, id, limit, moment } from './fields.ts';
import type { NextPage } from './page.ts';

/** `GET /api/audit?…`: newest first; by default of the last 7 days. */
export const auditQuery = v.strictObject({
  who: v.optional(id),
  /** What was done: `retry`, `cancel`, `reveal`, `operation.start`, `key.create`, … */
  what: v.optional(id),
  /** On what: a log_id, operation_id, key_id or email_id. */
  target: v.optional(id),
  from: v.optional(moment),
  to: v.optional(moment),
  limit,
  cursor,
});

export interface AuditList extends NextPage {
  readonly entries: readonly AuditRecord[];
}
