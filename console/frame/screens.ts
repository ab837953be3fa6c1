import type { ComponentType } from 'preact';
import type { SessionView } from '../../src/application/contract/overview.ts';
import { t } from '../language/language.ts';
import type { IconName } from '../parts/icon.tsx';
import { AuditScreen } from '../screens/audit.tsx';
import { DeadLettersScreen } from '../screens/dead-letters.tsx';
import { EmailScreen } from '../screens/email.tsx';
import { KeysScreen } from '../screens/keys.tsx';
import { MemberScreen } from '../screens/member.tsx';
import { MembersScreen } from '../screens/members.tsx';
import { NewslettersScreen } from '../screens/newsletters.tsx';
import { NotificationScreen } from '../screens/notification.tsx';
import { NotificationsScreen } from '../screens/notifications.tsx';
import { OperationsScreen } from '../screens/operations.tsx';
import { OverviewScreen } from '../screens/overview.tsx';

export interface Screen {
  /** A path of the page, which deep links hold; `:id` takes one segment. */
  readonly path: string;
  readonly title: string;
  readonly show: ComponentType<{ readonly id: string }>;
  /** Present: it is an entry of the navigation. */
  readonly icon?: IconName;
  /** What the stage must have for it to be offered; a deep link says in one sentence that it is not there. */
  readonly needs?: NonNullable<SessionView['lacks']>[number];
  /** The second key of its shortcut, after `g`. */
  readonly key?: string;
}

const SCREENS: readonly Screen[] = [
  { path: '/', title: t('Overview'), show: OverviewScreen, icon: 'overview', key: 'o' },
  { path: '/notifications', title: t('Notifications'), show: NotificationsScreen, icon: 'notifications', key: 'n' },
  { path: '/notifications/:id', title: t('Notification'), show: NotificationScreen },
  { path: '/dead-letters', title: t('Dead letters'), show: DeadLettersScreen, icon: 'dead', key: 'd' },
  { path: '/operations', title: t('Operations'), show: OperationsScreen, icon: 'operations', key: 'b' },
  {
    path: '/newsletters',
    title: t('Newsletters'),
    show: NewslettersScreen,
    icon: 'newsletters',
    needs: 'newsletters',
    key: 'e',
  },
  { path: '/newsletters/emails/:id', title: t('E-mail'), show: EmailScreen },
  { path: '/newsletters/members', title: t('Members'), show: MembersScreen },
  { path: '/newsletters/members/:id', title: t('Member'), show: MemberScreen },
  { path: '/keys', title: t('Keys'), show: KeysScreen, icon: 'keys', needs: 'keys', key: 'k' },
  { path: '/audit', title: t('Audit log'), show: AuditScreen, icon: 'audit', key: 'a' },
];

export function offered({ lacks = [] }: Pick<SessionView, 'lacks'>): readonly Screen[] {
  return SCREENS.filter(({ needs }) => needs === undefined || !lacks.includes(needs));
}

export function screenOf(path: string): { readonly screen: Screen; readonly id: string } | undefined {
  for (const screen of SCREENS) {
    const prefix = screen.path.replace(/:id$/, '');
    if (prefix === screen.path ? path === screen.path : path.startsWith(prefix) && path.length > prefix.length) {
      const id = decoded(path.slice(prefix.length));
      if (id !== undefined) return { screen, id };
    }
  }
  return undefined;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
