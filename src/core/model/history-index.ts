import type { ForeignRow } from './foreign-row.ts';
import { fnv1a, shardOf } from './work-index.ts';

/** Partitions of a day's history: 4,000 new notifications a second. Stored, so it must never change. */
export const HISTORY_SHARDS = 4;

/** Two years, in days: his-notification-log-table.md, 特記事項. */
const RETENTION_DAYS = 2 * 365;

/** What makes a row findable after its work is done, and lets it go when it may: written once, never changed. */
export interface HistoryKeys {
  /**
   * Eight hex digits that stand for the row's tenant and notification_id, where it has one. The column itself may be NULL, which no
   * index key may be, and a copy of it would cost the row the bytes that keep it below one write unit.
   */
  readonly notification_key?: string;
  readonly history_bucket: string;
  readonly tenant_created_at: string;
  /** TTL, epoch seconds. */
  readonly expires_at: number;
}

/** Keys of the history index: by day, then tenant, then time. */
export function historyKeys(
  row: { readonly log_id: string; readonly tenant_id: string; readonly notification_id?: unknown },
  created: Date,
): HistoryKeys {
  const { tenant_id, notification_id } = row;
  return {
    ...(typeof notification_id === 'string' &&
      notification_id !== '' && { notification_key: notificationKey(tenant_id, notification_id) }),
    history_bucket: historyBucket(created.toISOString().slice(0, 10), shardOf(row.log_id, HISTORY_SHARDS)),
    tenant_created_at: `${tenant_id}#${created.toISOString()}`,
    expires_at: expiresAt(created),
  };
}

/**
 * Not unique, and easily made to meet another tenant's on purpose: who looks a notification up by it compares tenant and
 * id, and tells nobody what else is there.
 */
export function notificationKey(tenant_id: string, notification_id: string): string {
  return fnv1a(JSON.stringify([tenant_id, notification_id]))
    .toString(16)
    .padStart(8, '0');
}

/** @param day `YYYY-MM-DD`, UTC */
export function historyBucket(day: string, shard: number): string {
  return `${day}#${shard}`;
}

export function expiresAt(created: Date): number {
  return Math.floor(created.getTime() / 1000) + RETENTION_DAYS * 86_400;
}

/** Characters of `2026-11-01T09:00:00.000Z`. */
export const ISO_LENGTH = 24;

/** As the history index has it, for a writer's own created_at may be written otherwise; empty when unknown. */
export function createdAt(row: ForeignRow): string {
  return String(row['tenant_created_at'] ?? '').slice(-ISO_LENGTH);
}

/** DynamoDB deletes a row days after it has expired. */
export function isGone(row: ForeignRow, now: Date): boolean {
  return Number(row['expires_at'] ?? Number.POSITIVE_INFINITY) * 1000 <= now.getTime();
}
