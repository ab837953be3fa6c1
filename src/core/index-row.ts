import { CHANNELS, type Channel } from './channels.ts';
import { historyKeys } from './history.ts';
import type { MessageFormat, NotificationContent, NotificationRow } from './notification.ts';
import { PRIORITIES, PRIORITY_OF_LEVEL, type Priority, type PriorityLevel } from './priorities.ts';
import type { RetryPolicy } from './retry-policy.ts';
import { contentFaults, describeFaults, type ForeignRow, rowFaults } from './row-rules.ts';
import { clip } from './settlement.ts';
import { type Clock, parseTime } from './time.ts';
import { workQueueOf } from './work-index.ts';

/** What a row needs so that the pipeline can have it. */
export type IndexPlan =
  /** Take it into the work index; its content moves out of the row, encrypted. */
  | {
      readonly do: 'index';
      readonly set: ForeignRow;
      readonly remove: readonly string[];
      readonly content?: NotificationContent;
    }
  /** A malformed row: FAILED with FORMAT_ERROR, for its writer to correct. */
  | { readonly do: 'set_aside'; readonly set: ForeignRow; readonly why: string }
  | { readonly do: 'ignore' };

const CONTENT_COLUMNS = ['recipient_address', 'subject', 'message_body', 'message_format'] as const;
const FINAL = new Set(['SUCCESS', 'SENDING']);

/** The faults' description is cut to this many characters: it is one of several columns of a small row. */
const FAULT_TEXT = 400;

/**
 * Decides on a row that someone else wrote with nothing but the source documents' columns (design §4, "Rows written by
 * others"). The window of retries opens with the first attempt; where the row does not tell when that was, it is now.
 */
export function planIndex(row: ForeignRow, now: Date, policy: RetryPolicy): IndexPlan {
  const { log_id, tenant_id } = row;
  if (typeof log_id !== 'string' || row['is_deleted'] === true) return { do: 'ignore' };
  const faults = rowFaults(row);
  const inline = CONTENT_COLUMNS.some((column) => typeof row[column] === 'string');
  if (inline) faults.push(...contentFaults(row));
  if (faults.length > 0 || typeof tenant_id !== 'string') return setAside(row, describeFaults(faults), now);
  const created = timeOf(row, 'created_at') ?? now;
  const history = historyKeys({ log_id, tenant_id }, created);
  if (FINAL.has(String(row['send_status']))) return { do: 'index', set: { ...history }, remove: [] };
  return {
    do: 'index',
    set: { ...history, ...workKeys(row, log_id, now, policy), updated_at: now.toISOString() },
    remove: inline ? CONTENT_COLUMNS : [],
    ...(inline && { content: contentOf(row) }),
  };
}

function setAside(row: ForeignRow, why: string, now: Date): IndexPlan {
  const set = {
    send_status: 'FAILED',
    error_type: 'FORMAT_ERROR',
    failure_reason: 'FORMAT_ERROR',
    error_message: clip(why, FAULT_TEXT),
    updated_at: now.toISOString(),
  };
  const { log_id, tenant_id } = row;
  const created = timeOf(row, 'created_at') ?? now;
  const history =
    typeof log_id === 'string' && typeof tenant_id === 'string' ? historyKeys({ log_id, tenant_id }, created) : {};
  return { do: 'set_aside', set: { ...set, ...history }, why };
}

function workKeys(row: ForeignRow, log_id: string, now: Date, policy: RetryPolicy): Partial<NotificationRow> {
  const priority = priorityOf(row);
  const send_attempts = attemptsMade(row);
  const limit = numberOf(row, 'max_retry_count') ?? policy.priorities[priority].max_retries;
  const begun = send_attempts > 0;
  const first_attempt_at = (timeOf(row, 'first_attempt_at') ?? (begun ? now : undefined))?.toISOString();
  return {
    channel: channelOf(row),
    priority,
    send_attempts,
    attempts_left: Math.max(0, limit + 1 - send_attempts),
    retry_count: Math.max(0, send_attempts - 1),
    last_attempt: Math.max(send_attempts - 1, numberOf(row, 'last_attempt') ?? -1),
    ...(first_attempt_at !== undefined && { first_attempt_at }),
    work_queue: workQueueOf('due', priority, log_id),
    work_at: dueTime(row, begun, now).toISOString(),
  };
}

/** Never in the past: what a sweep calls due since the last one has to become due when it enters the index. */
function dueTime(row: ForeignRow, begun: boolean, now: Date): Date {
  const wanted = timeOf(row, 'next_retry_at') ?? (begun ? undefined : timeOf(row, 'scheduled_at')) ?? now;
  return wanted > now ? wanted : now;
}

/** Counted attempts so far. A FAILED row was sent once at least; a PENDING one only if it tells of retries. */
function attemptsMade(row: ForeignRow): number {
  const retries = numberOf(row, 'retry_count') ?? 0;
  const implied = retries > 0 ? retries + 1 : row['send_status'] === 'PENDING' ? 0 : 1;
  return Math.max(numberOf(row, 'send_attempts') ?? 0, implied);
}

function channelOf(row: ForeignRow): Channel {
  const named = row['channel'] ?? String(row['notification_type']).toLowerCase();
  const channel = CHANNELS.find((candidate) => candidate === named);
  if (channel === undefined) throw new Error('A row passed its rules without a channel.');
  return channel;
}

/** The row's own priority, else what its priority_level stands for. */
export function priorityOf(row: ForeignRow): Priority {
  const named = PRIORITIES.find((candidate) => candidate === row['priority']);
  return named ?? PRIORITY_OF_LEVEL[(row['priority_level'] ?? 'MEDIUM') as PriorityLevel];
}

function contentOf(row: ForeignRow): NotificationContent {
  const { subject } = row;
  return {
    recipient: String(row['recipient_address']),
    ...(typeof subject === 'string' && subject !== '' && { subject }),
    body: String(row['message_body']),
    format: (row['message_format'] ?? 'PLAIN') as MessageFormat,
  };
}

function timeOf(row: ForeignRow, column: string): Date | undefined {
  const value = row[column];
  return typeof value === 'string' ? parseTime(value) : undefined;
}

function numberOf(row: ForeignRow, column: string): number | undefined {
  const value = row[column];
  return typeof value === 'number' ? value : undefined;
}

/** NotificationLog and NotificationContent, as the indexer needs them. */
export interface IndexStore {
  /** Applies the change if the row's content and status are still as in the image; false if not, or if it is indexed. */
  index(image: ForeignRow, set: ForeignRow, remove: readonly string[]): Promise<boolean>;
  /** Stores the content, its recipient encrypted; gives the recipient's keyed hash, for searching. */
  putContent(
    owner: { log_id: string; tenant_id: string; expires_at: number },
    content: NotificationContent,
  ): Promise<string>;
  hasContent(log_id: string): Promise<boolean>;
}

export interface IndexDeps {
  readonly store: IndexStore;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
}

export type IndexOutcome = 'indexed' | 'set_aside' | 'ignored' | 'outdated';

/** Takes one row into the index; rejects only when storage fails, and may then be called again. */
export async function indexRow(
  image: ForeignRow,
  { store, policy, clock }: IndexDeps,
): Promise<{ outcome: IndexOutcome; why?: string }> {
  const now = clock();
  const plan = await withContentChecked(planIndex(image, now, policy), image, now, store);
  if (plan.do === 'ignore') return { outcome: 'ignored' };
  if (plan.do === 'set_aside') {
    const done = await store.index(image, plan.set, []);
    return done ? { outcome: 'set_aside', why: plan.why } : { outcome: 'outdated' };
  }
  const found = plan.content && { recipient_hash: await store.putContent(ownerOf(image, plan.set), plan.content) };
  const done = await store.index(image, { ...plan.set, ...found }, plan.remove);
  return { outcome: done ? 'indexed' : 'outdated' };
}

/** A row without content is good only if its content was moved before, as when a writer corrects one set aside. */
async function withContentChecked(
  plan: IndexPlan,
  image: ForeignRow,
  now: Date,
  store: IndexStore,
): Promise<IndexPlan> {
  const waits = plan.do === 'index' && 'work_queue' in plan.set && plan.content === undefined;
  if (!waits || (await store.hasContent(String(image['log_id'])))) return plan;
  return setAside(image, describeFaults(contentFaults(image)), now);
}

function ownerOf(image: ForeignRow, set: ForeignRow): { log_id: string; tenant_id: string; expires_at: number } {
  return {
    log_id: String(image['log_id']),
    tenant_id: String(image['tenant_id']),
    expires_at: Number(set['expires_at']),
  };
}
