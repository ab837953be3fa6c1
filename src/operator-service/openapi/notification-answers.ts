import * as v from 'valibot';
import { REQUESTED_BY } from '../../core/model/notification.ts';
import { ACTIONS } from '../contract/notifications.ts';
import { operationFilter } from '../contract/operations.ts';
import { channel, count, counts, errorType, nextPage, notificationView, shellCommand, time } from './parts.ts';

export const notificationList = v.strictObject({ notifications: v.array(notificationView), ...nextPage });

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
  held: v.exactOptional(v.string()),
});

const actionCheck = v.variant('possible', [
  v.strictObject({ possible: v.literal(true) }),
  v.strictObject({ possible: v.literal(false), because: v.string() }),
]);

export const notificationDetail = v.strictObject({
  notification: notificationView,
  attempts: v.array(attempt),
  remedy: v.nullable(v.string()),
  actions: v.strictObject(v.entriesFromList(ACTIONS, actionCheck)),
  commands: v.array(shellCommand),
});

export const actionAnswer = v.strictObject({
  request_id: v.string(),
  dry_run: v.boolean(),
  repeated: v.boolean(),
  results: v.array(
    v.strictObject({
      log_id: v.string(),
      result: v.picklist(['queued', 'cancelled', 'given_up', 'ended', 'refused', 'failed', 'not_found']),
      because: v.exactOptional(v.string()),
    }),
  ),
  command: v.string(),
});

const group = v.strictObject({
  group_id: v.string(),
  channel,
  failure_reason: errorType,
  error_type: v.nullable(errorType),
  integration: v.nullable(v.string()),
  error_message: v.nullable(v.string()),
  response_code: v.nullable(v.string()),
  count,
  tenants: count,
  oldest_at: time,
  newest_at: time,
  sample: v.array(v.string()),
  remedy: v.string(),
  repair: v.nullable(shellCommand),
  filter: operationFilter,
  commands: v.array(shellCommand),
});

export const deadLetters = v.strictObject({ groups: v.array(group), total: count, complete: v.boolean() });

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
