import type { Channel } from '../model/channels.ts';
import type { ErrorType } from '../model/error-types.ts';
import { historyKeys } from '../model/history-index.ts';
import {
  arrived,
  type ForeignRow,
  hasContent,
  mayArrive,
  type NotificationRow,
  UPDATED_BY,
} from '../model/notification.ts';
import { followUp, type QueueMessage, queuedFor } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { stateOf } from '../model/row-state.ts';
import { beginning } from '../model/text.ts';
import { type Clock, expiresAt, isoAfter } from '../model/time.ts';
import { fnv1a, movedQueue } from '../model/work-index.ts';
import { failedBecause, limitOf, REPLACED_MS, type Verdict } from './verdict.ts';

/** How the fallback recipient is reached, without the address. */
export interface FallbackRouting {
  readonly integration_config_id?: string;
  readonly provider_host?: string;
  readonly recipient_hash?: string;
}

/** NotificationLog and NotificationContent, as failover needs them. Each call may be repeated. */
export interface SuccessorStore {
  /**
   * The content for the successor and its recipient. @returns undefined when none is stored for this life of the row
   */
  copyContent(
    row: Pick<NotificationRow, 'log_id' | 'tenant_id' | 'life'>,
    successor: { readonly log_id: string; readonly expires_at: number },
  ): Promise<FallbackRouting | undefined>;
  /** Puts the row unless there is one already. @returns the row that is stored then */
  put(row: SuccessorRow): Promise<NotificationRow>;
}

export interface FailoverDeps {
  readonly rows: { read(log_id: string): Promise<NotificationRow | undefined> };
  readonly successors: SuccessorStore;
  /** Those of the stage; all unless given. What would continue on another one waits for an operator instead. */
  readonly channels?: readonly Channel[];
  readonly policy: RetryPolicy;
  readonly clock: Clock;
}

export interface Failover {
  /** The verdict as it was, or with the successor. */
  readonly verdict: Verdict;
  /** Sends the successor, once the predecessor is settled. */
  readonly message?: QueueMessage;
  /** The row as it was when that was decided: with what others have noted on it since its claim. */
  readonly current?: NotificationRow;
}

/**
 * Reasons that another channel may avoid. A notification that needs an operator (credential, template) waits for one.
 */
export const FAILED_OVER: readonly ErrorType[] = ['MAX_RETRIES', 'EXPIRED', 'INVALID_RECIPIENT'];

/** Longest log_id: his-notification-log-table.md, VARCHAR(50). */
const ID_LENGTH = 50;
const SUFFIX = '-fallback';

/**
 * The log_id of the one successor that a notification can have in this life: deterministic, so that repeated tries create
 * one row. A life is known by the number of its first attempt, the first one by none.
 */
export function successorId(log_id: string, life?: number): string {
  const suffix = life === undefined ? SUFFIX : `${SUFFIX}-${life}`;
  const whole = `${log_id}${suffix}`;
  if (whole.length <= ID_LENGTH) return whole;
  const hash = fnv1a(log_id).toString(16).padStart(8, '0');
  return `${beginning(log_id, ID_LENGTH - suffix.length - hash.length - 1)}-${hash}${suffix}`;
}

/**
 * Continues a notification that is given up on its fallback channel, if it names one. The successor's row is due work
 * once it is put: if the worker crashes after that, the next sweep finds it.
 * @param changed the row has changed since its claim
 */
export async function failOver(
  row: NotificationRow,
  verdict: Verdict,
  run_id: string,
  deps: FailoverDeps,
  { changed } = { changed: false },
): Promise<Failover> {
  if (verdict.status !== 'FAILED') return { verdict };
  const channel = FAILED_OVER.includes(verdict.failure_reason) ? row.fallback_channel : undefined;
  if (channel === undefined && verdict.dead_letter) return { verdict };
  // What cannot be handed on has a letter, also after INVALID_RECIPIENT, which lets an operator retry it.
  const letter: Failover = { verdict: { ...verdict, dead_letter: true } };
  if (channel !== undefined && deps.channels?.includes(channel) === false) return letter;
  const now = deps.clock();
  const isRead = channel !== undefined || changed;
  const current = isRead ? await deps.rows.read(row.log_id) : row;
  // Another worker has claimed the row since, or its writer has put it anew: the outcome is theirs to decide.
  if (current === undefined || !isSameClaim(row, current)) return { verdict };
  const instead = withoutSuccessor(current, verdict, now);
  if (instead !== undefined) return { verdict: instead, current };
  if (channel === undefined) return { verdict, ...(isRead && { current }) };
  const log_id = successorId(row.log_id, row.life);
  const routing = await deps.successors.copyContent(row, { log_id, expires_at: expiresAt(now) });
  if (routing === undefined) return letter;
  const successor = await deps.successors.put(successorOf(row, channel, routing, { now, policy: deps.policy }));
  // A row with this log_id that names another predecessor, or none, is no successor of this one.
  if (successor.predecessor_log_id !== row.log_id) return letter;
  // The successor was withdrawn, as the notification seemed to have arrived, or has ended: an operator decides.
  if (stateOf(successor, now) === 'stopped') return letter;
  const { work_at } = successor;
  const message = work_at === undefined ? undefined : followUp(successor, work_at, run_id);
  const over = { ...verdict, dead_letter: false, successor_log_id: log_id };
  return { verdict: over, current, ...(message && { message }) };
}

/**
 * What becomes of the notification where it must not go on elsewhere.
 * @param current the row as it is, in the same claim: others have noted on it meanwhile what stops it, or shows that it
 * has arrived, and its writer may have put in what is to be sent instead
 */
function withoutSuccessor(current: NotificationRow, verdict: Ended, now: Date): Verdict | undefined {
  // Of an earlier attempt, whose outcome was uncertain.
  if (arrived(current.delivery_by_attempt)) return { status: 'SUCCESS' };
  const { error_type, failure_reason } = verdict;
  if (failure_reason === 'CANCELLED') return undefined;
  if (isStopped(current)) return failedBecause('CANCELLED', error_type);
  const isReplaced =
    current.fallback_channel === undefined ? mayArrive({ ...current, give_up: failure_reason }) : hasContent(current);
  if (!isReplaced) return undefined;
  // A dead one that was forced waits for its operator, or for the indexer, which takes it in with what was put in.
  if (current.failure_reason !== undefined) return { ...verdict, dead_letter: true };
  return { status: 'RETRY', error_type, next_retry_at: isoAfter(now, REPLACED_MS), counted: true };
}

/** Its writer has deleted it, or an operator has erased or cancelled it. */
function isStopped({ is_deleted, erased_at, failure_reason }: NotificationRow): boolean {
  return is_deleted === true || erased_at !== undefined || failure_reason === 'CANCELLED';
}

type Ended = Extract<Verdict, { status: 'FAILED' }>;

/** The same attempt of the same worker: nobody has claimed the row since, or put it anew. */
function isSameClaim(row: NotificationRow, current: NotificationRow): boolean {
  const claim = ['send_status', 'last_attempt', 'claim_id'] as const;
  return claim.every((column) => current[column] === row[column]);
}

/** The row that continues the notification, also where a worker that crashed has put it and the row does not name it. */
export async function findSuccessor(
  { log_id, fallback_channel, life }: NotificationRow,
  { rows }: Pick<FailoverDeps, 'rows'>,
): Promise<NotificationRow | undefined> {
  const successor = fallback_channel === undefined ? undefined : await rows.read(successorId(log_id, life));
  return successor?.predecessor_log_id === log_id ? successor : undefined;
}

/**
 * Whether the predecessor, as it is, still continues as this successor. Asked between claim and send, so that whoever
 * stops a notification need not find its successor.
 */
export function goesOnAs({ log_id }: NotificationRow, predecessor: NotificationRow | undefined): boolean {
  if (predecessor === undefined || isStopped(predecessor) || predecessor.send_status === 'SUCCESS') return false;
  const isOfThisLife = successorId(predecessor.log_id, predecessor.life) === log_id && predecessor.last_attempt >= 0;
  if (!isOfThisLife) return false;
  return predecessor.failure_reason === undefined ? !hasContent(predecessor) : predecessor.successor_log_id === log_id;
}

/**
 * The successor to withdraw, of a notification that arrived or was cancelled: one that waits. A successor whose attempt is
 * under way, or that has arrived, stays as it is.
 */
export async function withdrawable(
  row: NotificationRow,
  deps: Pick<FailoverDeps, 'rows' | 'clock'>,
): Promise<NotificationRow | undefined> {
  const successor = await findSuccessor(row, deps);
  const waits = successor && ['due', 'waiting'].includes(stateOf(successor, deps.clock()));
  return waits && !arrived(successor.delivery_by_attempt) ? successor : undefined;
}

type SuccessorRow = NotificationRow & ForeignRow;

/** Attributes that the successor takes over. */
const COPIED = [
  'notification_id',
  'setting_id',
  'template_id',
  'traceparent',
  'priority_level',
  'max_retry_count',
  'created_by',
] as const;

export function successorOf(
  row: NotificationRow,
  channel: Channel,
  routing: FallbackRouting,
  { now, policy }: { readonly now: Date; readonly policy: RetryPolicy },
): SuccessorRow {
  const columns: ForeignRow = { ...row };
  const copied = Object.fromEntries(
    COPIED.filter((name) => (columns[name] ?? null) !== null).map((name) => [name, columns[name]]),
  );
  const { tenant_id, priority } = row;
  const log_id = successorId(row.log_id, row.life);
  const at = now.toISOString();
  return {
    ...copied,
    ...historyKeys({ ...copied, log_id, tenant_id }, now),
    ...routing,
    log_id,
    is_deleted: false,
    tenant_id,
    predecessor_log_id: row.log_id,
    channel,
    notification_type: channel.toUpperCase(),
    priority,
    send_status: 'PENDING',
    send_attempts: 0,
    attempts_left: limitOf(row, policy) + 1,
    retry_count: 0,
    last_attempt: -1,
    work_queue: movedQueue('due', row),
    work_at: at,
    ...queuedFor(at, { priority }, now),
    created_at: at,
    updated_at: at,
    updated_by: UPDATED_BY,
  };
}
