import { createHmac, createSecretKey } from 'node:crypto';
import type { Deployment } from '../adapters/deployment/deployment.ts';
import { readNotes } from '../adapters/dynamodb/delivery/content-items.ts';
import { readRecords } from '../adapters/dynamodb/delivery/delivery-stores.ts';
import { decrypt, encrypt } from '../adapters/sealing/sealer.ts';
import { recipientHash } from '../adapters/signing/hashed-ids.ts';
import { defined } from '../core/model/collections.ts';
import { isGone } from '../core/model/history-index.ts';
import {
  asNotification,
  type ForeignRow,
  type NotificationRow,
  type RetryRecord,
  SEND_STATUSES,
} from '../core/model/notification.ts';
import { Problem } from '../core/model/problem.ts';
import { type RowState, stateOf } from '../core/model/row-state.ts';
import { withoutAddresses } from '../core/model/text.ts';
import { DAY_MS } from '../core/model/time.ts';
import type { AuditRecord } from '../core/operator/audit.ts';
import { ALWAYS, matches, periodOf, type SearchFilter } from '../core/operator/search-filter.ts';
import { type BreakerStatus, holderOf } from '../core/operator/views/held.ts';
import { datedView, heldBy, heldView, remedyFor, viewOf } from '../core/operator/views/notification-view.ts';
import { invalid } from '../http/check.ts';
import { possibleFor } from './chosen/actions.ts';
import { isOfAnyTenant, type LIST_STATUSES, shellCommand, UNFINISHED_STATUSES } from './contract/choices.ts';
import {
  type AskedBy,
  ATTEMPT_FIELDS,
  type NotificationDetail,
  type NotificationList,
} from './contract/notifications.ts';
import type { OperationFilter } from './contract/operations.ts';
import type { OperatorDeps } from './deps.ts';
import { listCopies, listNotifications } from './list-notifications.ts';
import { breakersNow } from './overview.ts';

/** A filter of the contract as core understands it. @throws Problem for a recipient of any tenant, which only lists find */
export function searchFilter(filter: OperationFilter): SearchFilter {
  if (isOfAnyTenant(filter.recipient_hash))
    throw refused('tenant', 'is needed: what happens to a recipient happens within one tenant');
  const { channel, priority, tenant, error_type, failure_reason, last_error, integration, recipient_hash } = filter;
  const { from, to } = filter;
  return defined({
    channel,
    priority,
    tenant_id: tenant,
    error_type,
    failure_reason,
    last_error,
    integration_config_id: integration,
    recipient_hash,
    created: from || to ? { from: from ?? ALWAYS.from, to: to ?? ALWAYS.to } : undefined,
  });
}

export interface NotificationQuery extends OperationFilter {
  readonly status?: (typeof LIST_STATUSES)[number] | undefined;
  /** A log_id, or with a tenant a notification_id, of any age; else the beginning of either, within the period. */
  readonly q?: string | undefined;
  /** Conditions that only commands have. */
  readonly more?: SearchFilter;
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Reads until the page is full, whatever that costs. */
  readonly full?: boolean;
}

/**
 * One page of the notifications that match: those of any age that are unfinished or dead; or else what was created between
 * `from` and `to`, by default in the last 24 hours. @throws Problem for a cursor of another list
 */
export async function findNotifications(query: NotificationQuery, deps: OperatorDeps): Promise<NotificationList> {
  const { recipient_hash, ...rest } = query;
  if (recipient_hash !== undefined && isOfAnyTenant(recipient_hash))
    return findWithin(rest, await isRecipientOfAny(recipient_hash, deps), deps);
  return findWithin(query, () => true, deps);
}

/**
 * What stands for a recipient in a filter, so that no URL holds it: its hash in the tenant, or, for a list over all
 * tenants, of which each has hashes of its own, the recipient, which only this stage opens.
 */
export async function recipientFilter(
  { tenant, recipient }: { readonly tenant?: string | undefined; readonly recipient: string },
  { recipientHashKey }: Pick<Deployment, 'recipientHashKey'>,
): Promise<string> {
  const key = await recipientHashKey();
  return tenant === undefined ? encrypt({}, recipient, sealingKey(key)) : recipientHash(key, tenant, recipient);
}

const sealingKey = (key: string) => createSecretKey(createHmac('sha256', key).update('search').digest());

async function isRecipientOfAny(sealed: string, { deployment }: OperatorDeps): Promise<(row: ForeignRow) => boolean> {
  const key = await deployment.recipientHashKey();
  const recipient = decrypt(sealed, sealingKey(key));
  if (recipient === undefined) throw refused('recipient_hash', 'was not made by this stage: search again');
  return ({ tenant_id, recipient_hash }) =>
    typeof tenant_id === 'string' && recipient_hash === recipientHash(key, tenant_id, recipient);
}

const refused = (path: string, message: string) => invalid([{ path, rule: 'recipient', message }]);

async function findWithin(
  query: NotificationQuery,
  isMeant: (row: ForeignRow) => boolean,
  deps: OperatorDeps,
): Promise<NotificationList> {
  const { status, q, more, limit, cursor, full = false } = query;
  const now = deps.clock();
  const breakers = await breakersNow(now, deps);
  const view = (row: ForeignRow) => datedView(row, now, breakers);
  const exact = q === undefined || cursor !== undefined ? [] : (await findExactly(q, query, deps)).filter(isMeant);
  if (exact.length > 0) return { notifications: exact.map(view), next_cursor: null };
  const unfinished = UNFINISHED_STATUSES.find((one) => one === status);
  const source = unfinished !== undefined ? 'due' : status === 'dead' ? 'dead' : 'created';
  const send_status = SEND_STATUSES.find((one) => one === status);
  const filter = { ...searchFilter(query), ...more, ...(send_status && { send_status }) };
  const period = () => periodOf(query, now, DAY_MS);
  const begins = (id: unknown) => typeof id === 'string' && id.startsWith(q ?? '');
  const fits = (row: ForeignRow) =>
    isMeant(row) &&
    isIn(unfinished, row, breakers, now) &&
    (q === undefined || begins(row['log_id']) || begins(row['notification_id']));
  const { rows, ...page } = await listNotifications({ source, period, filter, fits, limit, cursor, full }, deps);
  return { notifications: rows.map(view), ...page };
}

type UnfinishedStatus = (typeof UNFINISHED_STATUSES)[number];

/** Whether a row of the work index is in the state, as `ops status` counts them: each in one. */
function isIn(
  status: UnfinishedStatus | undefined,
  row: ForeignRow,
  breakers: readonly BreakerStatus[],
  now: Date,
): boolean {
  if (status === undefined || status === 'unfinished') return true;
  if (holderOf(row, breakers, now) !== undefined) return status === 'held';
  return status === STATUS_OF[stateOf(asNotification(row), now)];
}

/** What else is in the index, such as a delivered row that owes its record, is unfinished and nothing more. */
const STATUS_OF: Readonly<Partial<Record<RowState, UnfinishedStatus>>> = {
  due: 'due',
  abandoned: 'due',
  waiting: 'waiting',
  claimed: 'in_flight',
};

/** A notification by its log_id; with a tenant also the copies of a notification_id. */
async function findExactly(q: string, query: NotificationQuery, deps: OperatorDeps): Promise<ForeignRow[]> {
  const { tenant, limit } = query;
  const filter = searchFilter(query);
  const row = await deps.rows.read(q);
  const byId =
    row !== undefined && matches({ ...row }, filter) && !isGone({ ...row }, deps.clock()) ? [{ ...row }] : [];
  if (tenant === undefined) return byId;
  const request = { tenant_id: tenant, notification_id: q, filter, limit };
  return [...byId, ...(await listCopies(request, deps)).rows];
}

type ShowDeps = Pick<OperatorDeps, 'rows' | 'dynamodb' | 'deployment' | 'clock' | 'local'>;

/** What is stored of a notification, without recipient and message, with its writer's notes, and every attempt. @throws Problem not-found */
export async function showNotification(log_id: string, deps: ShowDeps) {
  const row = await requireNotification(log_id, deps);
  const { notification_retry_log, notification_content } = deps.deployment.tables;
  const now = deps.clock();
  const [attempts, notes, breakers] = await Promise.all([
    readRecords(deps.dynamodb, notification_retry_log, log_id),
    readNotes(deps.dynamodb, notification_content, row),
    breakersNow(now, deps),
  ]);
  const notification = heldView(viewOf({ ...row }, now, notes), { ...row }, breakers, now);
  return { row, notification, attempts, remedy: remedyFor({ ...row }) };
}

/** The same for the page, with what may be done about it. */
export async function notificationForPage(log_id: string, deps: OperatorDeps): Promise<NotificationDetail> {
  const { row, notification, attempts, remedy } = await showNotification(log_id, deps);
  const askers = await askersOf(attempts, deps);
  // The row says when its window began, which a redrive begins anew. The first attempt is that of the records.
  const window_from = notification['first_attempt_at'];
  const first_attempt_at = attempts[0]?.retry_at ?? window_from;
  return {
    notification: {
      ...notification,
      ...(first_attempt_at !== undefined && { first_attempt_at }),
      ...(window_from !== first_attempt_at && { window_from }),
    },
    attempts: attempts.map((record) => {
      const held = heldBy(record);
      const { response_message } = record;
      const shown = Object.entries(record).filter(([name]) => ATTEMPT_FIELDS.has(name));
      const asked_by = askers.get(record.run_id);
      return {
        ...(Object.fromEntries(shown) as typeof record),
        ...(response_message !== undefined && { response_message: withoutAddresses(response_message) }),
        ...(held !== undefined && { held }),
        ...(asked_by !== undefined && { asked_by }),
      };
    }),
    remedy,
    ...possibleFor(row, deps),
  };
}

const BY_HAND = 'manual-';
/** Longest time between the decision of an operator and the attempt that it leads to. */
const AUDITED_MS = DAY_MS;

/** Who asked for the attempts that were made by hand, by their run: an operation, or the audit log's entry. */
async function askersOf(
  attempts: readonly RetryRecord[],
  { operations, audit }: Pick<OperatorDeps, 'operations' | 'audit'>,
): Promise<Map<string, AskedBy>> {
  const byRun = Map.groupBy(
    attempts.filter(({ run_id }) => run_id.startsWith(BY_HAND)),
    ({ run_id }) => run_id,
  );
  const found = await Promise.all(
    [...byRun].map(async ([run_id, [first]]): Promise<[string, AskedBy] | undefined> => {
      const operation_id = /^op-\w+/.exec(run_id.slice(BY_HAND.length))?.[0];
      const operation = operation_id === undefined ? undefined : await operations.read(operation_id);
      if (operation !== undefined && operation_id !== undefined)
        return [run_id, { who: operation.created_by, operation_id, what: operation.kind }];
      const to = first?.retry_at ?? '';
      const from = new Date(Date.parse(to) - AUDITED_MS).toISOString();
      const fits = ({ details = '' }: AuditRecord) => details.includes(JSON.stringify(run_id));
      const { records } = await audit.list({ from, to, limit: 1, fits });
      return records[0] && [run_id, { who: records[0].who, what: records[0].what }];
    }),
  );
  return new Map(found.filter((one) => one !== undefined));
}

/** @throws Problem not-found */
export async function requireNotification(
  log_id: string,
  { rows, local }: Pick<OperatorDeps, 'rows' | 'local'>,
): Promise<NotificationRow> {
  const row = log_id.isWellFormed() ? await rows.read(log_id) : undefined;
  if (row !== undefined) return row;
  throw new Problem(
    'not-found',
    `There is no notification ${log_id}: look for its log_id with \`${shellCommand('list', local)}\`.`,
  );
}
