import type { Notification, Problem } from '../../handover/notification.ts';

/**
 * A notification that a page handed to the queue. `waiting`: it is sent as soon as the network and the entries before it
 * allow. `failed`: it is kept, and sent again when a person says so. `accepted`: the API has it; its content is gone.
 */
export interface QueueEntry {
  /** Grows from entry to entry: the order of sending. */
  readonly id: number;
  readonly state: 'waiting' | 'accepted' | 'failed';
  /** Made once, so that the API accepts the notification once, however often it is sent. */
  readonly idempotency_key: string;
  /** Absent once the API has it. */
  readonly notification?: Notification;
  /** The page's own words for it, which stay. */
  readonly label?: string;
  /** Milliseconds since 1970, like the times below. */
  readonly created_at: number;
  /** Attempts that were answered by a fault, or not at all, from 0. */
  readonly attempts: number;
  /** When it was first sent: the API forgets the key 72 hours after it accepted it. */
  readonly first_sent_at?: number;
  /** It is not sent before this time. */
  readonly not_before?: number;
  /** How long that was when it was decided: a clock that was set back since makes no longer wait of it. */
  readonly wait_ms?: number;
  /** Why it is not accepted yet: a name of the API's problems, `status 503`, or `no answer (…)`. */
  readonly reason?: string;
  /** The API refused it for good. */
  readonly problem?: Problem;
  readonly log_id?: string;
  readonly accepted_at?: number;
}

export type NewEntry = Omit<QueueEntry, 'id'>;

/** Where the entries are kept. A promise that resolves means: it is stored, also if the page closes now. */
export interface EntryStore {
  add(entry: NewEntry): Promise<QueueEntry>;
  /** The waiting entry with the lowest id. */
  first(): Promise<QueueEntry | undefined>;
  /** Stores the entry in place of the one with its id. False, and nothing happens, if that was removed meanwhile. */
  replace(entry: QueueEntry): Promise<boolean>;
  remove(id: number): Promise<void>;
  /** All entries, by id. */
  list(): Promise<QueueEntry[]>;
}
