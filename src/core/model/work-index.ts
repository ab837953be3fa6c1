import type { Channel } from './channels.ts';
import { PRIORITIES, type Priority } from './priorities.ts';

/**
 * Partitions a priority's work is spread over. One partition takes 1,000 writes a second and time-ordered keys do
 * not split well (facts: DynamoDB), so eight carry a burst of 8,000 a second; an idle sweep pays one small read each.
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

/** The partition a notification is in; its shard never changes. */
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

/** FNV-1a, 32 bits: spreads ids evenly and needs no library. What it gives is stored, so it must never change. */
export function fnv1a(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) {
    hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  }
  return hash;
}

/** What the work index tells of a notification: routing that never changes, and when work is due. */
export interface DueItem {
  readonly log_id: string;
  readonly tenant_id: string;
  readonly channel: Channel;
  readonly priority: Priority;
  readonly work_at: string;
  /** Time of day of the `work_at` for which whoever set it queued a message. */
  readonly queued_for?: string;
}

/** Where a page ended; opaque to the sweep. */
export type PageCursor = Readonly<Record<string, unknown>>;

export interface DueIndex {
  /** One page of a partition, oldest first, from `from` (else the beginning) up to `until`, both included. */
  page(
    work_queue: string,
    options: { until: string; limit: number; from?: string; after?: PageCursor },
  ): Promise<{ items: DueItem[]; next?: PageCursor }>;
}
