import * as v from 'valibot';
import { emailState } from '../../adapters/api/email-schemas.ts';
import { EVENT_KINDS, SHOWN_STATES } from '../../core/newsletter/model/recipient-state.ts';
import { EMAIL_ACTIONS } from '../contract/newsletters.ts';
import { nextPage, shellCommand, time } from './parts.ts';

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

export const emailDetail = v.strictObject({
  tenant_id: v.string(),
  subject: v.nullable(v.string()),
  email: emailState,
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
