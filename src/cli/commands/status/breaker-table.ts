import type { BreakerStatus } from '../../../core/operator/views/breaker-status.ts';
import { ago, table } from '../../../terminal/table.ts';
import { opsCommand } from '../../session/next-step.ts';
import type { Session } from '../../session/session.ts';

/** A table of the providers that are down; empty if all are up. */
export function describeBreakers(breakers: readonly BreakerStatus[], session: Session, now: Date): string {
  const [first] = breakers;
  if (first === undefined) return '';
  const { colors } = session.terminal;
  const lines = table<BreakerStatus>(
    [
      { title: 'channel', of: ({ channel }) => channel },
      { title: 'integration', of: ({ integration }) => integration },
      { title: 'breaker', of: ({ state }) => state },
      { title: 'since', of: ({ since }) => `${since} (${ago(since, now)})` },
      { title: 'held', of: ({ held }) => held },
      { title: 'last error', of: ({ last_error }) => last_error },
      { title: 'next probe', of: ({ next_probe_at }) => next_probe_at },
    ],
    breakers,
    colors,
  );
  return `\n${colors.red('Providers that are down')}: their notifications are held and use up no retry\n${lines}\nTo see them: ${opsCommand(`list --status RETRY --channel ${first.channel}`, session)}\n`;
}
