import * as v from 'valibot';
import { SHOWN_STATES } from '../../core/newsletter/model/batch.ts';
import { MAIL_LANGUAGES } from '../../core/newsletter/model/email.ts';
import {
  FILE_STANDINGS,
  MEMBER_STATUSES,
  SUBSCRIPTION_STATES,
  SUPPRESSION_REASONS,
} from '../../core/newsletter/model/member.ts';
import { emailEntries, testSchema } from './api/emails.ts';
import { label } from './api/newsletters.ts';
import { EMAIL_ACTIONS, MOST_FILE_BYTES } from './choices.ts';
import { emailState, recipient as ofApi, previewedMail, type resolvedEmail } from './emails.ts';
import { whole as count, cursor, id, limit, moment, nextPage, type Out, requestId, shellLine, time } from './fields.ts';

/** Of all tenants without one. */
export const newslettersQuery = v.strictObject({ tenant: v.optional(id), cursor });

const setUp = {
  newsletter_id: v.string(),
  name: v.string(),
  from: v.string(),
  reply_to: v.exactOptional(v.string()),
  sending_domain: v.exactOptional(v.string()),
  fallback_domain: v.exactOptional(v.string()),
  track: v.exactOptional(v.strictObject({ opens: v.boolean(), clicks: v.boolean() })),
  sender_name: v.exactOptional(v.string()),
  postal_address: v.exactOptional(v.string()),
  contact: v.exactOptional(v.string()),
  language: v.exactOptional(v.picklist(MAIL_LANGUAGES)),
  accent_color: v.exactOptional(v.string()),
  logo_url: v.exactOptional(v.string()),
};
export const newsletter = v.strictObject({ tenant_id: v.string(), ...setUp, created_at: time, updated_at: time });

export const newsletterList = v.strictObject({ newsletters: v.array(newsletter), ...nextPage });

/** The API's schema checks the rest. `known_at` is `updated_at` of what it replaces; null: there is none. */
export const newsletterBody = v.strictObject({
  request_id: requestId,
  tenant: id,
  ...setUp,
  known_at: v.nullable(moment),
});

/** A tenant's e-mails, newest first. */
export const emailsQuery = v.strictObject({ tenant: id, cursor });

export const emailDetail = v.strictObject({
  tenant_id: v.string(),
  subject: v.nullable(v.string()),
  email: emailState,
  /** What the status allows. */
  actions: v.array(v.picklist(EMAIL_ACTIONS)),
  commands: v.array(shellLine),
});
export type EmailDetail = Out<typeof emailDetail>;

/** An e-mail as somebody writes it, of a tenant; and with who gets a test of it. */
const draft = { ...emailEntries, scheduled_at: v.optional(moment) };
export const draftBody = v.strictObject({ request_id: requestId, tenant: id, ...draft });
export const draftTestBody = v.strictObject({ ...draftBody.entries, to: testSchema.entries.to });
/** The same of an e-mail that has not started. `known_at`: when that was written; absent: it replaces any. */
const written = { ...draft, known_at: v.optional(moment) };
export const replaceBody = v.strictObject({ request_id: requestId, ...written });
export const writtenEmail = v.strictObject(written);
export type EmailDraft = v.InferInput<typeof writtenEmail>;

/** The mail of a draft, or of an e-mail that is stored, as a member would get it; without a member: with sample values. */
export const draftPreviewBody = v.strictObject({ ...draftBody.entries, member_id: v.optional(id) });
export const previewBody = v.strictObject({ request_id: requestId, member_id: id });
export const mailPreview = v.strictObject({
  ...previewedMail,
  /** Its HTML for a frame of the page: without what loads or runs, pictures as places, styles apart. */
  frame: v.strictObject({ html: v.string(), styles: v.array(v.string()) }),
});
export type MailPreview = Out<typeof mailPreview>;

/** Without addresses and names. */
export const recipientsQuery = v.strictObject({ state: v.optional(v.picklist(SHOWN_STATES)), limit, cursor });

const recipient = v.omit(ofApi, ['member_email', 'member_name']);

export const recipientPage = v.strictObject({ recipients: v.array(recipient), ...nextPage });

export const memberQuery = v.strictObject({ tenant: id });
export const memberEmailsQuery = v.strictObject({ tenant: id, cursor });

/** What is known of an address, also where no member has it any more. */
const addressFacts = {
  suppressed: v.exactOptional(v.strictObject({ reason: v.picklist(SUPPRESSION_REASONS), at: time })),
  /** Times by newsletter. */
  unsubscribed: v.record(v.string(), time),
};

const memberEntries = {
  member_id: v.string(),
  status: v.picklist(MEMBER_STATUSES),
  labels: v.array(v.string()),
  newsletters: v.array(v.string()),
  /** Those of them whose mails the member gets: it did not leave them, and its address is not suppressed. */
  gets: v.array(v.string()),
  created_at: time,
  ...addressFacts,
};
export const memberDetail = v.strictObject({ tenant_id: v.string(), ...memberEntries });

/** Members by newsletter, or of all, and by where they stand with it. */
export const membersQuery = v.strictObject({
  tenant: id,
  newsletter: v.optional(id),
  state: v.optional(v.picklist(SUBSCRIPTION_STATES)),
  limit,
  cursor,
});
/** Without addresses and names. */
export const memberList = v.strictObject({
  members: v.array(v.strictObject({ ...memberEntries, state: v.picklist(SUBSCRIPTION_STATES) })),
  ...nextPage,
});
export type ListedMember = Out<typeof memberList>['members'][number];

/** A file of members, in base64, and what holds for all of them. */
const membersFile = {
  tenant: id,
  newsletter: v.optional(id),
  status: v.optional(v.picklist(MEMBER_STATUSES)),
  as: v.optional(v.picklist(FILE_STANDINGS)),
  labels: v.optional(v.array(label)),
  file_name: v.pipe(v.string(), v.maxLength(300)),
  content: v.pipe(v.string(), v.base64(), v.maxLength(Math.ceil(MOST_FILE_BYTES / 3) * 4)),
};
export const importPreviewBody = v.strictObject(membersFile);
/** `after`: the line after which it goes on. */
export const importBody = v.strictObject({ request_id: requestId, ...membersFile, after: v.optional(count) });
export const importedMembers = v.strictObject({
  /** The last line that was looked at. */
  line: count,
  created: count,
  changed: count,
  bad: count,
  /** Left out on purpose: deleted, or not confirmed. */
  skipped: count,
  unsubscribed: count,
  suppressed: count,
  /** The first of them. They quote nothing of a line. */
  faults: v.array(v.strictObject({ line: count, column: v.string(), rule: v.string(), message: v.string() })),
  /** The line after which the next request goes on; null at the end of the file. */
  next: v.nullable(count),
});
export type ImportedMembers = Out<typeof importedMembers>;

export const memberEmails = v.strictObject({
  emails: v.array(
    v.strictObject({
      email_id: v.string(),
      newsletter_id: v.string(),
      subject: v.exactOptional(v.string()),
      created_at: time,
      ...v.pick(recipient, ['reason', 'processed_at', 'events']).entries,
      /** `expired`: recipients are kept for the stage's `recipientDays`. `unreadable`: they were altered. */
      state: v.picklist([...SHOWN_STATES, 'expired', 'unreadable']),
    }),
  ),
  ...nextPage,
});
export type MemberEmail = Out<typeof memberEmails>['emails'][number];

/** Who is shown to an operator: a member by its id, or all members of an address. */
export const memberBody = v.strictObject({
  request_id: requestId,
  tenant: id,
  member_id: v.optional(id),
  address: v.optional(v.string()),
});
export const shownMembers = v.strictObject({
  members: v.array(v.strictObject({ member_id: v.string(), email: v.string(), name: v.exactOptional(v.string()) })),
  ...addressFacts,
});
export type ShownMembers = Out<typeof shownMembers>;

/** Decides about the uncertain recipients. */
export const resolveBody = v.strictObject({ request_id: requestId, action: v.picklist(['resend', 'leave']) });
export type ResolveAnswer = Out<typeof resolvedEmail>;
