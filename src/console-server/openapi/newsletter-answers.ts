import * as v from 'valibot';
import { EMAIL_ACTIONS } from '../../console-api/newsletters.ts';
import { BATCH_STATUSES } from '../../core/newsletter/model/batch.ts';
import { EVENT_KINDS } from '../../core/newsletter/model/delivery-bits.ts';
import { EMAIL_STATUSES } from '../../core/newsletter/model/email.ts';
import { SHOWN_STATES } from '../../core/newsletter/model/recipient-state.ts';
import { EMAIL_PHASES } from '../../core/newsletter/views/email-view.ts';
import { count, counts, nextPage, shellCommand, time } from './parts.ts';

const newsletter = v.strictObject({
  tenant_id: v.string(),
  newsletter_id: v.string(),
  name: v.string(),
  from: v.string(),
  reply_to: v.exactOptional(v.string()),
  sending_domain: v.exactOptional(v.string()),
  fallback_domain: v.exactOptional(v.string()),
  created_at: time,
  updated_at: time,
});

export const newsletterList = v.strictObject({ newsletters: v.array(newsletter), ...nextPage });

const status = v.picklist(EMAIL_STATUSES);

const summary = {
  email_id: v.string(),
  newsletter_id: v.string(),
  status,
  phase: v.picklist(EMAIL_PHASES),
  email_count: v.nullable(count),
  segment: v.exactOptional(v.string()),
  scheduled_at: v.exactOptional(time),
  delivery_window_minutes: v.exactOptional(count),
  submitted_at: v.exactOptional(time),
  error: v.exactOptional(v.string()),
  error_code: v.exactOptional(v.string()),
  created_at: time,
} as const;

export const emailList = v.strictObject({ emails: v.array(v.strictObject(summary)), ...nextPage });

const email = v.strictObject({
  ...summary,
  counts: v.strictObject({
    recipients: count,
    ...v.entriesFromList(SHOWN_STATES, count),
    delivered: count,
    opened: count,
    machine_opened: count,
    clicked: count,
    machine_clicked: count,
    bounced: count,
    complained: count,
    unsubscribed: count,
  }),
  uncertain_left: count,
  excluded_by_reason: counts,
  failed_by_reason: counts,
  batches: v.strictObject(v.entriesFromList(BATCH_STATUSES, count)),
  rate: v.strictObject({ now: v.nullable(count), allowed: v.nullable(count) }),
  eta: v.exactOptional(time),
});

export const emailDetail = v.strictObject({
  tenant_id: v.string(),
  subject: v.nullable(v.string()),
  email,
  actions: v.array(v.picklist(EMAIL_ACTIONS)),
  commands: v.array(shellCommand),
});

const recipient = v.strictObject({
  recipient_id: v.string(),
  batch_id: v.string(),
  member_id: v.string(),
  member_uuid: v.string(),
  state: v.picklist(SHOWN_STATES),
  reason: v.exactOptional(v.string()),
  message_id: v.exactOptional(v.string()),
  processed_at: v.exactOptional(time),
  events: v.array(v.picklist(EVENT_KINDS)),
});

export const recipientList = v.strictObject({ recipients: v.array(recipient), ...nextPage });

export const emailActionAnswer = v.strictObject({
  email_id: v.string(),
  status,
  resolved: v.exactOptional(count),
});
