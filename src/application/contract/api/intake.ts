import * as v from 'valibot';
import { PUBLIC_STATES } from '../../../core/intake/public-state.ts';
import { CHANNELS, PRIORITIES } from '../../../core/model/channels.ts';
import { ERROR_POLICY, type ProviderErrorType } from '../../../core/model/error-types.ts';
import { MESSAGE_FORMATS, RECIPIENT_TYPES } from '../../../core/model/notification.ts';
import { parseTime } from '../../../core/model/time.ts';
import { described } from './answers.ts';

/** What the API accepts: these schemas validate requests, and the OpenAPI document is made from them. */

/** Types with which a send can fail. The pipeline itself concludes the others. */
const PROVIDER_ERROR_TYPES = (Object.keys(ERROR_POLICY) as (keyof typeof ERROR_POLICY)[]).filter(
  (type): type is ProviderErrorType => type !== 'MAX_RETRIES' && type !== 'EXPIRED' && type !== 'CANCELLED',
);

/** Message for the object itself. Unknown keys have their own messages (src/http/check.ts). */
export const objectMessage = ({ received, expected }: v.StrictObjectIssue) =>
  received === 'undefined' || expected?.startsWith('"') ? 'is required' : 'must be an object';

/** DynamoDB, JSON canonicalization and providers handle only well-formed text in the same way. */
const wellFormed = v.check((text: string) => text.isWellFormed(), 'must be well-formed Unicode');

/** Like v.maxLength, but counts characters as JSON Schema and the table document do, and not UTF-16 units. */
function maxCharacters(longest: number) {
  const rule = v.maxLength<string, number, string>(longest, `must have at most ${longest} characters`);
  const run: (typeof rule)['~run'] = (dataset, config) =>
    dataset.typed && [...dataset.value].length <= longest ? dataset : rule['~run'](dataset, config);
  return { ...rule, '~run': run };
}

export const text = (longest: number) =>
  v.pipe(v.string('must be text'), v.minLength(1, 'must not be empty'), maxCharacters(longest), wellFormed);

/** Control characters and those that change the direction of text: a terminal or a log would obey them. */
const UNPRINTABLE = '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';

const printable = v.regex<string, string>(new RegExp(`^[^${UNPRINTABLE}]*$`), 'must have no control characters');
export const line = (longest: number) => v.pipe(text(longest), printable);
/** Ids are VARCHAR(50) in the table document. */
export const id = line(50);
export const channel = v.picklist(CHANNELS, `must be one of ${CHANNELS.join(', ')}`);
const priority = v.picklist(PRIORITIES, `must be one of ${PRIORITIES.join(', ')}`);
export const moment = v.pipe(
  v.string('must be text'),
  v.isoTimestamp('must be a time with its zone, such as 2026-11-21T09:00:00.000Z'),
  v.rawCheck(({ dataset, addIssue }) => {
    const unreadable = dataset.typed && dataset.issues === undefined && parseTime(dataset.value) === undefined;
    if (unreadable) addIssue({ message: 'must be a time that exists' });
  }),
);
export const recipient = described(
  v.pipe(text(500), v.regex(/\S/, 'must not be blank')),
  'Address, channel or URL. It is stored encrypted and never shown again',
);

/** It is shown to everybody who sees the attempt, so it has no room for an address: `550 5.1.1`, `channel_not_found`. */
const responseCode = v.pipe(
  text(20),
  v.regex(/^[A-Za-z0-9 ._:/-]+$/, 'must be a code: letters, digits, spaces and . _ : / -'),
);

const failureEntries = {
  error_type: v.picklist(PROVIDER_ERROR_TYPES, `must be one of ${PROVIDER_ERROR_TYPES.join(', ')}`),
  response_code: v.optional(responseCode),
  response_message: v.optional(text(2_000)),
  attempted_at: v.optional(moment),
};

export const failureSchema = v.strictObject(failureEntries, objectMessage);

const fallbackEntries = { channel, recipient, integration_config_id: v.optional(id) };

const notificationEntries = {
  channel,
  recipient,
  body: described(text(262_144), 'Slack: 40,000 characters; Teams: 27 KB; e-mail and webhook: 256 KB'),
  priority: v.optional(priority, 'normal'),
  recipient_type: v.optional(v.picklist(RECIPIENT_TYPES, `must be one of ${RECIPIENT_TYPES.join(', ')}`)),
  subject: v.optional(text(500)),
  format: v.optional(v.picklist(MESSAGE_FORMATS, `must be one of ${MESSAGE_FORMATS.join(', ')}`), 'PLAIN'),
  integration_config_id: v.optional(
    described(id, 'The integration whose credentials are used. It must belong to the same tenant or to all tenants'),
  ),
  notification_id: v.optional(
    described(id, "The producer's own id, for lookups. Copies of one notification may share it"),
  ),
  setting_id: v.optional(id),
  template_id: v.optional(id),
  traceparent: v.optional(
    described(
      v.string('must be text'),
      'W3C Trace Context: kept with the notification, in its log lines and records, and sent on to webhooks. Default: the header of this name. Repeats may have another one. One that is malformed is ignored',
    ),
  ),
  scheduled_at: v.optional(described(moment, 'When to send it, to the second. Default: at once. At most a year ahead')),
  max_retry_count: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.integer('must be a whole number'),
      v.minValue(0, 'must be 0 to 100'),
      v.maxValue(100, 'must be 0 to 100'),
    ),
  ),
  fallback: v.optional(v.strictObject(fallbackEntries, objectMessage)),
  failed_attempt: v.optional(failureSchema),
};

export const notificationSchema = v.strictObject(notificationEntries, objectMessage);

/** The fields that the rule for scheduled times needs. */
export const scheduleSchema = v.object({ scheduled_at: moment, priority: notificationEntries.priority });

/** 1 to 128 visible ASCII characters. */
export const idempotencyKey = v.pipe(
  v.string('must be text'),
  v.regex(/^[\x21-\x7e]{1,128}$/, 'must have 1 to 128 visible ASCII characters'),
);

const batchItemEntries = { ...notificationEntries, idempotency_key: v.optional(idempotencyKey) };
export const batchItemSchema = v.strictObject(batchItemEntries, objectMessage);

/** The batch without its items: each item is validated on its own, so that a bad item stops no other. */
const batchEntries = {
  notifications: v.pipe(
    v.array(v.unknown(), 'must be a list'),
    v.minLength(1, 'must have 1 to 100 items'),
    v.maxLength(100, 'must have 1 to 100 items'),
  ),
};
export const batchSchema = v.strictObject(batchEntries, objectMessage);

/** Of a query: text, which callers write as a number. */
/* @__NO_SIDE_EFFECTS__ */
export const limitTo = (most: number, form: RegExp, standard = '100') =>
  v.optional(
    v.pipe(v.string(), v.regex(form, `must be 1 to ${most}`), v.metadata({ minimum: 1, maximum: most })),
    standard,
  );

const queryEntries = {
  status: v.optional(v.picklist(PUBLIC_STATES, `must be one of ${PUBLIC_STATES.join(', ')}`)),
  channel: v.optional(channel),
  priority: v.optional(priority),
  notification_id: v.optional(
    described(id, 'Returns the copies of one notification, in no order, of all time unless from or to is given'),
  ),
  from: v.optional(
    described(moment, 'Start of the period of handing over. Default: 7 days before `to`. At most 31 days before `to`'),
  ),
  to: v.optional(described(moment, 'End of the period. Default: now')),
  limit: limitTo(100, /^([1-9]\d?|100)$/, '50'),
  cursor: v.optional(
    described(
      v.pipe(v.string(), v.maxLength(1_000, 'is not a cursor of this list')),
      'next_cursor of the previous page. It keeps from and to; repeat the other parameters',
    ),
  ),
};
export const querySchema = v.strictObject(queryEntries, objectMessage);
