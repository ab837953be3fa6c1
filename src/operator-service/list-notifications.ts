import * as v from 'valibot';
import { CrowdedKeyError, readCopies } from '../adapters/dynamodb/operator/notification-copies.ts';
import {
  createOperatorSearch,
  ForeignPositionError,
  type FoundPart,
  type OperatorSearch,
} from '../adapters/dynamodb/operator/operator-search.ts';
import { readPage } from '../adapters/dynamodb/operator/read-page.ts';
import { isGone } from '../core/model/history-index.ts';
import { type ForeignRow, SEND_STATUSES } from '../core/model/notification.ts';
import { Problem } from '../core/model/problem.ts';
import { ALWAYS, matches, type Period, type SearchFilter } from '../core/operator/search-filter.ts';
import { datedView, type NotificationView } from '../core/operator/views/notification-view.ts';
import type { NotificationList, notificationsQuery } from './contract/notifications.ts';
import { badCursor, fromCursor, toCursor } from './cursor.ts';
import type { ConsoleDeps } from './deps.ts';
import { createdPeriod, searchFilter } from './filters.ts';

type ListInput = v.InferOutput<typeof notificationsQuery>;

const text = v.pipe(v.string(), v.minLength(1), v.maxLength(300));
/** The period is part of the cursor, because a default period moves with the clock. */
const place = v.strictObject({
  source: v.picklist(['created', 'due', 'dead']),
  period: v.strictObject({ from: text, to: text }),
  after: v.strictObject({ partition: text, sort: text, log_id: text }),
});
type Place = v.InferOutput<typeof place>;

/** One page of the notifications that match. @throws Problem for a foreign cursor */
export async function listNotifications(input: ListInput, deps: ConsoleDeps): Promise<NotificationList> {
  if (input.q !== undefined) return { notifications: await findExactly(input.q, input, deps), next_cursor: null };
  const cursor = fromCursor(place, input.cursor);
  const source = input.status === 'due' || input.status === 'dead' ? input.status : 'created';
  if (cursor !== undefined && cursor.source !== source) throw badCursor();
  const period = cursor?.period ?? createdPeriod(input, deps.clock());
  const filter = filterOf(input, source === 'created' ? period : undefined);
  const search = createOperatorSearch(deps.dynamodb, deps.deployment.tables.notification_log, deps.clock, {
    consistent: false,
    shards: deps.shards,
  });
  try {
    const parts = partsOf(search, { source, period }, filter, cursor);
    const { rows, next } = await readPage(parts, input.limit, () => true);
    return {
      notifications: rows.map((row) => datedView(row, deps.clock())),
      next_cursor: toCursor(next && { source, period, after: next }),
    };
  } catch (error) {
    throw error instanceof ForeignPositionError ? badCursor() : error;
  }
}

function filterOf(input: ListInput, created: Period | undefined): SearchFilter {
  const send_status = SEND_STATUSES.find((status) => status === input.status);
  return { ...searchFilter(input), ...(send_status && { send_status }), ...(created && { created }) };
}

function partsOf(
  search: OperatorSearch,
  { source, period }: Omit<Place, 'after'>,
  filter: SearchFilter,
  cursor: Place | undefined,
): AsyncGenerator<FoundPart> {
  return source === 'created'
    ? search.createdParts(period, filter, cursor?.after)
    : search.workParts(source, ALWAYS, filter, cursor?.after);
}

/** A notification by its log_id; with a tenant also the copies of a notification_id. */
async function findExactly(q: string, input: ListInput, deps: ConsoleDeps): Promise<NotificationView[]> {
  const { tenant, limit } = input;
  const now = deps.clock();
  const filter = searchFilter(input);
  const found: ForeignRow[] = [];
  const row = await deps.rows.read(q);
  if (row !== undefined) found.push({ ...row });
  if (tenant !== undefined) {
    const copies = readCopies(deps.dynamodb, deps.deployment.tables.notification_log, {
      tenant_id: tenant,
      notification_id: q,
      shards: (await deps.shards()).work,
    });
    try {
      found.push(...(await readPage(copies, limit, () => true)).rows);
    } catch (error) {
      if (error instanceof CrowdedKeyError) throw crowded();
      throw error;
    }
  }
  return found.filter((one) => matches(one, filter) && !isGone(one, now)).map((one) => datedView(one, now));
}

/** Rows of others share the index key of the notification_id: neither their ids nor their number is told. */
function crowded(): Problem {
  const message = 'cannot be looked up as a notification_id at the moment: omit it, and find its copies by from and to';
  return new Problem('invalid-request', `q ${message}.`, { errors: [{ path: 'q', rule: 'crowded', message }] });
}
