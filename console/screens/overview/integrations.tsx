import type { Health } from '../../../src/application/contract/overview.ts';
import { useRead } from '../../data/use-read.ts';
import { count, locale, plural, rich, t } from '../../language/language.ts';
import { hrefOf } from '../../navigation/router.ts';
import { Panel } from '../../parts/screen.tsx';
import { Time } from '../../parts/time.tsx';
import { channelName } from '../../parts/words.ts';

type Integration = Health['integrations'][number];

/** It says how a day went, so it need not be of this second. */
const EVERY_MS = 60_000;
const SHOWN = 10;

/** Which endpoint fails, and since when: a day by integration, the worst first. */
export function Integrations() {
  const { data } = useRead('GET /api/health', {}, {}, { every: EVERY_MS });
  if (data === undefined || data.integrations.length === 0) return null;
  const { integrations, since, read, complete } = data;
  const of = complete ? plural(read, 'notification') : t('the newest {n} notifications', { n: count(read) });
  return (
    <Panel title={t('Integrations, last day')} aside={<span class="faint">{of}</span>}>
      <ul class="integrations">
        {integrations.slice(0, SHOWN).map((one) => (
          <Line key={`${one.channel} ${one.integration}`} of={one} since={since} />
        ))}
      </ul>
      {integrations.length > SHOWN && (
        <p class="inset faint">
          {rich('{n} with fewer failures.', { n: plural(integrations.length - SHOWN, 'more integration') })}
        </p>
      )}
    </Panel>
  );
}

function Line({ of, since }: { readonly of: Integration; readonly since: string }) {
  const { channel, integration, delivered, failing, dead, last_error, last_failed_at, hours } = of;
  const judged = delivered + failing;
  const list = hrefOf('/notifications', { channel, integration: integration ?? '(none)', from: since });
  return (
    <li class={`tone-${toneOf(of)}`}>
      <a href={list} class="truncate">
        {channelName(channel)} {integration === null ? t('without integration') : <code>{integration}</code>}
      </a>
      <span class="bar hours" role="img" aria-label={sentence(hours)}>
        {hours.map((hour, i) => (
          <span key={i} class={`tone-${toneOf(hour)}`} title={titleOf(hour, since, i)} />
        ))}
      </span>
      <span class="number">
        <strong>{judged === 0 ? '–' : `${Math.floor((100 * delivered) / judged)} %`}</strong>{' '}
        <span class="faint">{rich('of {n} delivered', { n: count(judged) })}</span>
      </span>
      <span class="integration-why soft small">
        {failing === 0 ? (
          t('nothing fails')
        ) : (
          <>
            {plural(failing, 'fails', 'fail')}
            {dead > 0 && t(', {n} dead', { n: count(dead) })} · <Time at={last_failed_at} />: <code>{last_error}</code>
          </>
        )}
      </span>
    </li>
  );
}

function toneOf({ delivered, failing }: Pick<Integration, 'delivered' | 'failing'>): 'none' | 'good' | 'wait' | 'bad' {
  if (delivered + failing === 0) return 'none';
  return failing === 0 ? 'good' : delivered > failing ? 'wait' : 'bad';
}

function titleOf({ delivered, failing }: Integration['hours'][number], since: string, hour: number): string {
  const begun = new Date(Date.parse(since) + hour * 3_600_000);
  const clock = begun.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
  return t('{clock}: {delivered} delivered, {failing} failing', {
    clock,
    delivered: count(delivered),
    failing: count(failing),
  });
}

/** The row of hours for whoever does not see it. */
function sentence(hours: Integration['hours']): string {
  const bad = hours.filter(({ failing }) => failing > 0).length;
  const last = hours.findLastIndex(({ failing }) => failing > 0);
  if (bad === 0) return t('Nothing failed in 24 hours');
  const ago = hours.length - 1 - last;
  return t('Failures in {hours} of 24, the last {when}', {
    hours: plural(bad, 'hour'),
    when: ago === 0 ? t('in this hour') : t('{time} ago', { time: plural(ago, 'hour') }),
  });
}
