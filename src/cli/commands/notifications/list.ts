import { InvalidArgumentError } from 'commander';
import { LIST_STATUSES, UNFINISHED_STATUSES } from '../../../application/contract/choices.ts';
import { findNotifications } from '../../../application/notifications.ts';
import { SEND_STATUSES } from '../../../core/model/notification.ts';
import { Problem } from '../../../core/model/problem.ts';
import type { NotificationView } from '../../../core/operator/views/notification-view.ts';
import { value } from '../../../terminal/command.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { printList } from '../../../terminal/output.ts';
import { FILTER_OPTIONS, filterOf, LOOKUP_OPTIONS, lookupFilterOf, periodIn } from '../../session/filter-options.ts';
import { onDeployment, sayNext } from '../../session/session.ts';

export const addList = onDeployment({
  name: 'list',
  says: 'list notifications by state, channel, priority, tenant, error, recipient or time',
  options: {
    '--status <S>': value(
      `of any age: ${UNFINISHED_STATUSES.join(', ')} or dead; by send_status: ${SEND_STATUSES.join(', ')}`,
      parseStatus,
    ),
    ...FILTER_OPTIONS,
    ...LOOKUP_OPTIONS,
    '--search <ID>': 'a log_id, or with --tenant a notification_id, of any age; or how one begins, within the period',
    '--limit <N>': value('notifications per page', parseCount, 20),
    '--cursor <CURSOR>': 'continue after a page: its next_cursor',
  },
  help: `
Newest first: what was created in the last 24 hours, or between --from and --to. Of any age: --status dead, the last death
first, and --status unfinished, with what is due first: all that \`status\` counts as due, waiting, held (its provider is
down) or in_flight, or one of these.

Examples:
  npm run ops -- list --status dead --channel slack
  npm run ops -- list --status FAILED --error-type AUTH_FAILED --from 2d
  npm run ops -- list --tenant TENANT001 --search NOTIF001
  npm run ops -- list --tenant TENANT001 --recipient - --json < address.txt`,
  async run(session, options) {
    const { status, limit, cursor, from, to, search: q } = options;
    const page = { status, q, limit, cursor, full: true, more: lookupFilterOf(options) };
    // Both ends where one is given: unfinished and dead notifications are listed at any age otherwise.
    const period = from === undefined && to === undefined ? {} : periodIn(options, session.clock());
    const query = { ...(await filterOf(options, session)), ...period, ...page };
    const { notifications, next_cursor } = await findNotifications(query, session).catch(badCursor);
    const isOfAnyAge = status === 'dead' || UNFINISHED_STATUSES.some((one) => one === status);
    const isDefault = !isOfAnyAge && from === undefined && to === undefined;
    const none = `Nothing matches.${isDefault ? ' Without --from the list covers the last 24 hours.' : ''}`;
    const text = (name: string) => (row: NotificationView) => row[name] as string | undefined;
    const isTable = printList(session, { notifications, next_cursor }, notifications, none, [
      ['log_id', text('log_id')],
      ['tenant', text('tenant_id'), 'wide'],
      ['channel', (row) => text('channel')(row) ?? text('notification_type')(row)?.toLowerCase()],
      ['priority', text('priority'), 'wide'],
      ['status', text('send_status'), 'wide'],
      ['state', ({ state }) => state],
      ['reason', reasonOf],
      ['created', text('created_at'), 'wide'],
    ]);
    if (isTable) sayNext('Why, and what to do', 'show LOG_ID', session);
    if (!session.json && next_cursor !== null) session.terminal.say(`There is more: add --cursor ${next_cursor}\n`);
  },
});

function badCursor(error: unknown): never {
  const isCursor = error instanceof Problem && error.extras.errors?.some(({ path }) => path === 'cursor');
  if (!isCursor) throw error;
  throw new OperatorError(
    '--cursor is not from this list: use next_cursor of its output with the same filters, or omit --cursor.',
    EXIT_USAGE,
  );
}

/** A delivered notification has no reason left, even if an earlier attempt failed. */
function reasonOf({ send_status, failure_reason, error_type }: NotificationView): string | undefined {
  return send_status === 'SUCCESS' ? undefined : ((failure_reason ?? error_type) as string | undefined);
}

function parseStatus(text: string): (typeof LIST_STATUSES)[number] {
  const state = LIST_STATUSES.find((known) => known.toLowerCase() === text.toLowerCase());
  if (state === undefined) throw new InvalidArgumentError(`It must be one of ${LIST_STATUSES.join(', ')}.`);
  return state;
}
