import type { ErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { RetryPolicy } from '../model/retry-policy.ts';
import { stateOf } from '../model/row-state.ts';
import { planRetry } from '../operator/retry-now.ts';

/** What a producer's own users see of a notification: retry-and-idempotency-design.md §5. */
export const PUBLIC_STATES = ['saving', 'processing', 'done', 'failed', 'retrying'] as const;
export type PublicState = (typeof PUBLIC_STATES)[number];

/**
 * `saving`: it is kept and waits for its time, or for being taken in. `processing`: its first attempt is due or under
 * way. `retrying`: an attempt failed, and another one follows by itself. `failed`: nothing more happens by itself.
 */
export function publicState(row: NotificationRow, now: Date): PublicState {
  const tried = row.last_attempt >= 0;
  switch (stateOf(row, now)) {
    case 'delivered':
      return 'done';
    case 'claimed':
    case 'abandoned':
      return row.last_attempt > 0 ? 'retrying' : 'processing';
    case 'due':
      return tried ? 'retrying' : 'processing';
    case 'waiting':
      return tried ? 'retrying' : 'saving';
    case 'dead':
    case 'stopped':
    case 'set_aside':
      return 'failed';
    case 'not_taken_in':
      return row.send_status === 'SENDING' ? 'processing' : 'saving';
  }
}

/** Whether asking for a retry helps: it has failed for good or waits for its next retry, and one may be made. */
export function canRetry(row: NotificationRow, now: Date, policy: RetryPolicy): boolean {
  return whyNoRetry(row, now, policy) === undefined;
}

/** Why it cannot be retried; an operator may send what has not failed yet all the same, a producer may not. */
export function whyNoRetry(row: NotificationRow, now: Date, policy: RetryPolicy): string | undefined {
  const plan = planRetry(row, now, policy);
  if (plan.do === 'refuse') return plan.because;
  const state = publicState(row, now);
  return state === 'failed' || state === 'retrying'
    ? undefined
    : 'it has not failed, and is sent by itself at its time';
}

/** What went wrong, for the people a producer serves: without codes, addresses or names of ours. */
const SENTENCES: Readonly<Record<ErrorType, string>> = {
  NETWORK_TIMEOUT: 'The receiving service did not answer in time.',
  UNKNOWN: 'The receiving service answered with an error.',
  SERVER_OVERLOAD: 'The receiving service is overloaded or out of order.',
  RATE_LIMITED: 'The receiving service takes no more messages at the moment.',
  AUTH_TEMPORARY: 'The receiving service did not accept our sign-in for the moment.',
  INVALID_RECIPIENT: 'The recipient does not exist or does not accept messages.',
  AUTH_FAILED: "The receiving service refused the integration's credential.",
  FORMAT_ERROR: 'The receiving service refused the message as malformed.',
  PERMISSION_DENIED: 'The integration lacks the permission to send there.',
  MAX_RETRIES: 'All retries are used up.',
  EXPIRED: 'The time in which it may be delivered is over.',
  CANCELLED: 'It was cancelled.',
};

/** What helps, where something does. */
const ADVICE: Readonly<Partial<Record<ErrorType, string>>> = {
  INVALID_RECIPIENT: 'Correct the recipient and send it anew.',
  AUTH_FAILED: 'Its settings have to be checked.',
  FORMAT_ERROR: 'Its template or text has to be corrected.',
  PERMISSION_DENIED: 'It has to be granted.',
};

/**
 * Undefined while nothing has gone wrong, and once it is delivered. What goes on on its fallback channel comes without
 * advice: who followed it would send the message twice.
 */
export function errorMessage(row: NotificationRow, now: Date): string | undefined {
  const state = publicState(row, now);
  if (state !== 'failed' && state !== 'retrying') return undefined;
  const { failure_reason, error_type, successor_log_id } = row;
  const goesOn = state === 'failed' && successor_log_id !== undefined;
  const advice = goesOn ? {} : ADVICE;
  const causes = [error_type, failure_reason].filter((cause) => cause !== undefined);
  const sentences = [...new Set(causes)]
    .flatMap((cause) => [SENTENCES[cause], advice[cause]])
    .filter((sentence) => sentence !== undefined);
  if (state === 'retrying') sentences.push('It is tried again automatically.');
  if (goesOn) sentences.push('It goes on on its fallback channel.');
  return sentences.join(' ');
}
