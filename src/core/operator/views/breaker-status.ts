import { type Breaker, heldSince, shownPhaseOf } from '../../breaker/breaker.ts';
import type { Channel } from '../../model/channels.ts';
import type { ErrorType } from '../../model/error-types.ts';

/** An operator's view of a provider that is down or has just recovered. */
export interface BreakerStatus {
  readonly channel: Channel;
  /** The integration_config_id, or else `<tenant>@<host of the recipients>`. `ses` for e-mail. */
  readonly integration: string;
  /** `draining`: the provider is up again, and the held notifications are sent. */
  readonly state: 'open' | 'draining';
  readonly since: string;
  /** Attempts postponed since then. A notification that was postponed twice counts twice. */
  readonly held: number;
  readonly last_error: ErrorType;
  /** Null while draining. After this time, the next notification is the probe. */
  readonly next_probe_at: string | null;
}

/** The breakers that are not closed. The one that opened first comes first. */
export function breakerStatus(breakers: readonly Breaker[], now: Date): BreakerStatus[] {
  return breakers
    .flatMap((breaker): BreakerStatus[] => {
      const state = shownPhaseOf(breaker, now);
      if (state === 'closed') return [];
      const [channel = '', ...integration] = breaker.id.split('#');
      return [
        {
          channel: channel as Channel,
          integration: integration.join('#'),
          state,
          since: breaker.since,
          held: heldSince(breaker),
          last_error: breaker.error_type,
          next_probe_at: state === 'open' ? breaker.probe_at : null,
        },
      ];
    })
    .sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
}
