import * as v from 'valibot';
import { BATCH_STATUSES, SHOWN_STATES } from '../../core/newsletter/model/batch.ts';
import { EVENT_KINDS } from '../../core/newsletter/model/batch-events.ts';
import { EMAIL_STATUSES } from '../../core/newsletter/model/email.ts';
import { EMAIL_PHASES, WAITS } from '../../core/newsletter/views/email-view.ts';
import { whole as count, instant as time } from './fields.ts';

/** What the API and the console answer about emails. */

const byReason = v.record(v.string(), count);
const nextCursor = v.pipe(v.nullable(v.string()), v.description('null on the last page'));

const summaryEntries = {
  email_id: v.string(),
  newsletter_id: v.string(),
  subject: v.exactOptional(v.pipe(v.string(), v.description('Its beginning'))),
  status: v.picklist(EMAIL_STATUSES),
  phase: v.picklist(EMAIL_PHASES),
  email_count: v.pipe(v.nullable(count), v.description('Members to send to; null until they are counted')),
  segment: v.exactOptional(v.string()),
  scheduled_at: v.exactOptional(time),
  delivery_window_minutes: v.exactOptional(count),
  submitted_at: v.exactOptional(time),
  error: v.exactOptional(v.string()),
  error_code: v.exactOptional(v.string()),
  held: v.exactOptional(
    v.pipe(
      v.strictObject({
        reason: v.picklist(['bounced', 'complained']),
        count,
        sent: count,
        at: time,
        message: v.pipe(v.string(), v.description('Why, and what is right')),
      }),
      v.description('The email paused itself: too many mails bounced, or were complained about'),
    ),
  ),
  created_at: time,
};
const stateCounts = v.entriesFromList(SHOWN_STATES, count);

export const acceptedEmail = v.strictObject({
  email_id: v.string(),
  status: v.picklist(EMAIL_STATUSES),
  warnings: v.exactOptional(
    v.pipe(v.array(v.string()), v.description('Of a publication: what the mail lacks by law, as sentences')),
  ),
});
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
const share = v.pipe(v.number(), v.minValue(0));
export const emailList = v.strictObject({
  emails: v.array(
    v.strictObject({
      ...summaryEntries,
      rates: v.exactOptional(
        v.pipe(
          v.strictObject({ delivered: share, opened: share, clicked: share, bounced: share }),
          v.description('Shares of the mails, in the console; of submitted emails with at most 20,000 recipients'),
        ),
      ),
    }),
  ),
  next_cursor: nextCursor,
});
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
    soft_bounced: v.pipe(count, v.description('For the time being: the address is kept')),
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
  waits: v.exactOptional(
    v.pipe(
      v.strictObject({
        for: v.picklist(WAITS),
        until: time,
        asks_at: v.exactOptional(v.pipe(time, v.description('When it asks whether it may go on'))),
        message: v.exactOptional(v.pipe(v.string(), v.description('Why it holds, for people'))),
      }),
      v.description('What an email waits for, until when as far as anybody can tell, and when it asks again'),
    ),
  ),
});

export const emailBatchList = v.strictObject({
  batches: v.array(
    v.strictObject({
      email_id: v.string(),
      batch_id: v.string(),
      status: v.picklist(BATCH_STATUSES),
      member_segment: v.pipe(
        v.string(),
        v.description('Segments of the parts that it shows; beyond 200 characters their beginning'),
      ),
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

export const recipient = v.strictObject({
  recipient_id: v.string(),
  batch_id: v.string(),
  member_id: v.string(),
  member_uuid: v.string(),
  member_email: v.exactOptional(v.pipe(v.string(), v.description('Only for keys with the scope newsletters:write'))),
  member_name: v.exactOptional(v.string()),
  state: v.picklist(SHOWN_STATES),
  reason: v.exactOptional(v.string()),
  message_id: v.exactOptional(v.string()),
  processed_at: v.exactOptional(time),
  events: v.array(v.picklist(EVENT_KINDS)),
});

export const recipientList = v.strictObject({ recipients: v.array(recipient), next_cursor: nextCursor });

export const dryRunAnswer = v.strictObject({
  dry_run: v.literal(true),
  email_id: v.pipe(v.string(), v.description('The id that the email would have')),
  status: v.picklist(['running', 'done']),
  members: v.exactOptional(v.pipe(count, v.description('While it runs: members that were looked at'))),
  recipients: v.exactOptional(v.pipe(count, v.description('Who would get a mail'))),
  excluded: v.exactOptional(count),
  excluded_by_reason: v.exactOptional(byReason),
  renderings: v.exactOptional(
    v.array(
      v.strictObject({
        segments: v.pipe(v.array(v.string()), v.description('Segments of the parts that are shown')),
        recipients: count,
      }),
    ),
  ),
  other_recipients: v.exactOptional(
    v.pipe(count, v.description('Recipients of further renderings, of which there are too many to list')),
  ),
  missing_fields: v.exactOptional(
    v.pipe(byReason, v.description('Recipients without a value, by merge field without a fallback')),
  ),
  error: v.exactOptional(v.pipe(v.string(), v.description('Why it would not be sent at all'))),
  warnings: v.exactOptional(
    v.pipe(v.array(v.string()), v.description('What recipients would not see as it is meant, as sentences')),
  ),
});

export const previewedMail = {
  member_id: v.exactOptional(v.pipe(v.string(), v.description('Absent: sample values, in all parts'))),
  subject: v.string(),
  headers: v.pipe(v.record(v.string(), v.string()), v.description('Those that readers or their programs see')),
  text: v.string(),
  notes: v.pipe(v.array(v.string()), v.description('What is to be known of it, as sentences')),
};

export const mailPreview = v.strictObject({ ...previewedMail, html: v.string() });

export const acceptedOrDryRun = v.union([acceptedEmail, dryRunAnswer]);

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
