import { type Channel, PRIORITIES, type Priority } from './channels.ts';
import { errorTypeIn } from './error-types.ts';
import { BASE_SHARDS, MOST_SHARDS } from './index-shards.ts';
import { type ForeignRow, type NotificationRow, UPDATED_BY } from './notification.ts';

export type WorkState = 'due' | 'dead';

export interface WorkQueue {
  readonly state: WorkState;
  readonly priority: Priority;
  readonly shard: number;
}

const workQueueName = ({ state, priority, shard }: WorkQueue): string => `${state}#${priority}#${shard}`;

/** Where a notification enters the work index. @param shards as its writer knows them (index-shards.ts) */
export function workQueueOf(
  state: WorkState,
  priority: Priority,
  log_id: string,
  shards: number = BASE_SHARDS.work,
): string {
  return workQueueName({ state, priority, shard: shardOf(log_id, shards) });
}

/**
 * The partition of a row that changes its state. It keeps its shard, whatever number of shards is configured now; a row
 * that has left the index enters one that everyone reads.
 */
export function movedQueue(
  state: WorkState,
  { work_queue, priority, log_id }: Pick<NotificationRow, 'work_queue' | 'priority' | 'log_id'>,
): string {
  const shard = work_queue === undefined ? undefined : parseWorkQueue(work_queue)?.shard;
  return shard === undefined || shard >= MOST_SHARDS
    ? workQueueOf(state, priority, log_id)
    : workQueueName({ state, priority, shard });
}

/** What all partitions of a state and priority begin with. */
export const workQueuePrefix = (state: WorkState, priority: Priority): string => `${state}#${priority}#`;

export function parseWorkQueue(name: string): WorkQueue | undefined {
  const [state, priority, shard] = name.split('#');
  if (state !== 'due' && state !== 'dead') return undefined;
  const known = PRIORITIES.find((candidate) => candidate === priority);
  if (known === undefined || shard === undefined || !/^\d+$/.test(shard)) return undefined;
  return { state, priority: known, shard: Number(shard) };
}

/** Whether the row is listed among the dead. */
export function isListedDead({ work_queue }: { readonly work_queue?: unknown }): boolean {
  return typeof work_queue === 'string' && work_queue.startsWith('dead#');
}

/**
 * The pipeline has given the row up, and no work is left on it. Anyone may write a failure_reason; one of ours has a reason
 * that we know, and either our name on the row, or the time when it was last due.
 */
export function isGivenUp({ failure_reason, updated_by, work_at, work_queue }: ForeignRow): boolean {
  const known = errorTypeIn(failure_reason) !== undefined;
  return known && work_queue === undefined && (updated_by === UPDATED_BY || work_at !== undefined);
}

/**
 * How an image of a row says that it has ended: SUCCESS after an attempt of ours, also while its retry record is owed; or
 * FAILED with a reason of ours and no work left: dead, stopped, cancelled, deleted, erased, set aside.
 */
export function endOf(row: ForeignRow): 'delivered' | 'given_up' | undefined {
  const { send_status, last_attempt, failure_reason } = row;
  if (send_status === 'SUCCESS') return Number(last_attempt ?? -1) >= 0 ? 'delivered' : undefined;
  // The indexer takes any other row with a reason in as work.
  const isDead = isListedDead(row) && errorTypeIn(failure_reason) !== undefined;
  return send_status === 'FAILED' && (isDead || isGivenUp(row)) ? 'given_up' : undefined;
}

/** The attempts that came back, for good or for now. One that was opened after all has not. */
export function cameBackOf({ delivery_by_attempt }: { readonly delivery_by_attempt?: unknown }): number[] {
  return Object.entries(delivery_by_attempt ?? {}).flatMap(([attempt, evidence]) =>
    evidence === 'bounced' || evidence === 'soft_bounced' ? [Number(attempt)] : [],
  );
}

/** @param shards as many as the stage ever had */
export function allShards(state: WorkState, priority: Priority, shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => workQueueName({ state, priority, shard }));
}

export const shardOf = (id: string, shards: number): number => fnv1a(id) % shards;

/** FNV-1a, 32 bits: spreads ids evenly and needs no library. Its results are stored, so it must never change. */
export function fnv1a(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) {
    hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash;
}

/** What the work index holds of a notification: its routing, which never changes, and when its work is due. */
export interface DueItem {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly work_at: string;
  /** Time of day of the `work_at` for which a message is queued already, or, after a `~`, expected. */
  readonly queued_for?: string;
}

/** A broken rule, under the name that a person would look up. */
export interface RowFault {
  readonly column: string;
  /** The constraint's name where the table document has one, else the kind of rule. */
  readonly rule: string;
  readonly expected: string;
}

export interface MalformedEntry {
  readonly log_id: string;
  readonly work_queue: string;
  readonly work_at: string;
  readonly faults: readonly RowFault[];
}

/** Where a page ended; only the adapter reads it. */
export type PageCursor = Readonly<Record<string, unknown>>;

export interface PageQuery {
  /** Earliest `work_at`, included; absent: from the beginning. */
  readonly from?: string;
  /** Latest `work_at`, included. */
  readonly until: string;
  /** Entries that are read, those of other channels included. */
  readonly limit: number;
  readonly after?: PageCursor;
  /** Absent: of all. The index reads the others, too, and leaves them out, at a tenth of our time for them. */
  readonly channels?: readonly Channel[];
}

export interface WorkPage {
  /** Oldest first. */
  readonly items: DueItem[];
  /** Entries that break a rule (work-rules.ts); they are never among the items. */
  readonly malformed?: readonly MalformedEntry[];
  /** Absent on the last page. */
  readonly next?: PageCursor;
}

export interface DueIndex {
  /** Partitions per state and priority that hold rows: as many as the stage ever had. */
  shards(): Promise<number>;
  page(work_queue: string, query: PageQuery): Promise<WorkPage>;
}

/** The partitions of a state, highest priority first. @param shards as many as the stage ever had */
export function workPartitions(state: WorkState, shards: number, priority?: Priority): string[] {
  return PRIORITIES.filter((candidate) => priority === undefined || candidate === priority).flatMap((candidate) =>
    allShards(state, candidate, shards),
  );
}

/** Where the next page of each partition begins: null at the start, `end` after the last page. */
export type PartitionCursors = readonly (PageCursor | 'end' | null)[];

export interface PartitionPages {
  /** One page per partition, in the order of the partitions; empty for a partition that has ended. */
  readonly pages: readonly WorkPage[];
  /** Absent when every partition has ended. */
  readonly next?: PartitionCursors;
}

/** Reads the next page of each partition, side by side, so that no partition waits for the end of another. */
export async function readPartitions(
  index: DueIndex,
  partitions: readonly string[],
  query: Omit<PageQuery, 'after'>,
  cursors?: PartitionCursors,
): Promise<PartitionPages> {
  const pages = await Promise.all(
    partitions.map(async (partition, i): Promise<WorkPage> => {
      const after = cursors?.[i] ?? undefined;
      if (after === 'end') return { items: [] };
      return index.page(partition, { ...query, ...(after && { after }) });
    }),
  );
  const ended = pages.every((page) => page.next === undefined);
  return { pages, ...(!ended && { next: pages.map((page) => page.next ?? 'end') }) };
}
