import type { Overview } from '../../../src/application/contract/overview.ts';
import { count, plural, rich, said, t } from '../../language/language.ts';
import { hrefOf } from '../../navigation/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Panel } from '../../parts/screen.tsx';
import { Ops } from '../../parts/shell-command.tsx';
import { Time } from '../../parts/time.tsx';
import { channelName } from '../../parts/words.ts';

/** What rings: the first thing to see. */
export function Ringing({ alarms, alarms_problem }: Pick<Overview, 'alarms' | 'alarms_problem'>) {
  if (alarms_problem !== undefined)
    return (
      <p class="soft">
        {rich('Nobody knows whether an alarm rings. {detail} {remedy}', {
          detail: said(alarms_problem.detail),
          remedy: said(alarms_problem.remedy),
        })}
      </p>
    );
  if (alarms.length === 0) return null;
  return (
    <Panel title={t('Alarms that ring')}>
      <ul class="facts inset">
        {alarms.map(({ name, severity, meaning, since, url }) => (
          <li key={name}>
            <div class="line">
              <Badge tone={severity === 'critical' ? 'bad' : 'wait'}>
                {severity === 'critical' ? t('Critical') : t('Warning')}
              </Badge>
              <a href={url} target="_blank" rel="noopener">
                {name}
              </a>
              <span class="faint">{rich('since {time}', { time: <Time at={since} /> })}</span>
            </div>
            <p class="soft">
              {rich('{meaning}. The section of this name in the runbook says what to do.', {
                meaning: said(meaning),
              })}
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** What is wrong now, before anything else: since when, what is held, and when it is asked again. */
export function Down({ breakers }: Pick<Overview, 'breakers'>) {
  if (breakers.length === 0) return null;
  return (
    <Panel title={t('Providers that are down')}>
      <ul class="facts inset">
        {breakers.map((breaker) => (
          <li key={`${breaker.channel} ${breaker.integration}`}>
            <div class="line">
              <strong>{channelName(breaker.channel)}</strong> <code>{breaker.integration}</code>
              <Badge tone={breaker.state === 'open' ? 'bad' : 'wait'}>
                {breaker.state === 'open' ? t('Down') : t('Recovering')}
              </Badge>
              <a href={hrefOf('/notifications', heldBy(breaker))}>
                {plural(breaker.notifications, 'notification held', 'notifications held')}
              </a>
            </div>
            <p class="soft">
              {rich('Since {time}: {error}, {n} held back so far{probe}.', {
                time: <Time at={breaker.since} />,
                error: <code>{breaker.last_error}</code>,
                n: plural(breaker.held, 'attempt'),
                probe:
                  breaker.next_probe_at !== null &&
                  rich(', next probe {time}', { time: <Time at={breaker.next_probe_at} /> }),
              })}
            </p>
          </li>
        ))}
      </ul>
      <div class="inset">
        <p>
          <strong>{t('What to do:')}</strong>{' '}
          {t(
            'Nothing, if the provider comes back: a probe finds out, and what is held is sent. If it stays down, ask the provider.',
          )}
        </p>
        <Ops command="status" />
      </div>
    </Panel>
  );
}

/** Targets without an integration are `<tenant>@<host>`, and SES is e-mail's: there the channel alone tells. */
function heldBy({ channel, integration }: Overview['breakers'][number]) {
  const isIntegration = channel !== 'email' && !integration.includes('@');
  return { channel, status: 'held', ...(isIntegration && { integration }) };
}

/** Budgets that say something: a channel without any figure is left out. */
export function Budgets({ budgets }: Pick<Overview, 'budgets'>) {
  const telling = budgets.filter(
    ({ max_24h, allowed_per_second, paused, busy_receivers }) =>
      max_24h !== null || allowed_per_second !== null || paused.length > 0 || busy_receivers > 0,
  );
  if (telling.length === 0) return <p class="soft">{t('No provider limits anything now.')}</p>;
  return (
    <Panel title={t('Budgets')}>
      <ul class="facts inset">
        {telling.map((budget) => (
          <li key={budget.channel}>
            <div class="line">
              <strong>{channelName(budget.channel)}</strong>
              {budget.sending === false && <Badge tone="bad">{t('Sending is disabled')}</Badge>}
              {budget.production === false && <Badge tone="wait">{t('SES sandbox')}</Badge>}
            </div>
            <Quota sent={budget.sent_24h} max={budget.max_24h} />
            <p class="soft">
              {budget.per_second !== null && t('{n} per second planned', { n: count(budget.per_second) })}
              {budget.allowed_per_second !== null && t(', {n} allowed', { n: count(budget.allowed_per_second) })}
              {budget.busy_receivers > 0 &&
                plural(budget.busy_receivers, 'receiver at the limit', 'receivers at the limit')}
            </p>
            {budget.paused.map(({ use, why, until }) => (
              <p key={use} class="soft">
                {rich('{paused} {use}: {why}, until {time}', {
                  paused: <Badge tone="wait">{t('Paused')}</Badge>,
                  use: said(use),
                  why: said(why),
                  time: <Time at={until} />,
                })}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Quota({ sent, max }: { readonly sent: number | null; readonly max: number | null }) {
  if (sent === null || max === null || max <= 0) return null;
  return (
    <div class="rows tight">
      <meter min={0} max={max} value={sent} aria-label={t('Quota of 24 hours')} />
      <span class="soft">
        {rich('{n} of {total} in the last 24 h, with what is reserved', { n: count(sent), total: count(max) })}
      </span>
    </div>
  );
}
