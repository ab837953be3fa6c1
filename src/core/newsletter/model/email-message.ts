import type { ChunkKey } from './batch.ts';

/** Messages of the queue newsletter-prepare: count the members, run the job of an email, or go on with a dry run. */
export type PrepareMessage =
  | { readonly version: 1; readonly kind: 'dry-run'; readonly email_id: string }
  | { readonly version: 1; readonly kind: 'count'; readonly email_id: string }
  | { readonly version: 1; readonly kind: 'start'; readonly email_id: string };

/** The outcome of a call as it is recorded: ids and statuses, no address. Places are those in the chunk. */
export interface CallOutcome {
  readonly call_id: string;
  /** New state of each entry of the call. */
  readonly outcomes: readonly EntryOutcome[];
  readonly at: string;
}

export interface EntryOutcome {
  readonly n: number;
  /** `pending`: refused for the time being, to be sent again. */
  readonly state: 'submitted' | 'failed' | 'uncertain' | 'pending';
  readonly reason?: string;
  /** Tries of the recipient, this one included; only with `pending`, where the refusal counts. */
  readonly tries?: number;
  readonly message_id?: string;
}

/** An operator's decision about uncertain recipients: send to them again, or leave it at that. */
export const RESOLUTIONS = ['resend', 'leave'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/**
 * Messages of the queue newsletter-send: send a batch in a slot of its email, record what could not be recorded, or go on
 * with a decision about uncertain recipients.
 */
export type SendMessage =
  | {
      readonly version: 1;
      readonly kind: 'batch';
      readonly email_id: string;
      readonly batch_id: string;
      readonly slot: string;
    }
  | {
      readonly version: 1;
      readonly kind: 'resolve';
      readonly email_id: string;
      readonly action: Resolution;
      /** When the operator decided: what became uncertain later is not meant. */
      readonly seen_at: string;
      /** The last batch that was decided about. */
      readonly after: string;
    }
  | ({ readonly version: 1; readonly kind: 'record' } & ChunkKey & { readonly outcome: CallOutcome });
