import * as v from 'valibot';
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

export interface AuditEntry {
  readonly audit_id: string;
  readonly at: string;
  readonly who: string;
  readonly role: string;
  readonly what: string;
  /** The first few targets; `targets` counts all. */
  readonly on: readonly string[];
  readonly targets: number;
  readonly request_id: string;
  /** Counts by result, such as `{"queued":3,"refused":1}`; absent: it was begun, and nobody recorded its end. */
  readonly result?: Readonly<Record<string, number>>;
  /** The filter of an operation, the scopes of a key; never an address. */
  readonly details?: string;
}

export interface AuditList extends NextPage {
  readonly entries: readonly AuditEntry[];
}
