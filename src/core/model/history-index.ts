import sha256 from 'fast-sha256';
import { BASE_SHARDS, type IndexShards } from './index-shards.ts';
import type { ForeignRow } from './notification.ts';
import { expiresAt, parseTime } from './time.ts';
import { shardOf } from './work-index.ts';

/** Attributes by which a row is found after its work is done, and deleted when it expires; written once. */
export interface HistoryKeys {
  /**
   * Eight characters that stand for tenant and notification_id, where the row has one, and the shard. The column itself
   * may be NULL, which an index key must not be, and a copy would take bytes of the kilobyte that a write unit covers.
   */
  readonly notification_key?: string;
  readonly history_bucket: string;
  readonly tenant_created_at: string;
  /** TTL, epoch seconds. */
  readonly expires_at: number;
}

/**
 * Keys of the history index: by day, then tenant, then time.
 * @param terms.kept_from when the retention begins; a row that is older when it comes must not expire while it is due
 */
export function historyKeys(
  row: { readonly log_id: string; readonly tenant_id: string; readonly notification_id?: unknown },
  created: Date,
  { kept_from = created, shards = BASE_SHARDS }: { readonly kept_from?: Date; readonly shards?: IndexShards } = {},
): HistoryKeys {
  const { tenant_id, notification_id } = row;
  return {
    ...(typeof notification_id === 'string' &&
      notification_id !== '' && {
        notification_key: notificationKey(tenant_id, notification_id, shardOf(row.log_id, shards.work)),
      }),
    history_bucket: historyBucket(created.toISOString().slice(0, 10), shardOf(row.log_id, shards.history)),
    tenant_created_at: `${tenantKey(tenant_id)}#${created.toISOString()}`,
    expires_at: expiresAt(created > kept_from ? created : kept_from),
  };
}

/** Characters of `2026-11-01T09:00:00.000Z`. */
const ISO_LENGTH = 24;

const LIKE_A_KEY = /#(?=!*\d{4}-\d\d-\d\dT)/g;
const MARKED = /#!(?=!*\d{4}-\d\d-\d\dT)/g;

/**
 * The tenant in a key of the history index. Whoever jumps over what `A` sent on a day would jump over the tenant
 * `A#2026-07-01T…`, too, whose keys would lie among those of `A`: a mark moves them out of there. Rows from before have none.
 */
export const tenantKey = (tenant_id: string): string => tenant_id.replaceAll(LIKE_A_KEY, '#!');

/** The tenant of a key of the history index; empty without a key. */
export function tenantOfKey(tenant_created_at: string): string {
  return tenant_created_at.slice(0, -ISO_LENGTH - 1).replaceAll(MARKED, '#');
}

/**
 * The partition of a notification's copies. A broadcast is one notification with a copy per recipient, so its copies are
 * spread like the work index. 48 bits of SHA-256: whoever wants a row among another tenant's tries 2^47 ids for each.
 * Some may still meet by chance, so every lookup compares tenant and id, and reveals no other matches.
 */
export function notificationKey(tenant_id: string, notification_id: string, shard: number): string {
  const hash = sha256.hash(new TextEncoder().encode(JSON.stringify([tenant_id, notification_id])));
  const text = btoa(String.fromCharCode(...hash.subarray(0, 6)));
  return `${text.replaceAll('+', '-').replaceAll('/', '_')}#${shard}`;
}

/** @param day `YYYY-MM-DD`, UTC */
export const historyBucket = (day: string, shard: number): string => `${day}#${shard}`;

/** The time in the history index, as a writer may format created_at differently; empty when unknown. */
export function createdAt(row: ForeignRow): string {
  const stored = row['tenant_created_at'];
  const time = typeof stored === 'string' ? stored.slice(-ISO_LENGTH) : '';
  return parseTime(time) === undefined ? '' : time;
}

/** The row has expired. DynamoDB may delete it days later. */
export function isGone(row: ForeignRow, now: Date): boolean {
  const expires = row['expires_at'];
  return typeof expires === 'number' && expires * 1000 <= now.getTime();
}
