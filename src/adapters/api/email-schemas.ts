import * as v from 'valibot';
import { BATCH_STATUSES } from '../../core/newsletter/model/batch.ts';
import { EMAIL_STATUSES, FORMATS } from '../../core/newsletter/model/email.ts';
import { EVENT_KINDS, SHOWN_STATES } from '../../core/newsletter/model/recipient-state.ts';
import { EMAIL_PHASES } from '../../core/newsletter/views/email-view.ts';
import { address, newsletterId } from './newsletter-schemas.ts';
import { line, moment, objectMessage, text } from './request-schemas.ts';

/** What the routes of emails accept and answer. */

/** Most characters; in UTF-8, a body has at most as many bytes. */
export const MAX_BODY = 262_144;
/** A week. */
const MAX_WINDOW = 7 * 24 * 60;
const WINDOW = `must be a whole number of minutes, 1 to ${MAX_WINDOW}`;
const MAX_TEST_ADDRESSES = 10;

export const emailSchema = v.strictObject(
  {
    newsletter_id: newsletterId,
    subject: v.pipe(line(500), v.description('May have merge fields, such as {first_name, "there"}')),
    body: v.pipe(
      text(MAX_BODY),
      v.description('At most 256 KB. May have merge fields, and parts for some members: <div data-gh-segment="…">'),
    ),
    format: v.picklist(FORMATS, `must be one of ${FORMATS.join(', ')}`),
    segment: v.optional(
      v.pipe(text(2_000), v.description('NQL, such as status:paid+label:vip. Default: every subscribed member')),
    ),
    scheduled_at: v.optional(v.pipe(moment, v.description('When to send it. Default: at once. At most a year ahead'))),
    delivery_window_minutes: v.optional(
      v.pipe(
        v.number(WINDOW),
        v.integer(WINDOW),
        v.minValue(1, WINDOW),
        v.maxValue(MAX_WINDOW, WINDOW),
        v.description('Minutes over which the batches are spread'),
      ),
    ),
  },
  objectMessage,
);

export const testSchema = v.strictObject(
  {
    to: v.pipe(
      v.array(address, 'must be a list'),
      v.minLength(1, `must have 1 to ${MAX_TEST_ADDRESSES} addresses`),
      v.maxLength(MAX_TEST_ADDRESSES, `must have 1 to ${MAX_TEST_ADDRESSES} addresses`),
    ),
  },
  objectMessage,
);

export const resolveSchema = v.strictObject(
  { action: v.picklist(['resend', 'leave'], 'must be one of resend, leave') },
  objectMessage,
);

const cursor = v.optional(v.pipe(v.string(), v.minLength(1), v.description('next_cursor of the page before')));
const limit = v.optional(
  v.pipe(v.string(), v.regex(/^([1-9]\d?|[1-4]\d\d|500)$/, 'must be 1 to 500'), v.description('1 to 500')),
  '100',
);
export const emailListQuery = v.strictObject({ cursor }, objectMessage);
export const batchListQuery = v.strictObject({ cursor, limit }, objectMessage);
export const recipientListQuery = v.strictObject(
  { state: v.optional(v.picklist(SHOWN_STATES, `must be one of ${SHOWN_STATES.join(', ')}`)), cursor, limit },
  objectMessage,
);

const time = v.pipe(v.string(), v.isoTimestamp());
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const byReason = v.record(v.string(), count);
const nextCursor = v.pipe(v.nullable(v.string()), v.description('null on the last page'));

const summaryEntries = {
  email_id: v.string(),
  newsletter_id: v.string(),
  status: v.picklist(EMAIL_STATUSES),
  phase: v.picklist(EMAIL_PHASES),
  email_count: v.pipe(v.nullable(count), v.description('Members found; null until they are counted')),
  segment: v.exactOptional(v.string()),
  scheduled_at: v.exactOptional(time),
  delivery_window_minutes: v.exactOptional(count),
  submitted_at: v.exactOptional(time),
  error: v.exactOptional(v.string()),
  error_code: v.exactOptional(v.string()),
  created_at: time,
};
const stateCounts = v.entriesFromList(SHOWN_STATES, count);

export const acceptedEmail = v.strictObject({ email_id: v.string(), status: v.picklist(EMAIL_STATUSES) });
export const resolvedEmail = v.strictObject({
  ...acceptedEmail.entries,
  resolved: v.pipe(count, v.description('Uncertain recipients that were decided about')),
  continued: v.exactOptional(
    v.pipe(v.boolean(), v.description('True where there are more: they are decided about in the background')),
  ),
  busy: v.exactOptional(
    v.pipe(count, v.description('Batches that are being sent just now, where there are any: resolve again afterwards')),
  ),
  waiting: v.exactOptional(
    v.pipe(count, v.description('Recipients left uncertain, where there are any: events may still tell of them')),
  ),
  waiting_until: v.exactOptional(v.pipe(time, v.description('When all that wait may be sent to again: resolve then'))),
});
export const emailList = v.strictObject({ emails: v.array(v.strictObject(summaryEntries)), next_cursor: nextCursor });
export const emailState = v.strictObject({
  ...summaryEntries,
  counts: v.strictObject({
    recipients: v.pipe(count, v.description('pending + submitted + excluded + failed + uncertain, at every read')),
    ...stateCounts,
    delivered: count,
    opened: count,
    machine_opened: count,
    clicked: count,
    machine_clicked: count,
    bounced: count,
    complained: count,
    unsubscribed: count,
  }),
  uncertain_left: v.pipe(count, v.description('Uncertain recipients that an operator left so')),
  excluded_by_reason: byReason,
  failed_by_reason: byReason,
  batches: v.strictObject(v.entriesFromList(BATCH_STATUSES, count)),
  rate: v.strictObject({
    now: v.pipe(v.nullable(v.number()), v.description('Recipients per second in the last minute')),
    allowed: v.pipe(v.nullable(v.number()), v.description('What the account may send per second now')),
  }),
  eta: v.exactOptional(v.pipe(time, v.description('When the last recipient is expected to be sent'))),
});

export const emailBatchList = v.strictObject({
  batches: v.array(
    v.strictObject({
      email_id: v.string(),
      batch_id: v.string(),
      status: v.picklist(BATCH_STATUSES),
      member_segment: v.string(),
      fallback_sending_domain: v.boolean(),
      chunks: count,
      counts: v.strictObject(stateCounts),
      excluded_by_reason: byReason,
      failed_by_reason: byReason,
      uncertain_left: v.exactOptional(count),
      not_before: v.exactOptional(time),
      provider_id: v.exactOptional(v.string()),
      error_status_code: v.exactOptional(count),
      error_message: v.exactOptional(v.string()),
      error_data: v.exactOptional(v.string()),
      created_at: time,
      updated_at: time,
    }),
  ),
  next_cursor: nextCursor,
});

export const recipientList = v.strictObject({
  recipients: v.array(
    v.strictObject({
      recipient_id: v.string(),
      batch_id: v.string(),
      member_id: v.string(),
      member_uuid: v.string(),
      member_email: v.exactOptional(
        v.pipe(v.string(), v.description('Only for keys with the scope newsletters:write')),
      ),
      member_name: v.exactOptional(v.string()),
      state: v.picklist(SHOWN_STATES),
      reason: v.exactOptional(v.string()),
      message_id: v.exactOptional(v.string()),
      processed_at: v.exactOptional(time),
      events: v.array(v.picklist(EVENT_KINDS)),
    }),
  ),
  next_cursor: nextCursor,
});

export const testResults = v.strictObject({
  results: v.array(
    v.strictObject({
      index: count,
      accepted: v.boolean(),
      message_id: v.exactOptional(v.string()),
      reason: v.exactOptional(v.string()),
      message: v.exactOptional(v.string()),
    }),
  ),
});
