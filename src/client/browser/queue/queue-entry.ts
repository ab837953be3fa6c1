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

/** Milliseconds. The longest wait by which one entry holds those behind it. */
export const LONGEST_HOLD_MS = 5 * 60_000;

/** Whether those behind an entry go first: it waits for longer than they may be held by what somebody answered. */
export const isPassedBy = ({ not_before = 0, wait_ms = 0 }: QueueEntry, now: number): boolean =>
  wait_ms > LONGEST_HOLD_MS && not_before > now;

/** The first that is not passed by; without one, that whose wait ends first. @param waiting in their order */
export function firstToSend(waiting: readonly QueueEntry[], now: number): QueueEntry | undefined {
  const byEnd = () => [...waiting].sort((a, b) => (a.not_before ?? 0) - (b.not_before ?? 0));
  return waiting.find((entry) => !isPassedBy(entry, now)) ?? byEnd()[0];
}

export type NewEntry = Omit<QueueEntry, 'id'>;

/** Where the entries are kept. A promise that resolves means: it is stored, also if the page closes now. */
export interface EntryStore {
  add(entry: NewEntry): Promise<QueueEntry>;
  /** The entry that is sent next: as `firstToSend` says. */
  first(now: number): Promise<QueueEntry | undefined>;
  /** Stores the entry in place of the one with its id. False, and nothing happens, if that was removed meanwhile. */
  replace(entry: QueueEntry): Promise<boolean>;
  remove(id: number): Promise<void>;
  /** All entries, by id. */
  list(): Promise<QueueEntry[]>;
}
