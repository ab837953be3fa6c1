import type { EmailDetail } from '../../../src/operator-service/contract/newsletters.ts';
import { count } from '../../parts/time.tsx';
import { plural } from '../../parts/words.ts';
import { RECIPIENT_ORDER, RECIPIENT_WORDS, reasonWord } from './phase-words.ts';

const EVENTS = {
  delivered: 'Delivered',
  opened: 'Opened',
  clicked: 'Clicked',
  bounced: 'Bounced',
  soft_bounced: 'Bounced for now',
  complained: 'Complained',
  unsubscribed: 'Unsubscribed',
} as const;

/** How many recipients are in which state, and what events told of them. */
export function Counts({ detail: { email } }: { readonly detail: EmailDetail }) {
  const { counts, batches } = email;
  const most = Math.max(1, counts.recipients);
  return (
    <section class="panel" aria-labelledby="counts">
      <header class="panel-head">
        <h2 id="counts">{plural(counts.recipients, 'recipient')}</h2>
        <span class="faint">
          {plural(batches.submitted, 'batch', 'batches')} of{' '}
          {count(Object.values(batches).reduce((sum, number) => sum + number, 0))} done
        </span>
      </header>
      <div
        class="stack"
        role="img"
        aria-label={RECIPIENT_ORDER.map((state) => `${RECIPIENT_WORDS[state].name}: ${counts[state]}`).join(', ')}
      >
        {RECIPIENT_ORDER.map((state) =>
          counts[state] === 0 ? null : (
            <span
              key={state}
              class={`stack-${RECIPIENT_WORDS[state].tone}`}
              style={{ width: `${(100 * counts[state]) / most}%` }}
            />
          ),
        )}
      </div>
      <dl class="counts">
        {RECIPIENT_ORDER.map((state) => (
          <div key={state} class={`tone-${RECIPIENT_WORDS[state].tone}`}>
            <dt>
              <span class="dot" aria-hidden="true" />
              {RECIPIENT_WORDS[state].name}
            </dt>
            <dd>{count(counts[state])}</dd>
          </div>
        ))}
      </dl>
      <dl class="counts is-second">
        {Object.entries(EVENTS).map(([event, name]) => (
          <div key={event}>
            <dt>{name}</dt>
            <dd>{count(counts[event as keyof typeof EVENTS])}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function Reasons({ detail: { email } }: { readonly detail: EmailDetail }) {
  const reasons = [
    ...Object.entries(email.excluded_by_reason).map(([reason, number]) => ({
      what: 'excluded' as const,
      reason,
      number,
    })),
    ...Object.entries(email.failed_by_reason).map(([reason, number]) => ({ what: 'failed' as const, reason, number })),
  ].filter(({ number }) => number > 0);
  if (reasons.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="reasons">
      <header class="panel-head">
        <h2 id="reasons">Who does not get it, and why</h2>
      </header>
      <ul class="reason-list">
        {reasons.map(({ what, reason, number }) => (
          <li key={what + reason}>
            <strong>{count(number)}</strong> {what}: <code>{reason}</code>
            <span class="soft"> {reasonWord(what, reason)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
