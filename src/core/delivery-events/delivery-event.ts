import type { Refused } from '../delivery/sender.ts';

/** What a provider reports about an attempt after it accepted the message. */
export interface DeliveryEvent {
  readonly log_id: string;
  /** The attempt that the event is about: 0 for the first send. */
  readonly attempt: number;
  /** ISO-8601 UTC with milliseconds. */
  readonly at: string;
  readonly provider_message_id: string;
  readonly feedback: Feedback;
}

export type Feedback =
  /** A receiving server took the message; the recipient opened it; the recipient complained about it. */
  | { readonly kind: 'delivered' | 'opened' | 'complained' }
  /**
   * The message did not arrive after all. `final`: this holds also for a message that a receiving server has taken.
   * `suppressed`: the provider sends nothing to this recipient any more.
   */
  | {
      readonly kind: 'failed';
      readonly answer: Omit<Refused, 'ok'>;
      readonly final?: true;
      readonly suppressed?: true;
    }
  /** Something came back that says nothing about the delivery, for instance an automatic reply. */
  | { readonly kind: 'unclear'; readonly message: string };
