import { type Command, InvalidArgumentError, Option } from 'commander';
import { SEND_STATUSES } from '../../../core/model/notification.ts';
import { Problem } from '../../../core/model/problem.ts';
import type { Period } from '../../../core/operator/search-filter.ts';
import type { NotificationView } from '../../../core/operator/views/notification-view.ts';
import { LIST_STATUSES } from '../../../operator-service/contract/choices.ts';
import { findNotifications } from '../../../operator-service/notifications.ts';
import { EXIT_USAGE, OperatorError } from '../../../terminal/errors.ts';
import { parseCount } from '../../../terminal/option-values.ts';
import { table } from '../../../terminal/table.ts';
import {
  addFilterOptions,
  addLookupOptions,
  type FilterOptions,
  filterOf,
  type LookupOptions,
  lookupFilterOf,
  periodOf,
} from '../../session/filter-options.ts';
import { type CliContext, onDeployment, type Session, sayNext } from '../../session/session.ts';

interface ListOptions extends FilterOptions, LookupOptions {
  readonly status?: (typeof LIST_STATUSES)[number];
  readonly limit: number;
  readonly cursor?: string;
}

export function addList(program: Command, context: CliContext): void {
  const filtered = addFilterOptions(
    program
      .command('list')
      .description('list notifications by state, channel, priority, tenant, error, recipient or time')
      .addOption(
        new Option('--status <S>', `${SEND_STATUSES.join(', ')}; or dead; or due (unfinished, of any age)`).argParser(
          stateOption,
        ),
      ),
  );
  const command = addLookupOptions(filtered)
    .option('--limit <N>', 'notifications per page', parseCount, 20)
    .option('--cursor <CURSOR>', 'start where a page ended')
    .addHelpText(
      'after',
      `
Newest first: what was created in the last 24 hours, or between --from and --to. With --status dead, all that are dead,
the last death first; with --status due, all that are unfinished, with what is due first.

Examples:
  npm run ops -- list --status dead --channel slack
  npm run ops -- list --status FAILED --error-type AUTH_FAILED --from 2d
  npm run ops -- list --tenant TENANT001 --recipient - --json < address.txt`,
    );
  onDeployment<ListOptions>(command, context, list);
}

async function list(session: Session, options: ListOptions): Promise<number> {
  const { json, terminal } = session;
  const { status, limit, cursor } = options;
  const page = { status, limit, cursor, full: true, more: lookupFilterOf(options) };
  const query = { ...(await filterOf(options, session)), ...givenPeriod(options, session.clock()), ...page };
  const { notifications, next_cursor } = await findNotifications(query, session).catch(badCursor);
  if (json) terminal.print(`${JSON.stringify({ notifications, next_cursor })}\n`);
  else if (notifications.length === 0) {
    terminal.say('Nothing matches. Without --from the list covers the last 24 hours.\n');
  } else {
    terminal.print(describe(notifications, session));
    sayNext('Why, and what to do', 'show LOG_ID', session);
  }
  if (!json && next_cursor !== null) terminal.say(`There is more: add --cursor ${next_cursor}\n`);
  return 0;
}

/** Both ends where one is given: due and dead notifications are listed at any age otherwise. */
function givenPeriod(options: ListOptions, now: Date): Partial<Period> {
  return options.from === undefined && options.to === undefined ? {} : periodOf(options, now);
}

function badCursor(error: unknown): never {
  const isCursor = error instanceof Problem && error.extras.errors?.some(({ path }) => path === 'cursor');
  if (!isCursor) throw error;
  throw new OperatorError(
    '--cursor is not from this list: use next_cursor of its output with the same filters, or omit --cursor.',
    EXIT_USAGE,
  );
}

function describe(notifications: readonly NotificationView[], { terminal: { colors } }: Session): string {
  const text = (name: string) => (row: NotificationView) => row[name] as string | undefined;
  return table<NotificationView>(
    [
      { title: 'log_id', of: text('log_id') },
      { title: 'tenant', of: text('tenant_id') },
      { title: 'channel', of: (row) => text('channel')(row) ?? text('notification_type')(row)?.toLowerCase() },
      { title: 'priority', of: text('priority') },
      { title: 'status', of: text('send_status') },
      { title: 'state', of: text('state') },
      { title: 'reason', of: reasonOf },
      { title: 'created', of: text('created_at') },
    ],
    notifications,
    colors,
  );
}

/** A delivered notification has no reason left, even if an earlier attempt failed. */
function reasonOf({ send_status, failure_reason, error_type }: NotificationView): string | undefined {
  return send_status === 'SUCCESS' ? undefined : ((failure_reason ?? error_type) as string | undefined);
}

function stateOption(text: string): (typeof LIST_STATUSES)[number] {
  const state = LIST_STATUSES.find((known) => known.toLowerCase() === text.toLowerCase());
  if (state === undefined) throw new InvalidArgumentError(`It must be one of ${LIST_STATUSES.join(', ')}.`);
  return state;
}
