import type { Refused } from '../delivery/sender.ts';

/** What a provider tells of an attempt after it took the message. */
export interface DeliveryEvent {
  readonly log_id: string;
  /** The attempt it is about: 0 for the first send. */
  readonly attempt: number;
  /** ISO-8601 UTC with milliseconds. */
  readonly at: string;
  readonly provider_message_id: string;
  readonly told: Told;
}

export type Told =
  /** A receiving server took it; the recipient opened it; the recipient complained about it. */
  | { readonly kind: 'delivered' | 'opened' | 'complained' }
  /** It did not arrive after all. `suppressed`: the provider sends this recipient nothing any more. */
  | { readonly kind: 'failed'; readonly answer: Omit<Refused, 'ok'>; readonly suppressed?: true };
