import { type Command, InvalidArgumentError, Option } from 'commander';
import * as v from 'valibot';
import { createShardMark } from '../../../adapters/dynamodb/indexing/shard-mark.ts';
import {
  createOperatorSearch,
  ForeignPositionError,
  type Found,
  type OperatorSearch,
  type SearchPosition,
} from '../../../adapters/dynamodb/operator/operator-search.ts';
import { SEND_STATUSES } from '../../../core/model/notification.ts';
import { ALWAYS, type Period, type SearchFilter } from '../../../core/operator/search-filter.ts';
import { datedView, type NotificationView } from '../../../core/operator/views/notification-view.ts';
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

/** States with an index of their own. The history index finds all others. */
const INDEXED_STATES = ['due', 'dead'] as const;
const STATES = [...INDEXED_STATES, ...SEND_STATUSES];

interface ListOptions extends FilterOptions, LookupOptions {
  readonly status?: (typeof STATES)[number];
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
With --status dead or due the list holds all dead or unfinished notifications, urgent first. Otherwise it holds those
that were created in the last 24 hours, or between --from and --to, newest day first.

Examples:
  npm run ops -- list --status dead --channel slack
  npm run ops -- list --status FAILED --error-type AUTH_FAILED --from 2d
  npm run ops -- list --tenant TENANT001 --recipient - --json < address.txt`,
    );
  onDeployment<ListOptions>(command, context, list);
}

interface Page {
  readonly found: readonly Found[];
  readonly next_cursor: string | null;
}

async function list(session: Session, options: ListOptions): Promise<number> {
  const { json, terminal } = session;
  const { found, next_cursor } = await readPage(session, options);
  const now = session.clock();
  const notifications = found.map(({ row }) => datedView(row, now));
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

async function readPage(session: Session, options: ListOptions): Promise<Page> {
  const cursor = options.cursor === undefined ? undefined : decodeCursor(options.cursor);
  const search = createOperatorSearch(session.dynamodb, session.deployment.tables.notification_log, session.clock, {
    consistent: false,
    shards: createShardMark(session.dynamodb, session.deployment.tables.pipeline_state).read,
  });
  const start = startOf(options, session, cursor);
  const found: Found[] = [];
  try {
    // One notification beyond the page shows whether there is a next page.
    for await (const item of walk(search, start, await searchFilter(options, session, start.period), cursor)) {
      found.push(item);
      if (found.length > options.limit) break;
    }
  } catch (error) {
    throw error instanceof ForeignPositionError ? badCursor() : error;
  }
  const last = found[options.limit - 1];
  const more = found.length > options.limit && last !== undefined;
  return {
    found: found.slice(0, options.limit),
    next_cursor: more ? encodeCursor({ ...start, after: last.position }) : null,
  };
}

function startOf(options: ListOptions, session: Session, cursor: ListCursor | undefined): Omit<ListCursor, 'after'> {
  const source = INDEXED_STATES.find((state) => state === options.status) ?? 'created';
  if (cursor !== undefined && cursor.source !== source) throw badCursor();
  return { source, period: cursor?.period ?? periodOf(options, session.clock()) };
}

async function searchFilter(options: ListOptions, session: Session, period: Period): Promise<SearchFilter> {
  const filter = await filterOf(options, session);
  const send_status = SEND_STATUSES.find((status) => status === options.status);
  const { from, to } = options;
  // Due and dead notifications are listed at any age unless --from or --to limits it.
  const created = from === undefined && to === undefined ? undefined : period;
  return { ...filter, ...lookupFilterOf(options), ...(send_status && { send_status }), ...(created && { created }) };
}

function walk(
  search: OperatorSearch,
  { source, period }: Omit<ListCursor, 'after'>,
  filter: SearchFilter,
  cursor: ListCursor | undefined,
): AsyncGenerator<Found> {
  return source === 'created'
    ? search.created(period, filter, cursor?.after)
    : search.work(source, ALWAYS, filter, cursor?.after);
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

function stateOption(text: string): (typeof STATES)[number] {
  const state = STATES.find((known) => known.toLowerCase() === text.toLowerCase());
  if (state === undefined) throw new InvalidArgumentError(`It must be one of ${STATES.join(', ')}.`);
  return state;
}

/** Where a page of a list ended. The cursor holds the period, because a default period moves with the clock. */
interface ListCursor {
  readonly source: 'created' | 'due' | 'dead';
  readonly period: Period;
  readonly after: SearchPosition;
}

const text = v.pipe(v.string(), v.minLength(1));
const cursor = v.object({
  source: v.picklist(['created', 'due', 'dead']),
  period: v.object({ from: text, to: text }),
  after: v.object({ partition: text, sort: text, log_id: text }),
});

function encodeCursor(position: ListCursor): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @throws OperatorError if the list did not make this cursor */
function decodeCursor(encoded: string): ListCursor {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), cursor), Buffer.from(encoded, 'base64url').toString());
  if (parsed.success) return parsed.output;
  throw badCursor();
}

function badCursor(): OperatorError {
  return new OperatorError(
    '--cursor is not from this list: use next_cursor of its output with the same filters, or omit --cursor.',
    EXIT_USAGE,
  );
}
