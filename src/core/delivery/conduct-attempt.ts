import type { ErrorType } from '../model/error-types.ts';
import { arrived, hasContent, type NotificationRow } from '../model/notification.ts';
import type { ReceivedMessage } from '../model/queue-message.ts';
import { type Clock, isoAfter } from '../model/time.ts';
import type { Claim } from './claim-plan.ts';
import { TIME_TO_SEND_MS } from './policy/attempt-times.ts';
import { type Held, OUT_OF_TIME, type ProviderGate } from './ports.ts';
import { type SendDeps, send } from './send.ts';
import type { Refused, SendResult } from './sender.ts';

/** An attempt that its worker has claimed the row for. */
export interface ClaimedAttempt {
  /** The row as claimed. */
  readonly row: NotificationRow;
  readonly claim: Claim;
  readonly received: ReceivedMessage;
}

/** How an attempt ended. */
type AttemptOutcome =
  /** Nothing was sent: the notification is given up. */
  | { readonly kind: 'skipped'; readonly reason: ErrorType }
  /** Nothing was sent: an event had shown that an earlier attempt arrived. */
  | { readonly kind: 'arrived' }
  /** Nothing was sent: a breaker is open, a budget or the worker's time is used up, or new content is not stored yet. */
  | { readonly kind: 'held'; readonly hold: Held }
  /** `provider_down`: the provider is down, so a failure does not count against the notification. */
  | { readonly kind: 'sent'; readonly result: SendResult; readonly provider_down: boolean };

export interface ConductedAttempt extends ClaimedAttempt {
  readonly started: Date;
  readonly ended: Date;
  readonly outcome: AttemptOutcome;
}

export interface ConductDeps extends SendDeps {
  readonly gate: ProviderGate;
  readonly clock: Clock;
  /** Milliseconds that the worker still has. */
  readonly timeLeft: () => number;
}

/** What the gate learns of an attempt that it admitted and that is not made: nothing about the provider. */
const NOT_MADE: Refused = {
  ok: false,
  error_type: 'UNKNOWN',
  asked: false,
  counted: false,
  message: 'The worker had no time left to send.',
};

/** The indexer takes new content in within seconds. */
const REPLACED_MS = 60_000;

/** Makes the attempt, unless it is pointless, the provider is down, or its content replaced. Writes nothing. */
export async function conductAttempt(attempt: ClaimedAttempt, deps: ConductDeps): Promise<ConductedAttempt> {
  const { row, claim, received } = attempt;
  const withoutSend = (outcome: AttemptOutcome): ConductedAttempt => {
    const now = deps.clock();
    return { ...attempt, started: now, ended: now, outcome };
  };
  if (arrived(row.delivery_by_attempt)) return withoutSend({ kind: 'arrived' });
  if (claim.skip !== undefined) return withoutSend({ kind: 'skipped', reason: claim.skip });
  // Its writer has corrected it since it was taken in: what is stored may go to the wrong recipient.
  if (hasContent({ ...row })) {
    const until = isoAfter(deps.clock(), REPLACED_MS);
    const { error_type = 'UNKNOWN' } = row;
    return withoutSend({ kind: 'held', hold: { do: 'hold', until, error_type, by: { content: 'replaced' } } });
  }
  const admission = await deps.gate.admit(row, received.message.options?.force ?? false);
  if (admission.do === 'hold') return withoutSend({ kind: 'held', hold: admission });
  // A claim or a gate may have waited for storage. What is sent now could end unrecorded, and be sent again.
  if (deps.timeLeft() < TIME_TO_SEND_MS) {
    await admission.report(NOT_MADE);
    const until = deps.clock().toISOString();
    const error_type = row.error_type ?? NOT_MADE.error_type;
    return withoutSend({ kind: 'held', hold: { do: 'hold', until, error_type, by: OUT_OF_TIME } });
  }
  const started = deps.clock();
  const result = await send(row, started, deps);
  const ended = deps.clock();
  const provider_down = await admission.report(result);
  return { ...attempt, started, ended, outcome: { kind: 'sent', result, provider_down } };
}
