import * as v from 'valibot';
import { VERIFY_PHASES } from '../../core/verify/verification.ts';
import { OPERATION_ACTIONS, OPERATION_KINDS, OPERATION_STATUSES } from './choices.ts';
import {
  count,
  counts,
  cursor,
  id,
  limit,
  moment,
  nextPage,
  notificationView,
  type Out,
  requestId,
  time,
} from './fields.ts';
import { filterFields } from './notifications.ts';

export const operationFilter = v.strictObject(filterFields);
export type OperationFilter = Out<typeof operationFilter>;

/** Makes the operation and its preview; nothing is changed before `start`. */
export const createOperationBody = v.strictObject({
  request_id: requestId,
  kind: v.picklist(OPERATION_KINDS),
  filter: operationFilter,
  /** Notifications a second. */
  rate: v.optional(v.pipe(v.number(), v.minValue(0.1), v.maxValue(500)), 100),
  /** The most rows. */
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000_000))),
  /** Redrive and correct: leave out what was created longer ago. No row is older than ten years: it expires after two. */
  max_age_hours: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(87_600))),
  /** Correct: by which they are sent from then on; the filter names tenant and channel. */
  integration_config_id: v.optional(id),
  /** Redrive: include wrong recipients, cancelled ones, and those taken off the list. */
  include_stopped: v.optional(v.boolean(), false),
});

export const operationsQuery = v.strictObject({ limit, cursor });

/** Counts of one pass. */
const pass = v.strictObject({
  matched: count,
  /** Changed by the operation, or in a preview: would be. */
  taken: count,
  /** Taken, but SQS did not take the message: the next sweep sends it. */
  left_to_sweep: count,
  /** Why what matched was left out. */
  excluded: counts,
});
export type OperationCounts = Out<typeof pass>;

/** What became of the first hundred that it took, at most: where they stand now. */
const outcomes = v.strictObject({
  looked_at: count,
  delivered: v.array(v.string()),
  /** Dead, after a redrive: dead again. */
  dead: v.array(v.string()),
  /** On their way: due, waiting for a retry, or being sent. */
  waiting: v.array(v.string()),
  stopped: v.array(v.string()),
});

export const operationView = v.strictObject({
  operation_id: v.string(),
  kind: v.picklist(OPERATION_KINDS),
  status: v.picklist(OPERATION_STATUSES),
  /** What the operator asked for, and the running page has not done yet. */
  wanted: v.nullable(v.picklist(['pause', 'cancel'])),
  filter: operationFilter,
  rate: count,
  limit: v.nullable(count),
  /** To which a correction changes them. */
  integration_config_id: v.nullable(v.string()),
  /** Nothing that came after this time is taken. */
  cut_off: time,
  created_by: v.string(),
  created_at: time,
  started_at: v.nullable(time),
  ended_at: v.nullable(time),
  /** Null until the preview has ended. */
  preview: v.nullable(pass),
  /** The first few that would be taken; a list of operations has their ids alone. */
  sample: v.array(notificationView),
  sample_log_ids: v.array(v.string()),
  progress: pass,
  /** Null in a list, and before the start. */
  outcomes: v.nullable(outcomes),
  /** Per second over the last pages; null: not running. */
  rate_now: v.nullable(count),
  eta: v.nullable(time),
  /** Why it failed, and what to do. */
  error: v.nullable(v.string()),
  /** What is possible now. */
  actions: v.array(v.picklist(OPERATION_ACTIONS)),
  command: v.nullable(v.string()),
});
export type OperationView = Out<typeof operationView>;

const text = v.string();

const verificationView = v.strictObject({
  /** `interrupted`: its process crashed; a start goes on with it. */
  status: v.picklist(['running', 'interrupted', 'done', 'stopped', 'failed']),
  started_by: text,
  started_at: time,
  ended_at: v.nullable(time),
  progress: v.strictObject({
    phase: v.picklist(VERIFY_PHASES),
    scanned: count,
    violated: count,
    read_units: count,
    /** Rows, emails and channels that are looked at again a minute later. */
    suspects: count,
  }),
  /** Null until it is done. */
  result: v.nullable(
    v.strictObject({
      holds: v.boolean(),
      /** `3 accepted = 2 delivered + 1 dead` */
      equations: v.array(text),
      records_checked: count,
      contents_without_row: count,
      erased: count,
      set_aside_in_clear: count,
      violated: count,
      /** The first 250 at most. */
      violations: v.array(
        v.strictObject({
          rule: text,
          says: text,
          log_id: v.optional(text),
          email_id: v.optional(text),
          channel: v.optional(text),
        }),
      ),
    }),
  ),
  error: v.nullable(text),
});
export type VerificationView = Out<typeof verificationView>;

/** Null: there was none yet. */
export const latestVerification = v.strictObject({ verification: v.nullable(verificationView) });

/** Newest first. */
export const operationList = v.strictObject({ operations: v.array(operationView), ...nextPage });

/** Newest first; by default of the last 7 days. */
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

const auditRecord = v.strictObject({
  audit_id: v.string(),
  at: time,
  who: v.string(),
  role: v.string(),
  what: v.string(),
  on: v.array(v.string()),
  targets: count,
  request_id: v.string(),
  result: v.exactOptional(counts),
  details: v.exactOptional(v.string()),
});

export const auditList = v.strictObject({ entries: v.array(auditRecord), ...nextPage });
