import * as v from 'valibot';
import { PUBLIC_STATES } from '../../../core/intake/public-state.ts';
import { CHANNELS, PRIORITIES } from '../../../core/model/channels.ts';
import { ERROR_TYPES } from '../../../core/model/error-types.ts';
import { PROBLEMS, type ProblemName, problemType } from '../../../core/model/problem.ts';
import { whole as count, instant as time } from '../fields.ts';

/** A schema, and what the OpenAPI document says of it. */
/* @__NO_SIDE_EFFECTS__ */
export function described<S extends v.GenericSchema>(schema: S, text: string) {
  return v.pipe(schema, v.description(text));
}

/** What the API answers. The tests validate every answer by these schemas. */

const status = described(
  v.picklist(PUBLIC_STATES),
  'saving: stored, waits for its time; processing: first attempt due or under way; done: the provider accepted it; ' +
    'retrying: an attempt failed, another one follows automatically; ' +
    'failed: no further attempt, except under its successor_log_id',
);

const fault = v.object({
  path: described(v.string(), 'Place in the body, or name of the parameter. Empty for the whole request'),
  rule: described(v.string(), 'Name of the broken rule'),
  message: v.string(),
});

const NAMES = Object.keys(PROBLEMS) as ProblemName[];
export const problem = v.object({
  type: v.picklist(NAMES.map(problemType)),
  title: v.string(),
  status: v.pipe(v.number(), v.integer()),
  detail: v.string(),
  errors: v.optional(described(v.array(fault), 'At most 50. The last one gives the number of the others')),
});

export const accepted = v.object({ log_id: v.string(), status, status_url: v.string() });

const acceptedItem = v.strictObject({
  index: count,
  status: v.literal(202),
  log_id: v.string(),
  notification_status: status,
  status_url: v.string(),
  // No constant: generators of clients stumble over a boolean constant.
  repeat: v.optional(described(v.boolean(), 'Always true, if present')),
});
const refusedItem = v.strictObject({ index: count, status: v.picklist([400, 409, 503]), problem });
export const batchResults = v.object({ results: v.array(v.union([acceptedItem, refusedItem])) });

/** Two names among others in snake_case. */
const AS_SPECIFIED = 'Spelled as its specification names it, unlike the fields of ours';

const summaryEntries = {
  log_id: v.string(),
  channel: v.optional(
    described(v.picklist(CHANNELS), 'Absent on a row of another writer that names no channel that exists'),
  ),
  priority: v.picklist(PRIORITIES),
  status,
  canRetry: described(v.boolean(), `Whether a retry is possible. ${AS_SPECIFIED}`),
  errorMessage: v.optional(described(v.string(), `For people. ${AS_SPECIFIED}`)),
  retry_count: count,
  next_retry_at: v.optional(time),
  error_details: v.optional(
    described(v.string(), 'The last failure while it fails or has failed: JSON, except on rows of other writers'),
  ),
  created_at: v.optional(time),
  scheduled_at: v.optional(time),
  sent_at: v.optional(time),
  delivered_at: v.optional(time),
  notification_id: v.optional(v.string()),
  successor_log_id: v.optional(
    described(v.string(), 'It failed and continues on its fallback channel as this notification: request that one'),
  ),
  predecessor_log_id: v.optional(described(v.string(), 'The notification whose fallback this is')),
  job_type: v.optional(described(v.string(), 'Its template_id: what kind of job it is')),
  error_type: v.optional(described(v.picklist(ERROR_TYPES), 'The last error, if it failed')),
  failed_at: v.optional(described(time, 'When it was given up, if it failed')),
  retryable: v.optional(described(v.boolean(), 'Whether a retry may help, if it failed')),
};
const attempt = v.object({
  attempt: described(count, '0 is the first send'),
  at: time,
  status: v.picklist(['SUCCESS', 'FAILED', 'SKIPPED']),
  error_type: v.optional(v.picklist(ERROR_TYPES)),
  response_code: v.optional(v.string()),
  error_details: v.optional(
    described(v.string(), "JSON: the provider's answer, or what held the attempt; shortened, addresses masked"),
  ),
});

export const notificationState = v.object({
  ...summaryEntries,
  writer_response_message: v.optional(described(v.string(), 'Noted by whoever wrote the row; addresses masked')),
  writer_error_details: v.optional(described(v.string(), 'Noted by whoever wrote the row; addresses masked')),
  attempts: v.array(attempt),
});
export const notificationList = v.object({
  notifications: v.array(v.object(summaryEntries)),
  next_cursor: v.nullable(described(v.string(), 'For the next page. A page may be short or even empty')),
});
