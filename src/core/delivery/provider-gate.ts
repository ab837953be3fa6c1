import type { ErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { providerKey } from '../model/provider-key.ts';
import type { SendResult } from './sender.ts';

/** The provider may be called. */
interface Admitted {
  readonly do: 'send';
  /** Takes note of the answer. @returns whether the provider is down, so that a failure is not the notification's. */
  report(result: SendResult): Promise<boolean>;
}

/**
/**
 * What holds a notification: the breaker of its provider, by its providerKey, the budget of its channel, content that its
 * writer has put into the row and that is not stored yet, or a worker whose time is nearly over.
 */
export type Holder =
  | { readonly breaker: string }
  | { readonly budget: string }
  | { readonly content: 'replaced' }
  | typeof OUT_OF_TIME;

export const OUT_OF_TIME = { worker: 'out of time' } as const;

/** The provider is down, or its allowance is used up: the notification waits. */
export interface Held {
  readonly do: 'hold';
  /** ISO-8601 UTC. */
  readonly until: string;
  /** When another attempt is worth a try at the soonest: one that must not wait until `until` gets its last chance then. */
  readonly soonest?: string;
  /** The provider's last failure. */
  readonly error_type: ErrorType;
  readonly by: Holder;
}

/** Whether a claimed notification's provider may be called now. */
export type Admission = Admitted | Held;

/** Keeps attempts from a provider that is down or takes no more now. Never rejects. */
export interface ProviderGate {
  /** @param forced an operator forces the attempt: it is sent, and its answer counts like a probe's. */
  admit(row: NotificationRow, forced: boolean): Promise<Admission>;
  /** Whether it would hold the provider's notifications now, as far as it knows without asking anyone. */
  holds?(provider: Parameters<typeof providerKey>[0]): boolean;
}

const send: Admitted = { do: 'send', report: async () => false };

/** Admits everything: for notifications whose provider is unknown. */
export const PASS_THROUGH: ProviderGate = { admit: async () => send };
