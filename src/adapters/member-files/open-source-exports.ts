import { flagOf, plainOfGhost } from './cells.ts';
import { always, type ForeignFormat, memberOf, never, standingIn, statusBy } from './foreign-format.ts';

/** Ghost: Settings → Members → Export. A customer id stays after a subscription has ended, so tiers tell who pays. */
export const GHOST: ForeignFormat = {
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
export const LISTMONK: ForeignFormat = {
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
