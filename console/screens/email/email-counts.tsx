import type { EmailDetail } from '../../../src/operator-service/contract/newsletters.ts';
import type { Tone } from '../../parts/badge.tsx';
import { Panel } from '../../parts/screen.tsx';
import { count } from '../../parts/time.tsx';
import { plural } from '../../parts/words.ts';
import { RECIPIENT_ORDER, RECIPIENT_WORDS, reasonWord } from './phase-words.ts';

const EVENTS = [
  ['delivered', 'Delivered'],
  ['opened', 'Opened'],
  ['clicked', 'Clicked'],
  ['bounced', 'Bounced'],
  ['soft_bounced', 'Bounced for now'],
  ['complained', 'Complained'],
  ['unsubscribed', 'Unsubscribed'],
] as const;

/** How many recipients are in which state, and what events told of them. */
export function Counts({ detail: { email } }: { readonly detail: EmailDetail }) {
  const { counts, batches } = email;
  const most = Math.max(1, counts.recipients);
  const all = Object.values(batches).reduce((sum, number) => sum + number, 0);
  const done = `${plural(batches.submitted, 'batch', 'batches')} of ${count(all)} done`;
  return (
    <Panel title={plural(counts.recipients, 'recipient')} aside={<span class="faint">{done}</span>}>
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
          <Count key={state} {...RECIPIENT_WORDS[state]} number={counts[state]} />
        ))}
      </dl>
      <dl class="counts is-second">
        {EVENTS.map(([event, name]) => (
          <Count key={event} name={name} number={counts[event]} />
        ))}
      </dl>
    </Panel>
  );
}

function Count({ name, number, tone }: { readonly name: string; readonly number: number; readonly tone?: Tone }) {
  return (
    <div class={tone && `tone-${tone}`}>
      <dt>
        {tone && <span class="dot" aria-hidden="true" />}
        {name}
      </dt>
      <dd>{count(number)}</dd>
    </div>
  );
}

export function Reasons({ detail: { email } }: { readonly detail: EmailDetail }) {
  const { excluded_by_reason: excluded, failed_by_reason: failed } = email;
  const reasons = Object.entries({ excluded, failed }).flatMap(([what, numbers]) =>
    Object.entries(numbers).flatMap(([reason, number]) => (number > 0 ? [{ what, reason, number }] : [])),
  );
  if (reasons.length === 0) return null;
  return (
    <Panel title="Who does not get it, and why">
      <ul class="reason-list">
        {reasons.map(({ what, reason, number }) => (
          <li key={what + reason}>
            <strong>{count(number)}</strong> {what}: <code>{reason}</code>
            <span class="soft"> {reasonWord(what, reason)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
