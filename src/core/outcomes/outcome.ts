import type { ForeignRow } from '../model/notification.ts';
import { isUtcTime } from '../model/time.ts';

/** `source` of every outcome on the bus. */
export const OUTCOME_SOURCE = 'notification-retry';

/** The `detail-type` of each outcome. A contract: kinds and fields are added, never renamed. */
export type OutcomeKind =
  | 'Notification Delivered'
  | 'Notification Given Up'
  | 'Notification Bounced'
  | 'Provider Down'
  | 'Provider Up'
  | 'Email Ended'
  | 'Member Unsubscribed'
  | 'Member Suppressed';

/** What producers are told: ids and states, never an address or content (docs/reference/outcomes.md). */
export interface OutcomeDetail {
  readonly version: 1;
  /** The same for each repetition: a receiver that keeps it handles an outcome once. */
  readonly event_id: string;
  /** When it happened, ISO-8601 UTC. */
  readonly at: string;
  readonly tenant_id?: string;
  readonly log_id?: string;
  readonly notification_id?: string;
  readonly channel?: string;
  readonly provider?: string;
  readonly priority?: string;
  /** Attempts that count against the limit, the first send included. */
  readonly attempts?: number;
  readonly status?: string;
  readonly failure_reason?: string;
  readonly error_type?: string;
  /** The notification that continues this one on its fallback channel, and the one that this one continues. */
  readonly successor_log_id?: string;
  readonly predecessor_log_id?: string;
  readonly newsletter_id?: string;
  readonly email_id?: string;
  readonly member_id?: string;
  readonly counts?: Readonly<Record<string, number>>;
  readonly traceparent?: string;
}

export interface Outcome {
  readonly kind: OutcomeKind;
  readonly detail: OutcomeDetail;
}

/** A digest of at least 128 bits, as text. */
export type Hash = (text: string) => string;

export interface OutcomeContext {
  readonly hash: Hash;
  /** When the image was committed, ISO-8601 UTC: for an image that says no time of its own. */
  readonly seen_at: string;
}

/** @param identity what makes this outcome another one than all others of its kind */
export function outcomeOf(
  kind: OutcomeKind,
  { identity, at, ...rest }: Omit<OutcomeDetail, 'version' | 'event_id'> & { readonly identity: readonly unknown[] },
  { hash }: Pick<OutcomeContext, 'hash'>,
): Outcome {
  return { kind, detail: { version: 1, event_id: hash(JSON.stringify([kind, ...identity])), at, ...rest } };
}

/** Longest text that an outcome takes over, in characters: an entry of the bus has a limit, and anyone writes rows. */
const LONGEST = 256;

/** Those of the columns that hold a text of usable length: a shortened id would be another one. */
export function textsOf<K extends string>(image: ForeignRow, columns: readonly K[]): { readonly [N in K]?: string } {
  const held = columns.filter((column) => {
    const value = image[column];
    return typeof value === 'string' && value !== '' && value.length <= LONGEST;
  });
  return Object.fromEntries(held.map((column) => [column, image[column]])) as { readonly [N in K]?: string };
}

/** The first of the values that is a time. */
export function timeOf(values: readonly unknown[], otherwise: string): string {
  const time = values.find((value) => typeof value === 'string' && isUtcTime(value));
  return typeof time === 'string' ? time : otherwise;
}
