import { flagOf, listIn } from './cells.ts';
import { always, type ForeignFormat, fullName, memberOf, never, standingIn, statusBy } from './foreign-format.ts';
import { GHOST, LISTMONK } from './open-source-exports.ts';

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
