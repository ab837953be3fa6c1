import * as v from 'valibot';
import type { Newsletter } from '../../core/newsletter/model/email.ts';
import { SHOWN_STATES } from '../../core/newsletter/model/recipient-state.ts';
import type { EmailSummary, EmailView } from '../../core/newsletter/views/email-view.ts';
import type { RecipientView } from '../../core/newsletter/views/list-recipients.ts';
import { cursor, id, limit, requestId } from './fields.ts';
import type { NextPage, ShellCommand } from './page.ts';

/** `GET /api/newsletters?tenant=`: of all tenants without one. */
export const newslettersQuery = v.strictObject({ tenant: v.optional(id), cursor });

export interface NewsletterList extends NextPage {
  readonly newsletters: readonly Newsletter[];
}

/** `GET /api/emails?tenant=`: a tenant's e-mails, newest first. */
export const emailsQuery = v.strictObject({ tenant: id, cursor });

export interface EmailList extends NextPage {
  readonly emails: readonly EmailSummary[];
}

export const EMAIL_ACTIONS = ['retry', 'pause', 'resume', 'cancel'] as const;
export type EmailAction = (typeof EMAIL_ACTIONS)[number];

/** `GET /api/emails/{email_id}`. */
export interface EmailDetail {
  readonly tenant_id: string;
  readonly subject: string | null;
  readonly email: EmailView;
  /** What the status allows. */
  readonly actions: readonly EmailAction[];
  readonly commands: readonly ShellCommand[];
}

/** `GET /api/emails/{email_id}/recipients?state=`: without addresses and names. */
export const recipientsQuery = v.strictObject({ state: v.optional(v.picklist(SHOWN_STATES)), limit, cursor });

export interface RecipientList extends NextPage {
  readonly recipients: readonly RecipientView[];
}

/** `POST /api/emails/{email_id}/{retry|pause|resume|cancel}`. */
export const emailActionBody = v.strictObject({ request_id: requestId });
/** `POST /api/emails/{email_id}/resolve`: decides about the uncertain recipients. */
export const resolveBody = v.strictObject({ request_id: requestId, action: v.picklist(['resend', 'leave']) });

export interface EmailActionAnswer {
  readonly email_id: string;
  readonly status: EmailSummary['status'];
}

/** What was decided about; what was not, where there is any. */
export interface ResolveAnswer extends EmailActionAnswer {
  /** Uncertain recipients that were decided about. */
  readonly resolved: number;
  /** There are more: they are decided about in the background. */
  readonly continued?: boolean;
  /** Batches that are being sent just now: resolve again afterwards. */
  readonly busy?: number;
  /** Recipients left uncertain, because SES's events may still tell of them. */
  readonly waiting?: number;
  /** When all of these may be decided about. */
  readonly waiting_until?: string;
}
