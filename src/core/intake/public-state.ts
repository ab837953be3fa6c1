import { type ErrorType, OWN_FAULTS, type OwnFault, ownFaultIn } from '../model/error-types.ts';
import { isGone } from '../model/history-index.ts';
import type { NotificationRow } from '../model/notification.ts';
import { Problem } from '../model/problem.ts';
import { checkRetry, stateOf } from '../model/row-state.ts';
import { entryOf } from '../model/text.ts';

/** The states of a notification that a producer's own users see: retry-and-idempotency-design.md §5. */
export const PUBLIC_STATES = ['saving', 'processing', 'done', 'failed', 'retrying'] as const;
export type PublicState = (typeof PUBLIC_STATES)[number];

/**
 * `saving`: it is stored and waits for its time, or to be indexed. `processing`: its first attempt is due or under way.
 * `retrying`: an attempt failed, and another one follows automatically. `failed`: nothing more happens automatically.
 */
export function publicState(row: NotificationRow, now: Date): PublicState {
  // Looked at only where the rules for rows hold.
  const tried = () => row.last_attempt >= 0;
  switch (stateOf(row, now)) {
    case 'delivered':
      return 'done';
    case 'claimed':
    case 'abandoned':
      return row.last_attempt > 0 ? 'retrying' : 'processing';
    case 'due':
      return tried() ? 'retrying' : 'processing';
    case 'waiting':
      return tried() ? 'retrying' : 'saving';
    case 'dead':
    case 'stopped':
    case 'set_aside':
      return 'failed';
    case 'not_taken_in':
      return row.send_status === 'SENDING' ? 'processing' : 'saving';
  }
}

/**
 * Whether a producer may ask for a retry: the notification has failed or waits for its next retry, and can be retried.
 */
export const canRetry = (row: NotificationRow, now: Date): boolean => whyNoRetry(row, now) === undefined;

const WRONG_RECIPIENT = 'its recipient is wrong: hand it over again under another key, or have it corrected';

/** Why a producer may not have it retried. An operator may also retry what has not failed yet; a producer may not. */
export function whyNoRetry(row: NotificationRow, now: Date): string | undefined {
  const check = checkRetry(row, now);
  // A producer has no console: who corrects there is its operator.
  if ('refused' in check) return check.refused.startsWith('INVALID_RECIPIENT: ') ? WRONG_RECIPIENT : check.refused;
  const state = publicState(row, now);
  return state === 'failed' || state === 'retrying' ? undefined : 'it has not failed and is sent when it is due';
}

/** What went wrong, for the producer's own users: no codes, no addresses and no internal names. */
const SENTENCES: Readonly<Record<ErrorType, string>> = {
  NETWORK_TIMEOUT: 'The receiving service did not answer in time.',
  UNKNOWN: 'The receiving service answered with an error.',
  SERVER_OVERLOAD: 'The receiving service is overloaded or out of service.',
  RATE_LIMITED: 'The receiving service accepts no more messages at the moment.',
  AUTH_TEMPORARY: 'The receiving service temporarily did not accept our credential.',
  INVALID_RECIPIENT: 'The recipient does not exist or does not accept messages.',
  AUTH_FAILED: "The receiving service refused the integration's credential.",
  FORMAT_ERROR: 'The receiving service refused the message as malformed.',
  PERMISSION_DENIED: 'The integration lacks the permission to send there.',
  MAX_RETRIES: 'All retries are used up.',
  EXPIRED: 'The time in which the notification may be delivered is over.',
  CANCELLED: 'The notification was cancelled.',
};

/** The same for what we refused, which no receiving service ever saw. */
const OWN_SENTENCES: Readonly<Record<OwnFault, string>> = {
  no_route: 'It was not sent: neither recipient nor integration says where to.',
  no_workflow: 'It was not sent: neither recipient nor integration says where to.',
  no_target: 'It was not sent: neither recipient nor integration says where to.',
  bad_target: 'It was not sent: nothing is sent to such an address.',
  bad_address: 'It was not sent: the recipient is not one e-mail address.',
  bad_sender: 'It was not sent: the sender is not one e-mail address.',
  too_long: 'It was not sent: the text is too long for this channel.',
  too_large: 'It was not sent: the text is too long for this channel.',
  too_intricate: 'It was not sent: the formatting of the text is too intricate.',
  bad_integration: 'It was not sent: there is no such integration.',
  no_secret: 'It was not sent: the integration has no credential.',
  not_usable: 'It was not sent: the integration is not set up for this use.',
  foreign_secret: 'It was not sent: the integration is not set up for this use.',
  bad_secret: 'It was not sent: the integration is not set up completely.',
};

/** No receiver ever saw it. */
const SET_ASIDE = 'The notification was not sent: its data are not valid. They must be corrected.';

/** What the user can do about it, where something helps. */
const ADVICE: Readonly<Partial<Record<ErrorType, string>>> = {
  INVALID_RECIPIENT: 'Correct the recipient and send the notification again.',
  AUTH_FAILED: 'The settings of the integration must be checked.',
  FORMAT_ERROR: 'The template or the text must be corrected.',
  PERMISSION_DENIED: 'The permission must be granted.',
};

/**
 * Undefined while nothing has gone wrong, and after delivery. A notification that continues on its fallback channel
 * gets no advice: a user who followed it would send the message twice.
 */
export function errorMessage(row: NotificationRow, now: Date): string | undefined {
  const state = publicState(row, now);
  if (state !== 'failed' && state !== 'retrying') return undefined;
  if (stateOf(row, now) === 'set_aside') return SET_ASIDE;
  const { failure_reason, error_type, error_message, successor_log_id } = row;
  const fault = ownFaultIn(error_message);
  const failedOver = state === 'failed' && successor_log_id !== undefined;
  const advice = failedOver ? {} : ADVICE;
  const causes = [error_type, failure_reason].filter((cause) => cause !== undefined);
  const sentences = [...new Set(causes)]
    .flatMap((cause) => [
      fault && OWN_FAULTS[fault].error_type === cause ? OWN_SENTENCES[fault] : entryOf(SENTENCES, cause),
      entryOf(advice, cause),
    ])
    .filter((sentence) => sentence !== undefined);
  if (state === 'retrying') sentences.push('It is retried automatically.');
  if (failedOver) sentences.push('It continues on its fallback channel.');
  return sentences.join(' ');
}

/**
 * Returns the row if it belongs to the tenant and has not expired. The row of another tenant is answered like an
 * unknown one, after the same work, so that no tenant learns which notifications others have.
 * @throws Problem not-found
 */
export function requireOwnRow<R extends { readonly tenant_id?: unknown }>(
  row: R | undefined,
  tenant_id: string,
  now: Date,
): R {
  if (row === undefined || row.tenant_id !== tenant_id || isGone({ ...row }, now)) throw notFound();
  return row;
}

export const notFound = (): Problem => new Problem('not-found', 'The notification does not exist.');
