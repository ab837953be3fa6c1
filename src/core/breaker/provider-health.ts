import type { Refused, SendResult } from '../delivery/sender.ts';
import type { ProviderErrorType } from '../model/error-types.ts';

/** Failures of a provider that is down. A rate limit, or the refusal of one message, shows that it is up. */
const OUTAGE_ERRORS: readonly ProviderErrorType[] = ['NETWORK_TIMEOUT', 'SERVER_OVERLOAD', 'UNKNOWN'];

export function showsOutage(refused: Refused): boolean {
  return refused.asked !== false && OUTAGE_ERRORS.includes(refused.error_type);
}

/** The provider answered, even if it refused the message. */
export function isAlive(result: SendResult): boolean {
  return result.ok || (!showsOutage(result) && result.response_code !== undefined);
}
