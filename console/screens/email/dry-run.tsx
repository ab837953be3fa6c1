import { useContext, useEffect, useState } from 'preact/hooks';
import type { Answer } from '../../data/api.ts';
import { SessionContext } from '../../data/session.ts';
import { useRead } from '../../data/use-read.ts';
import { count, rich, said, t } from '../../language/language.ts';
import { reasonWord } from './phase-words.ts';

type DryRun = Answer<'POST /api/emails/dry-run'>;

/** A dry run, which is read on while it goes on in the background. */
export function useDryRun() {
  const session = useContext(SessionContext);
  const [run, setRun] = useState<DryRun>();
  const isRunning = run?.status === 'running';
  const kept = useRead(
    'GET /api/emails/{email_id}/dry-run',
    { email_id: run?.email_id ?? '' },
    {},
    { every: Math.min(1_000, session.poll_ms), when: isRunning },
  );
  useEffect(() => {
    if (isRunning && kept.data !== undefined) setRun(kept.data);
  }, [isRunning, kept.data]);
  return { run, setRun, isRunning, ready: run?.status === 'done' && run.error === undefined };
}

/** Who would get it, in which rendering, and who would not and why. */
export function Recipients({ run }: { readonly run: DryRun }) {
  const { other_recipients = 0, warnings = [] } = run;
  const { recipients = 0, excluded = 0, excluded_by_reason = {}, renderings = [], missing_fields = {}, error } = run;
  return (
    <div class="rows" role="status">
      <dl class="preview-figures is-two">
        <div class="is-main">
          <dt>{t('Would get it')}</dt>
          <dd>{count(recipients)}</dd>
        </div>
        <div>
          <dt>{t('Left out')}</dt>
          <dd>{count(excluded)}</dd>
        </div>
      </dl>
      <ul class="reasons">
        <li>{t('Who has unsubscribed is in neither number.')}</li>
        {(renderings.length > 1 || other_recipients > 0) &&
          renderings.map(({ segments, recipients: number }) => (
            <li key={segments.join()}>
              {rich('{n} with {parts}', {
                n: <strong>{count(number)}</strong>,
                parts: segments.join(t(' and ')) || t('no part of their own'),
              })}
            </li>
          ))}
        {other_recipients > 0 && (
          <li>
            {rich('{n} with other combinations of parts', {
              n: <strong>{count(other_recipients)}</strong>,
            })}
          </li>
        )}
        {Object.entries(excluded_by_reason).map(([reason, number]) => (
          <li key={reason}>
            {rich('{n} left out: {reason} {why}', {
              n: <strong>{count(number)}</strong>,
              reason: <code>{reason}</code>,
              why: reasonWord('excluded', reason),
            })}
          </li>
        ))}
        {Object.entries(missing_fields).map(([field, number]) => (
          <li key={field}>
            {rich('{n} have no {field}', {
              n: <strong>{count(number)}</strong>,
              field: <code>{`{${field}}`}</code>,
            })}
          </li>
        ))}
      </ul>
      {warnings.length > 0 && <p class="note tone-wait">{warnings.map(said).join(' ')}</p>}
      {error !== undefined && <p class="note tone-bad">{said(error)}</p>}
    </div>
  );
}
