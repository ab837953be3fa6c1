import type { Answer } from '../../data/api.ts';
import { count } from '../../parts/time.tsx';
import { reasonWord } from './phase-words.ts';

export type DryRun = Answer<'POST /api/emails/dry-run'>;

/** Who would get it, in which rendering, and who would not and why. */
export function Found({ run }: { readonly run: DryRun }) {
  const { other_recipients = 0, warnings = [] } = run;
  const { recipients = 0, excluded = 0, excluded_by_reason = {}, renderings = [], missing_fields = {}, error } = run;
  return (
    <div class="rows" role="status">
      <dl class="preview-figures is-two">
        <div class="is-main">
          <dt>Would get it</dt>
          <dd>{count(recipients)}</dd>
        </div>
        <div>
          <dt>Left out</dt>
          <dd>{count(excluded)}</dd>
        </div>
      </dl>
      <ul class="reasons">
        <li>Who has unsubscribed is in neither number.</li>
        {(renderings.length > 1 || other_recipients > 0) &&
          renderings.map(({ segments, recipients: number }) => (
            <li key={segments.join()}>
              <strong>{count(number)}</strong> with {segments.join(' and ') || 'no part of their own'}
            </li>
          ))}
        {other_recipients > 0 && (
          <li>
            <strong>{count(other_recipients)}</strong> with other combinations of parts
          </li>
        )}
        {Object.entries(excluded_by_reason).map(([reason, number]) => (
          <li key={reason}>
            <strong>{count(number)}</strong> left out: <code>{reason}</code> {reasonWord('excluded', reason)}
          </li>
        ))}
        {Object.entries(missing_fields).map(([field, number]) => (
          <li key={field}>
            <strong>{count(number)}</strong> have no <code>{`{${field}}`}</code>
          </li>
        ))}
      </ul>
      {warnings.length > 0 && <p class="note tone-wait">{warnings.join(' ')}</p>}
      {error !== undefined && <p class="note tone-bad">{error}</p>}
    </div>
  );
}
