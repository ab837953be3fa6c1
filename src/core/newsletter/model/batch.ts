import { ExplainedError } from '../../model/problem.ts';
import type { GoneReason } from './member.ts';

/**
 * The state of each recipient of a chunk, one character per recipient in the order of the chunk. Recipients move only
 * forward: pending → claimed → submitted, failed or uncertain; a claim that the provider refused moves back to pending.
 */
export const RECIPIENT_STATES = {
  pending: '.',
  /** A call for the recipient was begun and has not been recorded: shown as pending. */
  claimed: '>',
  submitted: 's',
  excluded: 'x',
  failed: 'f',
  /** The call's answer was lost: never sent again blindly. */
  uncertain: 'u',
} as const;

type RecipientState = keyof typeof RECIPIENT_STATES;
export type RecipientCode = (typeof RECIPIENT_STATES)[RecipientState];

/** States as users see them; a claimed recipient counts as pending. */
export const SHOWN_STATES = ['pending', 'submitted', 'excluded', 'failed', 'uncertain'] as const;
export type ShownState = (typeof SHOWN_STATES)[number];

/** Recipients by state; their sum is the number of recipients. */
export type StateCounts = Readonly<Record<ShownState, number>>;

/** Why a recipient gets no mail, frozen by the preparation or found when the chunk goes out. */
export type ExclusionReason =
  | GoneReason
  | 'suppressed'
  | 'unsubscribed'
  | 'malformed_address'
  | 'repeated_address'
  /** Sealed with a key that is gone, or altered: nobody can read the address any more. */
  | 'unreadable_address'
  | 'cancelled';

export const NO_RECIPIENTS: StateCounts = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };

/** Reason of an uncertain recipient that an operator decided to leave so (resolve --leave). */
export const LEFT = 'left';

/** Reason of a failed recipient who was not sent to until the address expired (newsletter.recipientDays). */
export const EXPIRED = 'expired';

/** Most recipients of a batch (batch-sending-service-job.md, 主要な処理内容 3). */
export const BATCH_SIZE = 1_000;

/** Batches of an email: its status, and a window's pace, read all of them. Their ids are in the order of their numbers. */
export const MOST_BATCHES = 20_000;

export const BATCH_STATUSES = ['pending', 'submitting', 'submitted', 'failed'] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** The batch id under which the recipients are stored that the preparation excluded. */
export const EXCLUDED_BATCH = 'excluded';

/** Pending recipients that the provider refused for good, after the last mail of the batch that it accepted. */
export interface Suspects {
  /** Of the email's refusals. */
  readonly round: number;
  /** Reasons by place, `<chunk>-<n>`. Fewer than with which the email holds. */
  readonly places: Readonly<Record<string, string>>;
  /**
   * The email counts them: the batch waits until others show whether everybody is refused. When the batch had been given
   * the slot in which it told; earlier versions wrote true.
   */
  readonly told?: string | true;
}

/**
 * At most 1,000 recipients of an email, of one rendering and one sending domain: a row of email_batches. The
 * preparation writes it after its chunks, as their commit mark.
 */
export interface Batch {
  readonly email_id: string;
  /** The number of the batch in its email, five digits from 00000; EXCLUDED_BATCH for the excluded recipients. */
  readonly batch_id: string;
  readonly tenant_id: string;
  readonly status: BatchStatus;
  /** Each change needs the version that it was read with. */
  readonly version: number;
  /** Index of the rendering that its recipients get, and the beginning of the segments that it stands for. */
  readonly rendering: number;
  readonly member_segment: string;
  readonly fallback_sending_domain: boolean;
  /**
   * The sending domain while warming limits it: senders reserve the batch's mails of its day, and take the fallback for
   * what they do not get. Bounces and complaints of the batch count for its day.
   */
  readonly warmed_domain?: string;
  readonly chunks: number;
  /** By state of the recipients; absolute, so writing it twice is harmless. */
  readonly counts: StateCounts;
  readonly excluded_by_reason: Readonly<Record<string, number>>;
  readonly failed_by_reason: Readonly<Record<string, number>>;
  /** How far the batch was in the last minute or so of its sending: at most eight samples. */
  readonly progress?: readonly ProgressSample[];
  /** An operator had uncertain recipients sent to again: an event may still tell of their first mail. */
  readonly resent?: true;
  /** How many of the uncertain recipients an operator decided to leave so. */
  readonly uncertain_left?: number;
  /** The batch is not gone on with before (a provider that asks to wait, or a pause between tries). */
  readonly not_before?: string;
  /** The sender that works on the batch, and until when without another sign of life. */
  readonly claim_id?: string;
  readonly claim_until?: string;
  /** Provider's failures in a row, for the retry limits. */
  readonly provider_failures?: number;
  /** Tries of recipients up to this number were made before the last retry, and do not count any more. */
  readonly tries_before?: number;
  readonly suspects?: Suspects;
  /** Its events show whether the provider still refuses everybody late. */
  readonly watched?: true;
  /** Message id of the first accepted mail (the source's provider_id). */
  readonly provider_id?: string;
  readonly error_status_code?: number;
  readonly error_message?: string;
  readonly error_data?: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** How many recipients were not pending any more. */
export interface ProgressSample {
  /** Epoch seconds. */
  readonly at: number;
  readonly done: number;
}

export const batchId = (sequence: number): string => String(sequence).padStart(5, '0');

/** Most recipients of a chunk, which is one item and one checkpoint; a call takes at most one chunk. */
export const CHUNK_SIZE = 50;

/** Days for which the addresses of recipients are kept where the stage says nothing else. */
export const RECIPIENT_DAYS = 90;

/** A recipient as the preparation froze it. `n` of the event tags is its place in the chunk, from 0. */
export interface Recipient {
  /** `<email_id>-<batch_id>-<chunk>-<n>`, not stored: made when shown. */
  readonly member_id: string;
  readonly member_uuid: string;
  readonly member_email: string;
  readonly member_name?: string;
}

/** Which chunk: the partition is an email's batch, the number counts from 0. */
export interface ChunkKey {
  readonly email_id: string;
  readonly batch_id: string;
  readonly chunk: number;
}

/** The place of a recipient in its batch, by which the bits of events are kept: the same however full its chunks are. */
export const placeInBatch = (chunk: number, n: number): number => chunk * CHUNK_SIZE + n;

/** Up to 50 recipients, written once by the preparation. */
export interface Chunk extends ChunkKey {
  readonly tenant_id: string;
  readonly recipients: readonly Recipient[];
}

/** The recipients of a chunk can never be read: they were altered, sealed for another place, or are gone. */
export class UnreadableChunkError extends ExplainedError {
  override readonly name = 'UnreadableChunkError';
}

/** One call to the provider for recipients of a chunk; between its claim and its record the outcome is unknown. */
export interface Call {
  readonly call_id: string;
  /** Places in the chunk, ascending. */
  readonly entries: readonly number[];
  /** From then on nobody can be in this call any more: what is not recorded is uncertain. */
  readonly until: string;
}

/** The small state beside a chunk. Each change needs the version that it was read with. */
export interface ChunkState extends ChunkKey {
  readonly version: number;
  /** One character of RECIPIENT_STATES per recipient. */
  readonly states: string;
  /** Reasons of excluded and failed recipients, and of pending ones that were refused, by place in the chunk. */
  readonly reasons: Readonly<Record<string, string>>;
  /** How often a recipient was refused for the time being, by place in the chunk. */
  readonly tries: Readonly<Record<string, number>>;
  /** The call that left a recipient uncertain, by place in the chunk: its answer may still come. */
  readonly unanswered: Readonly<Record<string, string>>;
  /** The provider's message ids, by place in the chunk. */
  readonly message_ids: Readonly<Record<string, string>>;
  /** When the newest mail was sent that was refused late, by place in the chunk: its events come again. */
  readonly refused_at?: Readonly<Record<string, string>>;
  /** The open call: present while entries are claimed. A chunk has one open call at most. */
  readonly call?: Call;
  /** Time of the last recorded call; `processedAt` tells that of a recipient (the source's processed_at). */
  readonly processed_at?: string;
  /** Places by the time of their last call, where that is another one, or where neither state nor tries tell of a call. */
  readonly processed: Readonly<Record<string, readonly number[]>>;
  /** When a call last left a recipient uncertain; present while there are uncertain ones. */
  readonly uncertain_at?: string;
}

/** When the last call for a recipient was recorded; undefined before its first one, and once it is to be sent again. */
export function processedAt({ processed, processed_at, states, tries }: ProcessedState, n: number) {
  const other = Object.keys(processed).find((at) => processed[at]?.includes(n));
  if (other !== undefined) return other;
  const tellsOfCall = SHOW_A_CALL.includes(states.charAt(n)) || tries[n] !== undefined;
  return tellsOfCall ? processed_at : undefined;
}

type ProcessedState = Pick<ChunkState, 'states' | 'tries' | 'processed_at' | 'processed'>;

const SHOW_A_CALL: readonly string[] = [
  RECIPIENT_STATES.submitted,
  RECIPIENT_STATES.failed,
  RECIPIENT_STATES.uncertain,
];

/** The times after a call: one for a whole chunk, or one each. A late record moves no other recipient's. */
export function processedTimes(
  before: ChunkState,
  { states, tries }: Pick<ChunkState, 'states' | 'tries'>,
  { at, places }: { readonly at: string; readonly places: readonly number[] },
): Required<Pick<ChunkState, 'processed_at' | 'processed'>> {
  const { processed_at: last = at } = before;
  const told = { states, tries, processed_at: at > last ? at : last, processed: {} };
  const times = [...states].map((_, n) => (places.includes(n) ? at : processedAt(before, n)));
  const others = [...times.keys()].filter((n) => times[n] !== undefined && times[n] !== processedAt(told, n));
  const processed = Object.fromEntries(Map.groupBy(others, (n) => times[n] ?? at));
  return { processed_at: told.processed_at, processed };
}
