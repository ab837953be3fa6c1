import type { ErrorType, ProviderErrorType } from '../model/error-types.ts';
import { arrived, hasContent, INTAKE_API, mayArrive, type NotificationRow } from '../model/notification.ts';
import { type Clock, isoAfter, whenAborted } from '../model/time.ts';
import { traceOf } from '../model/trace.ts';
import type { Attempt, AttemptOutcome } from './attempt.ts';
import { goesOnAs } from './failover.ts';
import { TIME_TO_SEND_MS } from './policy/attempt-times.ts';
import {
  type ClaimStore,
  type ContentStore,
  ContentUnreadableError,
  type Delivery,
  OUT_OF_TIME,
  type ProviderGate,
  type Refused,
  type Sender,
  type SendResult,
} from './ports.ts';
import { REPLACED_MS } from './verdict.ts';

export interface ConductDeps extends SendDeps {
  readonly gate: ProviderGate;
  readonly rows: ClaimStore;
  readonly clock: Clock;
  /** Milliseconds that the worker still has. */
  readonly timeLeft: () => number;
}

/** Reported to the gate for an attempt that it admitted and that was not made. It says nothing about the provider. */
const NOT_MADE: Refused = {
  ok: false,
  error_type: 'UNKNOWN',
  asked: false,
  counted: false,
  message: 'The worker had no time left to send.',
};

/** Makes the attempt, unless it is pointless or has to wait. Writes nothing. */
export async function conductAttempt(attempt: Attempt<'claimed'>, deps: ConductDeps): Promise<Attempt<'made'>> {
  const { row, claim, received } = attempt;
  const withoutSend = (outcome: AttemptOutcome): Attempt<'made'> => {
    const now = deps.clock();
    return { ...attempt, started: now, ended: now, outcome };
  };
  if (arrived(row.delivery_by_attempt)) return withoutSend({ kind: 'arrived' });
  if (claim.skip !== undefined && !isReplaced(row, claim.skip))
    return withoutSend({ kind: 'skipped', reason: claim.skip });
  // Its writer has put new content into the row, which the indexer has not stored yet. The stored one may name a wrong
  // recipient, whose bounce would end the notification.
  if (hasContent(row)) {
    const until = isoAfter(deps.clock(), REPLACED_MS);
    const { error_type = 'UNKNOWN' } = row;
    return withoutSend({ kind: 'held', hold: { do: 'hold', until, error_type, by: { content: 'replaced' } } });
  }
  const { predecessor_log_id } = row;
  if (predecessor_log_id !== undefined) {
    const asked = await askPredecessor(row, predecessor_log_id, deps);
    if (asked !== undefined) return withoutSend(asked);
  }
  const admission = await deps.gate.admit(row, received.message.options?.named ?? false);
  if (admission.do === 'hold') return withoutSend({ kind: 'held', hold: admission });
  // The claim or the gate may have waited for storage. Without time to record it, an accepted attempt is made twice.
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
  return { ...attempt, started, ended, outcome: { kind: 'sent', result, provider_down, paced: admission.paced } };
}

/** Whether the reason not to send is of earlier content: its writer has put in new one, with attempts of its own. */
function isReplaced(row: NotificationRow, reason: ErrorType): boolean {
  if (reason === 'CANCELLED') return false;
  return reason === row.give_up ? mayArrive(row) : hasContent(row);
}

/** @returns why the successor is not sent; undefined where its predecessor goes on as this one */
async function askPredecessor(
  row: NotificationRow,
  predecessor_log_id: string,
  { rows }: ConductDeps,
): Promise<AttemptOutcome | undefined> {
  try {
    return goesOnAs(row, await rows.read(predecessor_log_id)) ? undefined : { kind: 'skipped', reason: 'CANCELLED' };
  } catch (error) {
    // Nobody was asked to deliver anything, so no retry is used up.
    const result = { ...failedOfOurs(error, 'The predecessor could not be read'), counted: false };
    return { kind: 'sent', result, provider_down: false };
  }
}

export interface SendDeps {
  readonly contents: ContentStore;
  readonly sender: Sender;
  /** Runs with a signal that aborts when the time for one send is over. */
  readonly inSendTime: <T>(run: (signal: AbortSignal) => Promise<T>) => Promise<T>;
}

/**
 * One attempt at the provider: reads the content and sends it, a second time with a fresh credential where that may
 * help. It never rejects: every failure is a Refused.
 */
export function send(row: NotificationRow, at: Date, deps: SendDeps): Promise<SendResult> {
  // One time limit for the content and both sends: it is set by the worker's time.
  return deps.inSendTime(async (signal) => {
    try {
      const content = await deps.contents.read(row);
      const trace = traceOf(row, row.last_attempt);
      const delivery: Delivery = {
        log_id: row.log_id,
        tenant_id: row.tenant_id,
        attempt: row.last_attempt,
        channel: row.channel,
        content,
        at,
        ...(row.recipient_type && { recipient_type: row.recipient_type }),
        ...chosenIntegration(row),
        ...(trace && { traceparent: trace.traceparent }),
      };
      const first = await sendOnce(delivery, signal, deps);
      const again = !first.ok && (await mayHelp(first, delivery, deps));
      return await withTerms(again ? await sendOnce(delivery, signal, deps) : first, delivery, deps);
    } catch (error) {
      if (error instanceof ContentUnreadableError)
        return { ok: false, error_type: 'FORMAT_ERROR', asked: false, message: error.message };
      // Our storage or key service failed before the provider was asked, so no retry is used up.
      return { ...failedOfOurs(error, 'The content could not be read'), counted: false };
    }
  });
}

/** Refusals that another credential may turn into a delivery. */
const BY_CREDENTIAL: ReadonlySet<ProviderErrorType> = new Set(['AUTH_TEMPORARY', 'AUTH_FAILED', 'PERMISSION_DENIED']);

/**
 * Whether the same message goes out once more at once: after AUTH_TEMPORARY always, after a permanent
 * refusal only with another credential, because it was repaired while the worker had the old one in its cache.
 */
async function mayHelp({ error_type }: Refused, delivery: Delivery, { sender }: SendDeps): Promise<boolean> {
  if (!sender.refreshCredential || !BY_CREDENTIAL.has(error_type)) return false;
  const changed = await sender.refreshCredential(delivery);
  return changed || error_type === 'AUTH_TEMPORARY';
}

/** Which integration a notification uses, and whether its tenant chose it. */
export function chosenIntegration({
  integration_config_id,
  created_by,
}: NotificationRow): Pick<Delivery, 'integration_config_id' | 'chosen_by_tenant'> {
  return {
    ...(integration_config_id && { integration_config_id }),
    ...(created_by === INTAKE_API && { chosen_by_tenant: true as const }),
  };
}

async function withTerms(result: SendResult, delivery: Delivery, { sender }: SendDeps): Promise<SendResult> {
  if (result.ok) return result;
  const retry = await sender.retryTerms?.(delivery);
  return retry === undefined ? result : { ...result, retry };
}

async function sendOnce(delivery: Delivery, signal: AbortSignal, { sender }: SendDeps): Promise<SendResult> {
  try {
    // The time limit also holds for a sender that ignores its signal.
    return await Promise.race([sender.send(delivery, signal), whenAborted(signal).then(() => TIMED_OUT)]);
  } catch (error) {
    // It counts, so that a notification that breaks the sender ends; but it is no sign that the provider is down.
    return failedOfOurs(error, 'The sender failed');
  }
}

const TIMED_OUT: Refused = {
  ok: false,
  error_type: 'NETWORK_TIMEOUT',
  message: 'The provider did not answer in time.',
};

/** An error's message may quote an address or a body; its name does not. */
function failedOfOurs(error: unknown, what: string): Refused {
  const name = error instanceof Error ? error.name : 'not an Error';
  return { ok: false, error_type: 'UNKNOWN', asked: false, message: `${what}: ${name}`, details: { error: name } };
}
