import * as v from 'valibot';
import { mailbox, mailDomain, senderMailbox } from '../../../adapters/email/address.ts';
import { MAIL_LANGUAGES } from '../../../core/newsletter/model/email.ts';
import { MEMBER_STATUSES, SUPPRESSION_REASONS } from '../../../core/newsletter/model/member.ts';
import { whole as index, instant as time } from '../fields.ts';
import { described, problem } from './answers.ts';
import { id, limitTo, line, moment, objectMessage } from './intake.ts';

/** What the routes of newsletters and members accept and answer. */

/** Text that `read` brings into the form that is stored. */
const readAs = (longest: number, read: (text: string) => string | undefined, message: string) =>
  v.pipe(
    line(longest),
    v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
      const known = read(value);
      if (known !== undefined) return known;
      addIssue({ message });
      return NEVER;
    }),
  );

export const address = readAs(254, mailbox, 'must be one address, such as name@example.com');
const domain = readAs(253, mailDomain, 'must be a domain, such as news.example.com');
const sender = readAs(
  320,
  (text) => (senderMailbox(text) === undefined ? undefined : text.trim()),
  'must be an address with or without a name, such as Weekly <news@example.com>',
);

export const newsletterId = v.pipe(
  v.string('must be text'),
  v.regex(/^[A-Za-z0-9_-]{1,50}$/, 'must have 1 to 50 of A-Z, a-z, 0-9, _ and -'),
);

const tracked = (what: string) => v.optional(described(v.boolean('must be true or false'), `Whether ${what}`), true);
const tracking = described(
  v.strictObject(
    {
      opens: tracked('SES puts a pixel into mails, which tells that they are opened'),
      clicks: tracked('SES leads links by way of its own, which tells that they are clicked'),
    },
    objectMessage,
  ),
  'What is tracked. Both by default',
);

const webAddress = v.pipe(line(2_000), v.regex(/^https:\/\/[^\s"'<>\\]+$/, 'must be a URL that begins with https://'));

/** How its mails look and who they say sends them, as they are stored. */
const appearance = {
  sender_name: v.optional(described(line(200), 'The person or company that sends it, in the footer of each mail')),
  postal_address: v.optional(described(line(300), 'Where that person or company is')),
  contact: v.optional(described(line(300), 'Where to ask or complain: an address, a telephone number or a URL')),
  language: v.optional(
    described(
      v.picklist(MAIL_LANGUAGES, `must be one of ${MAIL_LANGUAGES.join(', ')}`),
      'Of its mails, their footer and the pages behind their links. Default: en',
    ),
  ),
  accent_color: v.optional(
    described(
      v.pipe(line(7), v.regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #1a5fb4')),
      'Of links and buttons in Markdown and text, as light or dark as can be read',
    ),
  ),
  logo_url: v.optional(described(webAddress, 'A picture above Markdown and text, in place of the name')),
};

export const newsletterSchema = v.strictObject(
  {
    name: line(200),
    from: described(sender, '`Name <local@domain>` or an address. SES must have verified it or its domain'),
    reply_to: v.optional(address),
    sending_domain: v.optional(
      described(domain, 'Replaces the domain of `from`, as far as the warming of the domain allows'),
    ),
    fallback_domain: v.optional(
      described(domain, 'For recipients beyond the warming of the sending domain. Without it there is none'),
    ),
    track: v.optional(tracking),
    ...appearance,
  },
  objectMessage,
);

const list = <T extends v.GenericSchema<string, string>>(item: T, longest: number) =>
  v.pipe(v.array(item, 'must be a list'), v.maxLength(longest, `must have at most ${longest} entries`));

/** Composed, as segments compare it: a Mac may decompose what somebody types or copies. */
export const label = v.pipe(
  line(100),
  v.transform((text) => text.normalize()),
);
const memberStatus = v.picklist(MEMBER_STATUSES, `must be one of ${MEMBER_STATUSES.join(', ')}`);

export const memberEntries = {
  member_id: id,
  email: described(address, 'It is stored encrypted'),
  name: v.optional(described(v.nullable(line(200)), 'null removes it. It is stored encrypted')),
  status: v.optional(described(memberStatus, 'free for a new member')),
  labels: v.optional(list(label, 100)),
  newsletters: v.optional(described(list(newsletterId, 50), 'Replaces the list. It does not lift an unsubscription')),
  created_at: v.optional(described(moment, 'When a new member joined elsewhere. That of a known one stays')),
  unsubscribed: v.optional(
    described(
      v.record(newsletterId, moment, 'must be newsletters with times'),
      'Times of unsubscription by newsletter_id, added to those that there are',
    ),
  ),
  suppressed: v.optional(
    described(
      v.strictObject({ reason: v.picklist(SUPPRESSION_REASONS), at: moment }, 'must be a reason and its time'),
      'Why the address gets no mail any more. Only an operator lifts it',
    ),
  ),
};
export const memberSchema = described(v.strictObject(memberEntries, objectMessage), 'What is absent stays as it is');

const MAX_MEMBERS = 500;

/** The request without its members: each is validated on its own, so that a bad one stops no other. */
export const membersSchema = v.strictObject(
  {
    members: v.pipe(
      v.array(v.unknown(), 'must be a list'),
      v.minLength(1, `must have 1 to ${MAX_MEMBERS} items`),
      v.maxLength(MAX_MEMBERS, `must have 1 to ${MAX_MEMBERS} items`),
    ),
  },
  objectMessage,
);

export const resubscribeSchema = v.strictObject({ newsletter_id: newsletterId }, objectMessage);

export const newsletterAnswer = v.object({
  newsletter_id: v.string(),
  ...newsletterSchema.entries,
  warnings: v.optional(described(v.array(v.string()), 'What its mails lack by law, as sentences')),
  created_at: time,
  updated_at: time,
});

export const memberAnswer = v.object({
  member_id: v.string(),
  member_uuid: v.string(),
  email: v.optional(v.string()),
  name: v.optional(v.string()),
  status: v.picklist(MEMBER_STATUSES),
  labels: v.array(v.string()),
  newsletters: v.array(v.string()),
  unsubscribed: described(
    v.record(v.string(), time),
    'Times of unsubscription by newsletter_id. Only resubscribe, or the member by its link, lifts one',
  ),
  suppressed: v.optional(
    described(
      v.object({ reason: v.picklist(SUPPRESSION_REASONS), at: time }),
      'The address gets no mail any more. Only an operator lifts it',
    ),
  ),
  created_at: time,
  updated_at: time,
});

/** Of a list: the cursor of a page, and how many it may have. */
export const cursor = v.optional(
  described(v.pipe(v.string(), v.minLength(1), v.maxLength(1_000)), 'next_cursor of the page before'),
);
export const memberListQuery = v.strictObject({ cursor, limit: limitTo(200, /^([1-9]\d?|1\d\d|200)$/) }, objectMessage);
export const memberList = v.object({ members: v.array(memberAnswer), next_cursor: v.nullable(v.string()) });

/** Whoever asked before there were pages gets all newsletters of any tenant that was seen. */
export const newsletterListQuery = v.strictObject(
  { cursor, limit: limitTo(1_000, /^([1-9]\d{0,2}|1000)$/, '1000') },
  objectMessage,
);
export const newsletterList = v.object({
  newsletters: v.array(newsletterAnswer),
  next_cursor: v.nullable(v.string()),
});

const takenMember = v.strictObject({
  index,
  status: v.literal(200),
  member_id: v.string(),
  created: described(v.boolean(), 'Whether the member is new'),
});
const refusedMember = v.strictObject({ index, status: v.picklist([400, 503]), problem });
export const memberResults = v.object({ results: v.array(v.union([takenMember, refusedMember])) });
export const deletedMember = v.object({ member_id: v.string() });
