import * as v from 'valibot';
import { PRIORITIES } from '../../core/model/channels.ts';
import { EVIDENCE, REQUESTED_BY } from '../../core/model/notification.ts';
import { ACTIONS, type ConditionName, LAST_ERRORS, LIST_STATUSES, MOST_CHOSEN } from './choices.ts';
import {
  channel,
  count,
  cursor,
  errorType,
  id,
  limit,
  moment,
  nextPage,
  notificationView,
  type Out,
  requestId,
  shellLine,
  time,
} from './fields.ts';

/** Of a filter: what its conditions take. */
export const filterFields = {
  channel: v.optional(channel),
  priority: v.optional(v.picklist(PRIORITIES)),
  tenant: v.optional(id),
  error_type: v.optional(errorType),
  failure_reason: v.optional(errorType),
  last_error: v.optional(v.picklist(LAST_ERRORS)),
  integration: v.optional(id),
  recipient_hash: v.optional(v.pipe(v.string(), v.regex(/^[\w.-]{20,2500}$/))),
  from: v.optional(moment),
  to: v.optional(moment),
} as const satisfies Readonly<Record<ConditionName, v.GenericSchema>>;

/** Newest first, `dead` by their death; `due` with what is due first. By default of the last 24 hours. */
export const notificationsQuery = v.strictObject({
  status: v.optional(v.picklist(LIST_STATUSES)),
  ...filterFields,
  /** A log_id, or with `tenant` a notification_id, of any age; else the beginning of either, within the period. */
  q: v.optional(id),
  limit,
  cursor,
});

/** No recipient and no content. */
export const notificationList = v.strictObject({
  notifications: v.array(notificationView),
  ...nextPage,
  /** Not in the order of time: more tenants sent on a day than can be merged. */
  by_tenant: v.exactOptional(v.literal(true)),
});
export type NotificationList = Out<typeof notificationList>;

/** For the filter. */
export const recipientHashBody = v.strictObject({
  /** Of any without one, for lists. */
  tenant: v.optional(id),
  recipient: v.pipe(v.string(), v.minLength(1), v.maxLength(500)),
});

/** As it is stored now: its writer may have corrected it between two attempts. */
export const sentContent = v.strictObject({
  recipient: v.string(),
  subject: v.exactOptional(v.string()),
  body: v.string(),
  format: v.string(),
});
export type SentContent = Out<typeof sentContent>;

const askedBy = v.strictObject({ who: v.string(), what: v.string(), operation_id: v.exactOptional(v.string()) });
export type AskedBy = Out<typeof askedBy>;

/** An attempt, newest last, with the provider's own answer. */
const attempt = v.strictObject({
  retry_log_id: v.string(),
  original_log_id: v.string(),
  retry_attempt: count,
  tenant_id: v.string(),
  channel,
  retry_at: time,
  retry_status: v.picklist(['SUCCESS', 'FAILED', 'SKIPPED']),
  error_type: v.exactOptional(errorType),
  error_details: v.exactOptional(v.string()),
  failure_reason: v.exactOptional(errorType),
  next_retry_at: v.exactOptional(time),
  uncounted: v.exactOptional(v.literal(true)),
  response_code: v.exactOptional(v.string()),
  response_message: v.exactOptional(v.string()),
  provider_message_id: v.exactOptional(v.string()),
  duration_ms: count,
  trigger: v.picklist(['sweep', 'manual', 'redrive']),
  requested_by: v.exactOptional(v.picklist(REQUESTED_BY)),
  remedy: v.exactOptional(v.string()),
  run_id: v.string(),
  /** What delivery events have shown of it. */
  evidence: v.exactOptional(v.picklist(EVIDENCE)),
  /** W3C Trace Context: the attempt's span in its producer's trace. */
  traceparent: v.exactOptional(v.string()),
  /** What held the attempt back, in words; absent: it was made. */
  held: v.exactOptional(v.string()),
  /** Who asked for it: by an operation, or by an action of the audit log. */
  asked_by: v.exactOptional(askedBy),
});
export type AttemptView = Out<typeof attempt>;
/** What an answer shows of a stored record, which also says who claimed the attempt and when it expires. */
export const ATTEMPT_FIELDS: ReadonlySet<string> = new Set(Object.keys(attempt.entries));

/** Whether an action is possible now, and why not. `give_up` takes a dead notification off the list for good. */
const actionCheck = v.variant('possible', [
  v.strictObject({ possible: v.literal(true) }),
  v.strictObject({ possible: v.literal(false), because: v.string() }),
]);
export type ActionCheck = Out<typeof actionCheck>;

export const notificationDetail = v.strictObject({
  notification: notificationView,
  attempts: v.array(attempt),
  /** What a person should do about the failure; null when nothing is left to do. */
  remedy: v.nullable(v.string()),
  actions: v.strictObject(v.entriesFromList(ACTIONS, actionCheck)),
  /** Whether its recipient, text or integration can be corrected. */
  correction: actionCheck,
  commands: v.array(shellLine),
});
export type NotificationDetail = Out<typeof notificationDetail>;

/** The same request_id again gives the same answer, and acts once. */
export const actionBody = v.strictObject({
  request_id: requestId,
  action: v.picklist(ACTIONS),
  log_ids: v.pipe(v.array(id), v.minLength(1), v.maxLength(MOST_CHOSEN)),
  /** updated_at by log_id, as a person saw it: what has changed since is refused. */
  shown: v.optional(v.record(id, v.string())),
  /** Says what the action would do. */
  dry_run: v.optional(v.boolean(), false),
});

export const actionAnswer = v.strictObject({
  request_id: v.string(),
  dry_run: v.boolean(),
  /** Whether an earlier request with this id did it. */
  repeated: v.boolean(),
  results: v.array(
    v.strictObject({
      log_id: v.string(),
      /** `queued`, `cancelled`, `given_up` (dry run: would be); `ended`, `refused`, `failed`, `not_found`: because. */
      result: v.picklist(['queued', 'cancelled', 'given_up', 'ended', 'refused', 'failed', 'not_found']),
      because: v.exactOptional(v.string()),
    }),
  ),
  command: v.string(),
});
export type ActionAnswer = Out<typeof actionAnswer>;

/** What an operator may put in place of what a notification has. */
export const CORRECTED = ['recipient', 'subject', 'body', 'integration_config_id'] as const;
export type CorrectedField = (typeof CORRECTED)[number];

const written = (most: number) =>
  v.pipe(
    v.string(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(most, `must have at most ${most} characters`),
    v.check((text) => text.isWellFormed(), 'must be well-formed Unicode'),
  );

/** What is absent stays as it is. The lengths are those of the table document, and of the API. */
export const correctedEntries = {
  recipient: v.optional(written(500)),
  subject: v.optional(written(500)),
  body: v.optional(written(262_144)),
  integration_config_id: v.optional(written(50)),
};

export const correctBody = v.strictObject({
  request_id: requestId,
  ...correctedEntries,
  /** updated_at, as a person saw it: what has changed since is refused. */
  shown: v.optional(v.string()),
  /** Says what would change. */
  dry_run: v.optional(v.boolean(), false),
});

/** Kept by the audit log for a repeated request: it says neither an address nor a text. */
export const correctAnswer = v.strictObject({
  request_id: v.string(),
  dry_run: v.boolean(),
  repeated: v.boolean(),
  /** `queued`: it is sent in another life. */
  result: v.picklist(['queued', 'refused', 'not_found']),
  because: v.exactOptional(v.string()),
  /** When: now, or at the time that it is scheduled for. */
  due: v.exactOptional(time),
  /** An address masked, a text by its length. */
  changes: v.array(v.strictObject({ field: v.picklist(CORRECTED), from: v.string(), to: v.string() })),
  command: v.string(),
});
export type CorrectAnswer = Out<typeof correctAnswer>;
