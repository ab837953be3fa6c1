import type { Channel } from './channels.ts';
import type { RowFault } from './column-rules.ts';
import { PRIORITIES, type Priority } from './priorities.ts';

/**
 * Partitions per priority and state. A partition takes 1,000 writes per second, and time-ordered keys do not split
 * well (facts: DynamoDB), so eight partitions take a burst of 8,000 per second. A sweep that finds nothing pays one
 * small read for each.
 */
export const WORK_SHARDS = 8;

export type WorkState = 'due' | 'dead';

/** A partition of the work index (design §4). */
export interface WorkQueue {
  readonly state: WorkState;
  readonly priority: Priority;
  readonly shard: number;
}

export function workQueueName({ state, priority, shard }: WorkQueue): string {
  return `${state}#${priority}#${shard}`;
}

/** The partition of a notification. Its shard never changes. */
export function workQueueOf(state: WorkState, priority: Priority, log_id: string): string {
  return workQueueName({ state, priority, shard: shardOf(log_id, WORK_SHARDS) });
}

export function parseWorkQueue(name: string): WorkQueue | undefined {
  const [state, priority, shard] = name.split('#');
  if (state !== 'due' && state !== 'dead') return undefined;
  const known = PRIORITIES.find((candidate) => candidate === priority);
  if (known === undefined || shard === undefined || !/^\d+$/.test(shard)) return undefined;
  return { state, priority: known, shard: Number(shard) };
}

export function allShards(state: WorkState, priority: Priority): string[] {
  return Array.from({ length: WORK_SHARDS }, (_, shard) => workQueueName({ state, priority, shard }));
}

export function shardOf(id: string, shards: number): number {
  return fnv1a(id) % shards;
}

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
  /** Time of day of the `work_at` for which a message is queued already. */
  readonly queued_for?: string;
}

/** An entry of the work index that cannot be routed. */
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
  /** Most items of the page. */
  readonly limit: number;
  readonly after?: PageCursor;
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
  page(work_queue: string, query: PageQuery): Promise<WorkPage>;
}
