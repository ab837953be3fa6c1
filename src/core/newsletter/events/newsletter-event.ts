import type { EventKind } from '../model/delivery-bits.ts';

/** What an event of the provider tells of one recipient. */
export interface NewsletterEvent {
  readonly email_id: string;
  readonly batch_id: string;
  readonly chunk: number;
  /** Place in the chunk, from 0. */
  readonly n: number;
  /** Kinds that it sets; every event but a rejection shows that the provider accepted the mail. */
  readonly kinds: readonly EventKind[];
  /** The address gets no newsletter any more. */
  readonly suppress?: 'bounced' | 'complained';
  /** Nothing was sent after all: the reason. */
  readonly rejected?: string;
}
