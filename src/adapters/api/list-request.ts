import * as v from 'valibot';
import type { PublicState } from '../../core/intake/public-state.ts';
import type { Channel, Priority } from '../../core/model/channels.ts';
import { parseTime } from '../../core/model/time.ts';
import type { Period } from '../../core/operator/search-filter.ts';
import { check, invalid } from '../../http/check.ts';
import type { SearchPosition } from '../dynamodb/operator/operator-search.ts';
import { querySchema } from './request-schemas.ts';

interface CommonRequest {
  readonly tenant_id: string;
  readonly status?: PublicState;
  readonly channel?: Channel;
  readonly priority?: Priority;
  /** 1…100 */
  readonly limit: number;
}

/** A request for the notifications of a period. */
export interface ListRequest extends CommonRequest {
  /** When the notifications were handed over. */
  readonly period: Period;
  readonly after?: SearchPosition;
}

/** A request for the copies of one notification, of all time unless a period is given. */
export interface CopiesRequest extends CommonRequest {
  readonly notification_id: string;
  readonly period?: Period;
  /** The log_id to continue after. */
  readonly after?: string;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
/** Each day of a period costs a few reads, even if nothing happened on it. */
const MAX_DAYS = 31;

/** @throws Problem */
export function readListRequest(
  query: Readonly<Record<string, string | undefined>>,
  tenant_id: string,
  now: Date,
): ListRequest | CopiesRequest {
  const { from, to, limit, cursor, ...filter } = check(querySchema, query);
  if (filter.notification_id !== undefined) {
    const found = cursor === undefined ? undefined : decodeCopiesCursor(cursor, filter.notification_id);
    const given = from !== undefined || to !== undefined ? periodOf(from, to, now) : undefined;
    const period = found === undefined ? given : found.period;
    const after = found && { after: found.after };
    return { ...filter, tenant_id, limit: Number(limit), ...(period && { period }), ...after } as CopiesRequest;
  }
  const found = cursor === undefined ? undefined : decodeCursor(cursor, tenant_id);
  const period = found?.period ?? periodOf(from, to, now);
  return {
    ...filter,
    tenant_id,
    period,
    limit: Number(limit),
    ...(found && { after: found.after }),
  } as ListRequest;
}

function periodOf(from: string | undefined, to: string | undefined, now: Date): Period {
  const end = (to === undefined ? undefined : parseTime(to)) ?? now;
  const start = (from === undefined ? undefined : parseTime(from)) ?? new Date(end.getTime() - DEFAULT_DAYS * DAY_MS);
  if (start > end) throw invalid([{ path: 'from', rule: 'before_to', message: 'must not be later than to' }]);
  if (end.getTime() - start.getTime() > MAX_DAYS * DAY_MS) {
    throw invalid([{ path: 'from', rule: 'max_days', message: `must be at most ${MAX_DAYS} days before to` }]);
  }
  return { from: start.toISOString(), to: end.toISOString() };
}

/** DynamoDB refuses a key with half a surrogate pair. */
const text = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(200),
  v.check((value) => value.isWellFormed()),
);
const moment = v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/));
const span = v.strictObject({ from: moment, to: moment });
const cursorSchema = v.strictObject({
  period: span,
  after: v.strictObject({ partition: text, sort: text, log_id: text }),
});

const copiesCursorSchema = v.strictObject({ notification_id: text, period: v.optional(span), after: text });

export function encodeCursor(period: Period, after: SearchPosition): string {
  return encoded({ period, after });
}

export function encodeCopiesCursor({ notification_id, period }: CopiesRequest, after: string): string {
  return encoded({ notification_id, period, after });
}

function encoded(cursor: object): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

function parsed<S extends v.GenericSchema>(schema: S, cursor: string) {
  const text = Buffer.from(cursor, 'base64url').toString();
  return v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text);
}

/** The index key is made from the tenant of the request, so a cursor never leads to another tenant's rows. */
function decodeCopiesCursor(cursor: string, notification_id: string): v.InferOutput<typeof copiesCursorSchema> {
  const { success, output } = parsed(copiesCursorSchema, cursor);
  if (success && output.notification_id === notification_id) return output;
  throw badCursor();
}

/** The position must lie in the tenant's part of the index and in the period; otherwise DynamoDB would refuse it. */
function decodeCursor(cursor: string, tenant_id: string): v.InferOutput<typeof cursorSchema> {
  const { success, output } = parsed(cursorSchema, cursor);
  if (success) {
    const { period, after } = output;
    const days = (Date.parse(period.to) - Date.parse(period.from)) / DAY_MS;
    const inside = after.sort >= `${tenant_id}#${period.from}` && after.sort <= `${tenant_id}#${period.to}`;
    const onDay = /^\d{4}-\d{2}-\d{2}#\d$/.test(after.partition);
    if (days >= 0 && days <= MAX_DAYS && inside && onDay) return output;
  }
  throw badCursor();
}

export function badCursor() {
  const message = 'is not a cursor of this list: use next_cursor from its answer, or omit it';
  return invalid([{ path: 'cursor', rule: 'cursor', message }]);
}

export function crowdedKey() {
  const message = 'cannot be looked up at the moment: omit it, and find its copies by from and to';
  return invalid([{ path: 'notification_id', rule: 'crowded', message }]);
}
