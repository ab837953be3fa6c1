import * as v from 'valibot';
import type { Exclusion } from '../../core/operator/operations/exclusions.ts';
import type { NotificationView } from '../../core/operator/views/notification-view.ts';
import { cursor, limit, requestId } from './fields.ts';
import { filterFields } from './notifications.ts';
import type { NextPage } from './page.ts';

/**
 * `redrive`: given-up notifications start anew with a full budget. `retry`: what waits for its retry is attempted now.
 * `cancel`: what waits is ended. `give_up`: dead notifications leave the list for good.
 */
export const OPERATION_KINDS = ['redrive', 'retry', 'cancel', 'give_up'] as const;
export type OperationKind = (typeof OPERATION_KINDS)[number];

/**
 * `previewing` counts what matches, `ready` waits for its start. `pausing` and `cancelling` end with the page in
 * progress. `failed` can be resumed, too.
 */
export const OPERATION_STATUSES = ['previewing', 'ready', 'running', 'paused', 'done', 'cancelled', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export const operationFilter = v.strictObject(filterFields);
export type OperationFilter = v.InferOutput<typeof operationFilter>;

/** `POST /api/operations`: makes the operation and its preview; nothing is changed before `start`. */
export const createOperationBody = v.strictObject({
  request_id: requestId,
  kind: v.picklist(OPERATION_KINDS),
  filter: operationFilter,
  /** Notifications a second. */
  rate: v.optional(v.pipe(v.number(), v.minValue(0.1), v.maxValue(500)), 100),
  /** The most rows. */
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  /** Redrive: leave out what was created longer ago. */
  max_age_hours: v.optional(v.pipe(v.number(), v.minValue(0))),
  /** Redrive: include wrong recipients, cancelled ones, and those taken off the list. */
  include_stopped: v.optional(v.boolean(), false),
});

/** `POST /api/operations/{operation_id}/{start|pause|resume|cancel}`. */
export const operationActionBody = v.strictObject({ request_id: requestId });

export const OPERATION_ACTIONS = ['start', 'pause', 'resume', 'cancel'] as const;
export type OperationAction = (typeof OPERATION_ACTIONS)[number];

export const operationsQuery = v.strictObject({ limit, cursor });

/** Counts of one pass. `excluded` says why what matched was left out. */
export interface OperationCounts {
  readonly matched: number;
  /** Changed by the operation, or in a preview: would be. */
  readonly taken: number;
  /** Taken, but SQS did not take the message: the next sweep sends it. */
  readonly left_to_sweep: number;
  readonly excluded: Readonly<Partial<Record<Exclusion | 'not_waiting' | 'failed', number>>>;
}

export interface OperationView {
  readonly operation_id: string;
  readonly kind: OperationKind;
  readonly status: OperationStatus;
  /** What the operator asked for, and the running page has not done yet. */
  readonly wanted: 'pause' | 'cancel' | null;
  readonly filter: OperationFilter;
  readonly rate: number;
  readonly limit: number | null;
  /** Nothing that came after this time is taken. */
  readonly cut_off: string;
  readonly created_by: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Absent until the preview has ended. */
  readonly preview: OperationCounts | null;
  /** The first few that would be taken. */
  readonly sample: readonly NotificationView[];
  /** Their ids; a list of operations has these alone. */
  readonly sample_log_ids: readonly string[];
  readonly progress: OperationCounts;
  /** Per second over the last pages; null: not running. */
  readonly rate_now: number | null;
  readonly eta: string | null;
  /** Why it failed, and what to do. */
  readonly error: string | null;
  /** What is possible now. */
  readonly actions: readonly OperationAction[];
  readonly command: string | null;
}

/** `GET /api/operations`: newest first. `GET /api/operations/{operation_id}` answers one OperationView. */
export interface OperationList extends NextPage {
  readonly operations: readonly OperationView[];
}
