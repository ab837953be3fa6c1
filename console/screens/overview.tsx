import type { Overview } from '../../src/application/contract/overview.ts';
import { useRead } from '../data/use-read.ts';
import { count, plural, rich, t } from '../language/language.ts';
import { hrefOf } from '../navigation/router.ts';
import { ScreenFrame } from '../parts/screen.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { Await } from '../parts/states.tsx';
import { about, Time } from '../parts/time.tsx';
import { Causes } from './overview/causes.tsx';
import { Charts } from './overview/charts.tsx';
import { Integrations } from './overview/integrations.tsx';
import { Budgets, Down, Ringing } from './overview/providers.tsx';
import { Channels, Sweeps } from './overview/tables.tsx';

/** Is everything delivered? What is not, why, and what can be done about it. */
export function OverviewScreen() {
  const reading = useRead('GET /api/overview', {}, {});
  return (
    <ScreenFrame title={t('Overview')} lead={reading.data && headline(reading.data)}>
      <Await reading={reading} what={t('the overview')} lines={10}>
        {(data) => (
          <>
            <Ringing {...data} />
            <Figures overview={data} />
            <Down breakers={data.breakers} />
            <Causes causes={data.causes} complete={data.causes_complete} />
            <Integrations />
            <Charts series={data.series} problem={data.series_problem} />
            <div class="columns">
              <Channels channels={data.channels} />
              <Sweeps sweeps={data.sweeps} />
            </div>
            <Budgets budgets={data.budgets} />
            <OpsCommands of={{ [t('The same figures')]: 'status', [t('Dead letters and their causes')]: 'dlq list' }} />
          </>
        )}
      </Await>
    </ScreenFrame>
  );
}

function headline(overview: Overview): string {
  const { dead, due, waiting, held, in_flight } = sums(overview);
  const onTheWay = due + waiting + held + in_flight;
  const estimated = dead > 0 && overview.channels.some((figures) => figures.estimated);
  const roughly = (what: string) => (estimated ? t('About {what}', { what }) : what);
  const down = overview.breakers.filter(({ state }) => state === 'open').length;
  if (dead > 0 && down > 0)
    return t('{dead}, and {down}.', {
      dead: roughly(
        plural(dead, 'notification is dead and waits for a decision', 'notifications are dead and wait for a decision'),
      ),
      down: plural(down, 'provider is down', 'providers are down'),
    });
  if (dead > 0)
    return t('{dead}. Nothing else does.', {
      dead: roughly(
        plural(dead, 'notification is dead and needs a decision', 'notifications are dead and need a decision'),
      ),
    });
  if (down > 0)
    return plural(
      down,
      'provider is down: its notifications are held, and sent when it is back.',
      'providers are down: their notifications are held, and sent when they are back.',
    );
  if (overview.alarms.length > 0) return plural(overview.alarms.length, 'alarm rings.', 'alarms ring.');
  return onTheWay > 0
    ? t('Nothing needs a decision, and {n}.', {
        n: plural(onTheWay, 'notification is on the way', 'notifications are on the way'),
      })
    : t('Nothing needs a decision, and nothing waits.');
}

function Figures({ overview }: { readonly overview: Overview }) {
  const { dead, due, waiting, held, in_flight, oldest } = sums(overview);
  const estimated = overview.channels.some((figures) => figures.estimated);
  const late = oldest === null ? t('nothing is late') : rich('oldest {time}', { time: <Time at={oldest} /> });
  const causes = dead === 0 ? t('nothing needs you') : plural(overview.causes.length, 'cause');
  const figures = [
    { label: t('Dead'), value: dead, hint: causes, href: '/dead-letters' },
    {
      label: t('Unfinished'),
      value: due + in_flight + held + waiting,
      hint: t('sum of the next four'),
      status: 'unfinished',
    },
    { label: t('Due'), value: due, hint: late, status: 'due' },
    { label: t('In flight'), value: in_flight, hint: t('being sent now'), status: 'in_flight' },
    { label: t('Held'), value: held, hint: t('their provider is down'), status: 'held' },
    { label: t('Waiting'), value: waiting, hint: t('for their next retry'), status: 'waiting' },
  ];
  return (
    <div class="figures panel">
      {figures.map(({ label, value, hint, status, href = hrefOf('/notifications', { status }) }) => (
        <a key={label} class={`figure tone-${href === '/dead-letters' && value > 0 ? 'bad' : 'none'}`} href={href}>
          <span class="figure-label">{label}</span>
          <span class="figure-value">{estimated ? about(value) : count(value)}</span>
          <span class="faint small">{hint}</span>
        </a>
      ))}
    </div>
  );
}

function sums({ channels }: Overview) {
  const sum = (name: 'due' | 'dead' | 'waiting' | 'held' | 'in_flight') =>
    channels.reduce((total, figures) => total + figures[name], 0);
  const [oldest = null] = channels.flatMap(({ oldest_due_at }) => oldest_due_at ?? []).sort();
  const [dead, due, waiting] = [sum('dead'), sum('due'), sum('waiting')];
  return { dead, due, waiting, held: sum('held'), in_flight: sum('in_flight'), oldest };
}
