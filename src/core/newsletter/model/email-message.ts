import type { ChunkKey } from './chunk.ts';

/** Messages of the queue newsletter-prepare: count the members, or run the job of an email. */
export type PrepareMessage =
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
  /** The refusal counts as a try of the recipient; only with `pending`. */
  readonly tried?: true;
  readonly message_id?: string;
}

/** Messages of the queue newsletter-send: send a batch in a slot of its email, or record what could not be recorded. */
export type SendMessage =
  | {
      readonly version: 1;
      readonly kind: 'batch';
      readonly email_id: string;
      readonly batch_id: string;
      readonly slot: string;
    }
  | ({ readonly version: 1; readonly kind: 'record' } & ChunkKey & { readonly outcome: CallOutcome });
