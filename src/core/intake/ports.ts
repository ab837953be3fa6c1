import type { RecordStore } from '../delivery/ports.ts';
import type { Channel } from '../model/channels.ts';
import type { IndexShards } from '../model/index-shards.ts';
import type { NotificationContent, NotificationRow } from '../model/notification.ts';
import type { Routing } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { Clock } from '../model/time.ts';
import type { PublicState } from './public-state.ts';

/** What a content's item keeps of the request that put it (docs/decisions/intake/idempotency.md#0051). */
export interface IntakeRecord {
  readonly log_id: string;
  readonly request_hash: string;
  /** ISO-8601 UTC with milliseconds. */
  readonly accepted_at: string;
  /** The answer's `status`. A repeat gets the same one, whatever has happened to the notification since. */
  readonly accepted_status: PublicState;
  /** The request that put the item, so that it recognizes its own put when the answer got lost. */
  readonly accepted_by: string;
  /** Of the request that put the item: one that completes it has another. */
  readonly traceparent?: string;
  /** JSON: what the request says beside its content, so that a row that is lost can be put again (new-row.ts). */
  readonly accepted_request?: string;
  /** Only on the first use of a key: how many times the key was used anew, each time after 72 hours. */
  readonly latest_generation?: number;
  /** When an operator erased what the request said: nothing is stored for it any more. */
  readonly erased_at?: string;
  /** TTL, epoch seconds. */
  readonly expires_at: number;
}

/** The columns of a stored row that show whether its message was sent. */
export type StoredRow = Routing & Pick<NotificationRow, 'send_status' | 'last_attempt' | 'work_queue' | 'work_at'>;

/** NotificationContent and NotificationLog, as the intake needs them. */
export interface IntakeStore {
  /** Stores the content if the log_id is free. Otherwise returns the record that is stored. */
  reserve(
    entry: { readonly record: IntakeRecord; readonly tenant_id: string; readonly content: NotificationContent },
    now: Date,
  ): Promise<IntakeRecord | undefined>;
  find(log_id: string): Promise<IntakeRecord | undefined>;
  /** Moves a key's first record to the next generation. Does nothing if another request has moved it already. */
  advance(log_id: string, from_generation: number, expires_at: number): Promise<void>;
  /** Stores the row, with the recipient's hash, if there is none. Otherwise returns the stored row. */
  putRow(row: NotificationRow, recipient: string, now: Date): Promise<StoredRow | undefined>;
  findRow(log_id: string): Promise<StoredRow | undefined>;
}

export interface IntakeDeps {
  readonly store: IntakeStore;
  readonly records: Pick<RecordStore, 'putIfAbsent'>;
  readonly policy: RetryPolicy;
  /** Those of the stage; all unless given. */
  readonly channels?: readonly Channel[];
  /** Over how many partitions new rows are spread. */
  readonly shards: () => Promise<IndexShards>;
  readonly clock: Clock;
  /** Makes a new id for each request and for the run of each message. */
  readonly newId: () => string;
}
