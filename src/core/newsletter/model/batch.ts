import type { StateCounts } from './recipient-state.ts';

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
