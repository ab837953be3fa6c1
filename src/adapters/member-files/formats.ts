import { type Cells, flagOf, listIn, oneLine, plainOfGhost, timeIn, timeOr } from './cells.ts';
import { CellFault } from './member-file-error.ts';

/** What an export says of a person: may get mail, or why not. `unconfirmed` and `deleted` are no members. */
type Standing =
  | 'subscribed'
  | 'unsubscribed'
  | 'bounced'
  | 'complained'
  | 'blocked'
  | 'unconfirmed'
  | 'deleted'
  | 'unknown';

/**
 * Fields of a member before they are checked, or why the line is left out. `left_at`: when the member left --newsletter;
 * `undecided`: the line does not say whether the member gets mail.
 */
export type Reading = { readonly [field: string]: unknown } | { readonly skipped: string };

/** The export of another system, which knows no newsletter of ours: all of it is about --newsletter. */
export interface ForeignFormat {
  readonly of: string;
  /** Columns, in lower case, of which one set is in each header of the system. */
  readonly signs: readonly (readonly string[])[];
  /** Whether the file says of each person whether they get mail; else its operator has to. */
  readonly decides: (columns: readonly string[]) => boolean;
  /** What to do where it does not. */
  readonly advice?: string;
  readonly read: (cells: Cells, columns: readonly string[]) => Reading;
}

const always = () => true;
const never = () => false;

interface Person {
  readonly id?: string | undefined;
  readonly email: string | undefined;
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly created_at?: string | undefined;
  readonly standing: Standing;
  /** When the person left. */
  readonly at?: string | undefined;
}

function memberOf({ id, email, name = '', status, labels, created_at, standing, at }: Person): Reading {
  if (standing === 'deleted') return { skipped: 'deleted' };
  if (standing === 'unconfirmed') return { skipped: 'not confirmed' };
  const time = at === undefined ? undefined : timeIn(at);
  const reason = standing === 'blocked' ? 'operator' : standing;
  return {
    ...(id !== undefined && { member_id: id }),
    ...(email !== undefined && { email }),
    ...(oneLine(name) !== '' && { name: oneLine(name) }),
    ...(status !== undefined && { status }),
    ...(labels !== undefined && { labels: labels.map((one) => one.normalize()) }),
    ...(created_at !== undefined && { created_at: timeOr(created_at) }),
    ...(standing === 'unsubscribed' && { unsubscribed: true, ...(time && { left_at: time }) }),
    ...(SUPPRESSED.includes(standing) && { suppressed: { reason, ...(time && { at: time }) } }),
    ...(standing === 'unknown' && { undecided: true }),
  };
}

const SUPPRESSED: readonly Standing[] = ['bounced', 'complained', 'blocked'];

/** What a column says that has a word for each standing. @throws CellFault where the word is none of the system's */
function standingIn(cells: Cells, column: string, words: Readonly<Record<string, Standing>>): Standing {
  const cell = cells[column];
  const standing = cell === undefined ? 'subscribed' : words[cell.toLowerCase()];
  if (standing === undefined) throw new CellFault(column, `must be one of ${Object.keys(words).join(', ')}, or empty`);
  return standing;
}

const fullName = (...names: readonly (string | undefined)[]) => names.filter(Boolean).join(' ');

const statusBy = (isPaid: boolean, isGift: boolean) => (isGift ? 'comped' : isPaid ? 'paid' : 'free');

/** Ghost: Settings → Members → Export. A customer id stays after a subscription has ended, so tiers tell who pays. */
const GHOST: ForeignFormat = {
  of: 'Ghost',
  signs: [['email', 'subscribed_to_emails']],
  decides: always,
  read(cells, columns) {
    const { id, email, name, created_at, deleted_at, labels, tiers } = cells;
    const isGift = flagOf(cells, 'complimentary_plan') === true;
    const wantsMail = flagOf(cells, 'subscribed_to_emails') !== false;
    return memberOf({
      id,
      email: email && plainOfGhost(email),
      name: name && plainOfGhost(name),
      status: isGift || columns.includes('tiers') ? statusBy(tiers !== undefined, isGift) : undefined,
      labels: labels
        ?.split(',')
        .map((label) => plainOfGhost(label.trim()))
        .filter(Boolean),
      created_at,
      standing: deleted_at !== undefined ? 'deleted' : wantsMail ? 'subscribed' : 'unsubscribed',
    });
  },
};

/** listmonk: Subscribers → Export. Its status is the person's; who left a list is known to the list alone. */
const LISTMONK: ForeignFormat = {
  of: 'listmonk',
  signs: [['uuid', 'email', 'attributes', 'status']],
  decides: never,
  advice:
    'An export of listmonk says nothing of lists: it may hold people of other lists, and people who left this one. ' +
    'In listmonk choose the list and the subscription status "confirmed" ("unconfirmed" too if it has no double opt-in), ' +
    'export, and import with --as subscribed; export those with "unsubscribed", and import with --as unsubscribed',
  read: (cells) =>
    memberOf({
      id: cells['uuid'],
      email: cells['email'],
      name: cells['name'],
      created_at: cells['created_at'],
      standing: standingIn(cells, 'status', {
        enabled: 'unknown',
        disabled: 'unsubscribed',
        blocklisted: 'blocked',
        blacklisted: 'blocked',
      }),
    }),
};

/** Mailchimp: Audience → Export audience, a file each of subscribed, unsubscribed, cleaned and non-subscribed people. */
const MAILCHIMP: ForeignFormat = {
  of: 'Mailchimp',
  signs: [
    ['email address', 'leid'],
    ['email address', 'euid'],
    ['email address', 'optin_time'],
    ['email address', 'unsub_time'],
    ['email address', 'clean_time'],
  ],
  decides: (columns) => ['unsub_time', 'clean_time', 'optin_time', 'confirm_time'].some((one) => columns.includes(one)),
  advice:
    'The file has none of the columns OPTIN_TIME, CONFIRM_TIME, UNSUB_TIME and CLEAN_TIME, by which Mailchimp tells who ' +
    'gets mail: export the audience again and import each file as it is, or say what these people are with --as',
  read(cells) {
    const { optin_time, confirm_time, unsub_time, clean_time } = cells;
    // Somebody who only bought something never opted in.
    const optedIn = optin_time ?? confirm_time;
    return memberOf({
      email: cells['email address'],
      name: fullName(cells['first name'], cells['last name']),
      labels: listIn(cells['tags'] ?? ''),
      created_at: optedIn,
      standing: clean_time ? 'bounced' : unsub_time ? 'unsubscribed' : optedIn ? 'subscribed' : 'unknown',
      at: clean_time ?? unsub_time,
    });
  },
};

/** Substack: Settings → Exports. */
const SUBSTACK: ForeignFormat = {
  of: 'Substack',
  signs: [
    ['email', 'email_disabled'],
    ['email', 'active_subscription'],
  ],
  decides: (columns) => columns.includes('email_disabled'),
  advice:
    'The file lacks the column email_disabled, by which Substack tells who gets no mail: export the subscribers again',
  read: (cells) =>
    memberOf({
      email: cells['email'],
      name: cells['name'],
      status: statusBy(flagOf(cells, 'active_subscription') === true, /comp|gift/i.test(cells['plan'] ?? '')),
      created_at: cells['created_at'],
      standing: flagOf(cells, 'email_disabled') === true ? 'unsubscribed' : 'subscribed',
    }),
};

/** Substack's dashboard: Subscribers → Export. It says which mails somebody gets in words of the publication's own. */
const SUBSTACK_DASHBOARD: ForeignFormat = {
  of: 'Substack',
  signs: [['email', 'subscription type', 'subscription date']],
  decides: never,
  advice:
    "This export of Substack's dashboard does not say who has disabled e-mail: take the one of Settings → Exports, which " +
    'has the column email_disabled, or export only people who get mail and import with --as subscribed',
  read(cells) {
    const type = cells['subscription type'] ?? '';
    return memberOf({
      email: cells['email'],
      name: cells['name'],
      status: statusBy(/month|year|annual|paid|founding/i.test(type), /comp|gift/i.test(type)),
      created_at: cells['subscription date'],
      standing: 'unknown',
    });
  },
};

/** beehiiv: Audience → Export. */
const BEEHIIV: ForeignFormat = {
  of: 'beehiiv',
  signs: [
    'subscriber_id',
    'subscription_tier',
    'subscription_premium_tier_names',
    'tier',
    'utm_source',
    'acquisition_source',
  ].map((sign) => ['email', 'status', sign]),
  decides: always,
  read(cells) {
    const tier = cells['subscription_tier'] ?? cells['subscription_premium_tier_names'] ?? cells['tier'];
    return memberOf({
      id: cells['subscriber_id'] ?? cells['id'],
      email: cells['email'],
      name: fullName(cells['first_name'] ?? cells['first name'], cells['last_name'] ?? cells['last name']),
      status: statusBy(tier !== undefined && tier.toLowerCase() !== 'free', false),
      labels: listIn(cells['tags'] ?? ''),
      created_at: cells['created_at'] ?? cells['created'],
      standing: standingIn(cells, 'status', {
        active: 'subscribed',
        inactive: 'unsubscribed',
        unsubscribed: 'unsubscribed',
        pending: 'unconfirmed',
        validating: 'unconfirmed',
        needs_attention: 'unconfirmed',
        invalid: 'bounced',
      }),
    });
  },
};

/** Kit: Subscribers → Export. `inactive` has not confirmed. */
const KIT: ForeignFormat = {
  of: 'Kit',
  signs: [
    ['email', 'first_name', 'state'],
    ['email_address', 'first_name', 'state'],
  ],
  decides: always,
  read: (cells) =>
    memberOf({
      id: cells['id'],
      email: cells['email_address'] ?? cells['email'],
      name: fullName(cells['first_name'], cells['last_name']),
      labels: listIn(cells['tags'] ?? ''),
      created_at: cells['created_at'],
      standing: standingIn(cells, 'state', {
        active: 'subscribed',
        cancelled: 'unsubscribed',
        canceled: 'unsubscribed',
        bounced: 'bounced',
        complained: 'complained',
        inactive: 'unconfirmed',
        unconfirmed: 'unconfirmed',
      }),
    }),
};

/** Buttondown: Settings → Exports. */
const BUTTONDOWN: ForeignFormat = {
  of: 'Buttondown',
  signs: ['email', 'email_address'].flatMap((email) => [
    [email, 'type', 'creation_date'],
    [email, 'subscriber_type', 'creation_date'],
  ]),
  decides: always,
  read(cells) {
    const column = cells['type'] === undefined ? 'subscriber_type' : 'type';
    const type = cells[column]?.toLowerCase() ?? '';
    return memberOf({
      id: cells['id'],
      email: cells['email_address'] ?? cells['email'],
      status: statusBy(
        ['premium', 'churning', 'past_due', 'paused'].includes(type),
        ['gifted', 'trialed'].includes(type),
      ),
      labels: listIn(cells['tags'] ?? ''),
      created_at: cells['creation_date'],
      at: cells['unsubscription_date'],
      standing: cells['unsubscription_date']
        ? 'unsubscribed'
        : standingIn(cells, column, {
            ...Object.fromEntries(BUTTONDOWN_SUBSCRIBED.map((one) => [one, 'subscribed'] as const)),
            unactivated: 'unconfirmed',
            unsubscribed: 'unsubscribed',
            removed: 'unsubscribed',
            undeliverable: 'bounced',
            complained: 'complained',
            spammy: 'blocked',
            blocked: 'blocked',
          }),
    });
  },
};

const BUTTONDOWN_SUBSCRIBED = 'regular premium trialed unpaid gifted churning churned paused past_due'.split(' ');

/** Brevo: Contacts → Export. */
const BREVO: ForeignFormat = {
  of: 'Brevo',
  signs: [['email', 'email_blacklisted']],
  decides: always,
  read: (cells) =>
    memberOf({
      email: cells['email'],
      name: fullName(cells['firstname'] ?? cells['prenom'], cells['lastname'] ?? cells['nom']),
      created_at: cells['added_time'],
      standing: flagOf(cells, 'email_blacklisted') === true ? 'unsubscribed' : 'subscribed',
    }),
};

/** An address book: nobody in it has asked for mail. */
const GOOGLE: ForeignFormat = {
  of: 'Google Contacts',
  signs: [['e-mail 1 - value'], ['email 1 - value']],
  decides: never,
  advice:
    'An address book does not say who has asked for mail: keep only those who have, and import with --as subscribed',
  read: (cells) =>
    memberOf({
      email: cells['e-mail 1 - value'] ?? cells['email 1 - value'],
      name:
        cells['name'] ??
        fullName(cells['first name'] ?? cells['given name'], cells['last name'] ?? cells['family name']),
      labels: listIn(cells['labels'] ?? cells['group membership'] ?? ''),
      standing: 'unknown',
    }),
};

export const FOREIGN_FORMATS: readonly ForeignFormat[] = [
  GHOST,
  LISTMONK,
  MAILCHIMP,
  SUBSTACK,
  SUBSTACK_DASHBOARD,
  BUTTONDOWN,
  KIT,
  BREVO,
  GOOGLE,
  BEEHIIV,
];
