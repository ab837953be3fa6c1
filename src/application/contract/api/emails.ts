import * as v from 'valibot';
import { SHOWN_STATES } from '../../../core/newsletter/model/batch.ts';
import { FORMATS } from '../../../core/newsletter/model/email.ts';
import { described } from './answers.ts';
import { limitTo, line, moment, objectMessage, text } from './intake.ts';
import { address, cursor, memberEntries, newsletterId } from './newsletters.ts';

/** What the routes of emails accept. */

/** Most characters; in UTF-8, a body has at most as many bytes. */
export const MAX_BODY = 262_144;
/** A week. */
const MAX_WINDOW = 7 * 24 * 60;
const WINDOW = `must be a whole number of minutes, 1 to ${MAX_WINDOW}`;
const MAX_TEST_ADDRESSES = 10;

export const emailEntries = {
  newsletter_id: newsletterId,
  subject: described(line(500), 'May have merge fields, such as {first_name, "there"}'),
  preheader: v.optional(
    described(
      line(200),
      'What lists of mails show behind the subject. May have merge fields. Default: how the post begins',
    ),
  ),
  body: described(
    text(MAX_BODY),
    'At most 256 KB. May have merge fields, and parts for some members: <div data-gh-segment="…">',
  ),
  format: v.picklist(FORMATS, `must be one of ${FORMATS.join(', ')}`),
  segment: v.optional(described(text(2_000), 'NQL, such as status:paid+label:vip. Default: every subscribed member')),
  scheduled_at: v.optional(described(moment, 'When to send it. Default: at once. At most a year ahead')),
  delivery_window_minutes: v.optional(
    described(
      v.pipe(v.number(WINDOW), v.integer(WINDOW), v.minValue(1, WINDOW), v.maxValue(MAX_WINDOW, WINDOW)),
      'Minutes over which the batches are spread',
    ),
  ),
};

export const emailSchema = v.strictObject(
  {
    ...emailEntries,
    dry_run: v.optional(
      described(v.boolean('must be true or false'), 'Say who would get it and who would not, and why; nothing is sent'),
    ),
  },
  objectMessage,
);
export const replaceSchema = v.strictObject(emailEntries, objectMessage);

const to = v.pipe(
  v.array(address, 'must be a list'),
  v.minLength(1, `must have 1 to ${MAX_TEST_ADDRESSES} addresses`),
  v.maxLength(MAX_TEST_ADDRESSES, `must have 1 to ${MAX_TEST_ADDRESSES} addresses`),
);
export const testSchema = v.strictObject({ to }, objectMessage);
export const draftTestSchema = v.strictObject({ ...emailEntries, to }, objectMessage);

const reader = { member_id: v.optional(described(memberEntries.member_id, 'Default: sample values, in all parts')) };
export const previewSchema = v.strictObject({ ...emailEntries, ...reader }, objectMessage);
export const emailPreviewSchema = v.strictObject(reader, objectMessage);

export const resolveSchema = v.strictObject(
  { action: v.picklist(['resend', 'leave'], 'must be one of resend, leave') },
  objectMessage,
);

const limit = limitTo(500, /^([1-9]\d?|[1-4]\d\d|500)$/);
export const emailListQuery = v.strictObject({ cursor }, objectMessage);
export const batchListQuery = v.strictObject({ cursor, limit }, objectMessage);
export const recipientListQuery = v.strictObject(
  { state: v.optional(v.picklist(SHOWN_STATES, `must be one of ${SHOWN_STATES.join(', ')}`)), cursor, limit },
  objectMessage,
);
