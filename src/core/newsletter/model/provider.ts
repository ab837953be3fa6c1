import type { Batch, Chunk, ChunkKey, Recipient } from './batch.ts';
import type { Email, EmailContent, Tracking } from './email.ts';
import type { Pieces } from './merge-fields.ts';

/**
 * A configuration set for each way to track: SES tracks what an event destination of the set takes, so a set without
 * opens and clicks leaves mails as they were written.
 */
export const CONFIGURATION_SETS = [
  { suffix: '', opens: true, clicks: true },
  { suffix: '-opens', opens: true, clicks: false },
  { suffix: '-clicks', opens: false, clicks: true },
  { suffix: '-untracked', opens: false, clicks: false },
] as const;

/** The provider of newsletter mail, SES v2's SendBulkEmail, as the sender needs it. */
export interface BulkProvider {
  /** Makes one call with at most 50 entries; never rejects. The call is not repeated by the adapter. */
  send(call: BulkCall): Promise<BulkAnswer>;
}

/** One call: the rendering is the same for all entries, the values differ. */
export interface BulkCall {
  readonly from: string;
  readonly reply_to?: string;
  /** By which programs sort mail (RFC 2919), without its brackets. */
  readonly list_id?: string;
  /** Absent: opens and clicks. */
  readonly track?: Tracking;
  readonly rendering: Rendering;
  readonly entries: readonly BulkEntry[];
  /** Milliseconds until the call counts as unanswered. */
  readonly timeout_ms: number;
}

export interface BulkEntry {
  readonly to: string;
  /** Values of the merge fields, as members have them: the adapter escapes them for HTML. */
  readonly values: Readonly<Record<string, string>>;
  /** The URL of RFC 8058 that unsubscribes the recipient. */
  readonly unsubscribe_url: string;
  /**
   * email_id, chunk (`<batch_id>-<chunk>`) and n (`<n>-<hash of the address>`): how events find their recipient. The hash
   * outlives the chunk, and needs no tag of its own, which EventBridge's rules could not leave out for older mails.
   */
  readonly tags: Readonly<Record<'email_id' | 'chunk' | 'n', string>>;
}

/** The signed link of a recipient (RFC 8058), and the keyed hash of its address. */
export type LinkOf = (
  place: ChunkKey & { readonly n: number },
  recipient: Pick<Chunk, 'tenant_id'> & Pick<Recipient, 'member_email'>,
) => Promise<{ readonly unsubscribe_url: string; readonly email_hash: string }>;

/** What all members of a rendering get, made once (the source's EmailBodyCache). */
export interface Rendering {
  readonly subject: Pieces;
  readonly html: Pieces;
  readonly text: Pieces;
  /** Bytes of the post's own HTML: the rest is what the template and the footer add. */
  readonly own_bytes?: number;
}

export type BulkAnswer =
  /** One answer per entry, in order. */
  | { readonly kind: 'answered'; readonly entries: readonly EntryAnswer[] }
  /** The provider accepted nothing of the call. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Nothing shows whether the provider accepted the call: time-out, reset, 500. */
  | { readonly kind: 'unknown'; readonly error: string };

export type EntryAnswer =
  | { readonly accepted: true; readonly message_id: string }
  | { readonly accepted: false; readonly refusal: Refusal };

/**
 * What a refusal means:
 * - recipient: permanent, of this recipient alone
 * - content: permanent, of the call or entry; a call is halved until the bad entry stands alone
 * - transient: try the same again after a pause (provider's retries)
 * - overloaded: 503, tried up to 30 times
 * - throttled: the rate is exceeded; costs no try
 * - quota: the quota of the day is used up; costs no try, pauses
 * - unverified: the sender, or in SES's sandbox a recipient, is not verified
 * - account: sending is paused or suspended; everybody is refused
 * - settings: an operator has to mend something (a domain, a right, a configuration set); everybody is refused
 */
type RefusalClass =
  | 'recipient'
  | 'content'
  | 'transient'
  | 'overloaded'
  | 'throttled'
  | 'quota'
  | 'unverified'
  | 'account'
  | 'settings';

export interface Refusal {
  readonly class: RefusalClass;
  /** The provider's status or error code in snake case, for counts: `message_rejected`. */
  readonly reason: string;
  /** The provider's words, without addresses, at most 200 characters. */
  readonly message?: string;
  readonly status_code?: number;
}

/** The post as the members of a batch get it, made once per rendering (the source's EmailBodyCache). */
export interface Renderings {
  of(email: Email, content: EmailContent, batch: Pick<Batch, 'rendering'>): Promise<Rendering>;
}
