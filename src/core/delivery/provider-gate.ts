import type { ErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { SendResult } from './sender.ts';

/** Whether a claimed notification's provider may be called now. */
export type Admission =
  | {
      readonly do: 'send';
      /** Takes note of the answer. @returns whether the provider is down, so that a failure is not the notification's. */
      report(result: SendResult): Promise<boolean>;
    }
  | {
      readonly do: 'hold';
      readonly until: string;
      /** What the provider failed with last. */
      readonly error_type: ErrorType;
      /** The breaker that holds it, as providerKey names it. */
      readonly breaker: string;
    };

/** Stands before the senders and keeps attempts from a provider that is down. Never rejects. */
export interface ProviderGate {
  /** @param forced the operator insists: it is sent, and what it meets counts as a probe's answer. */
  admit(row: NotificationRow, forced: boolean): Promise<Admission>;
}

const send: Admission = { do: 'send', report: async () => false };

/** For what nobody knows the provider of. */
export const PASS_THROUGH: ProviderGate = { admit: async () => send };
