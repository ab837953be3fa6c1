import type { Delivery, ProviderGate } from '../delivery/ports.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { ReceivedMessage } from '../model/queue-message.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import type { Clock } from '../model/time.ts';
import type { ExceededLimit } from './pacer.ts';
import type { Allowance, Ask } from './plan-reservation.ts';
import type { ReceiverAsk } from './receiver-pacer.ts';

/** The receiver of a notification, whose rate is limited. */
export type PacedReceiver = Pick<ReceiverAsk, 'key' | 'per_second' | 'tenant'>;

/** The budgets of a channel, as its function needs them. None of the calls rejects. */
export interface Budgets {
  /** Of the account. The adapter gathers what a batch asks for at the same moment. */
  reserve(ask: Ask): Promise<Allowance>;
  exceeded(limit: ExceededLimit): Promise<void>;
  /** Of a receiver, gathered as well. */
  reserveAt(ask: ReceiverAsk): Promise<Allowance>;
  blocked(key: string, until: number): Promise<void>;
}

export interface AdmissionDeps {
  /** Asked for what a budget admits. */
  readonly breakers: ProviderGate;
  readonly channel: string;
  readonly budgets: Budgets;
  /**
   * `account`: everything that the channel sends shares one budget, so it is reserved before the rows are claimed.
   * Otherwise: the receiver of a row, undefined when no rate limits it. Never rejects.
   */
  readonly receiver: 'account' | ((row: NotificationRow) => Promise<PacedReceiver | undefined>);
  /**
   * Whether a row's tenant may use its integration, as far as that is known. If not, its attempt is refused without
   * asking the provider: it takes nothing of the budget or the breaker of those who may. Never rejects.
   */
  readonly mayUse: (
    owner: Pick<Delivery, 'tenant_id' | 'integration_config_id' | 'chosen_by_tenant'>,
  ) => Promise<boolean>;
  /** The row of a message as it is now, if it is to be claimed for a send. */
  readonly rowToSend: (received: ReceivedMessage) => Promise<NotificationRow | undefined>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
}

export interface Postponed {
  readonly received: ReceivedMessage;
  readonly delay_seconds: number;
  /** What its receiver has given it. */
  readonly slot?: string;
}

export interface AdmissionGate {
  /** Before the claims: what of a batch may be sent now, and when the rest may try again. Never rejects. */
  screen(batch: readonly ReceivedMessage[]): Promise<Admitted>;
}

/** What was decided for a batch before its rows are claimed, and the answer for each row that is. */
export interface Admitted extends ProviderGate {
  readonly now: readonly ReceivedMessage[];
  readonly later: readonly Postponed[];
  /** Seconds that its attempts have waited for their slots so far. */
  readonly waited: number;
}
