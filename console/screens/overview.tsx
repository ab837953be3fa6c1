import type { Overview } from '../../src/application/contract/overview.ts';
import { useRead } from '../data/use-read.ts';
import { hrefOf } from '../navigation/router.ts';
import { ScreenFrame } from '../parts/screen.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { Await } from '../parts/states.tsx';
import { about, count, Time } from '../parts/time.tsx';
import { plural } from '../parts/words.ts';
import { Causes } from './overview/causes.tsx';
import { Charts } from './overview/charts.tsx';
import { Integrations } from './overview/integrations.tsx';
import { Budgets, Down, Ringing } from './overview/providers.tsx';
import { Channels, Sweeps } from './overview/tables.tsx';

/** Is everything delivered? What is not, why, and what can be done about it. */
export function OverviewScreen() {
  const reading = useRead('GET /api/overview', {}, {});
  return (
    <ScreenFrame title="Overview" lead={reading.data && headline(reading.data)}>
      <Await reading={reading} what="the overview" lines={10}>
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
            <OpsCommands of={{ 'The same figures': 'status', 'Dead letters and their causes': 'dlq list' }} />
          </>
        )}
      </Await>
    </ScreenFrame>
  );
}

function headline(overview: Overview): string {
  const { dead, due, waiting, held, in_flight } = sums(overview);
  const onTheWay = due + waiting + held + in_flight;
  const about = dead > 0 && overview.channels.some(({ estimated }) => estimated) ? 'About ' : '';
  const down = overview.breakers.filter(({ state }) => state === 'open').length;
  if (dead > 0 && down > 0)
    return `${about}${plural(dead, 'notification is dead', 'notifications are dead')} and ${dead === 1 ? 'waits' : 'wait'} for a decision, and ${plural(down, 'provider is', 'providers are')} down.`;
  if (dead > 0)
    return `${about}${plural(dead, 'notification is', 'notifications are')} dead and ${dead === 1 ? 'needs' : 'need'} a decision. Nothing else does.`;
  if (down > 0)
    return `${plural(down, 'provider is', 'providers are')} down: ${down === 1 ? 'its' : 'their'} notifications are held, and sent when ${down === 1 ? 'it is' : 'they are'} back.`;
  if (overview.alarms.length > 0) return `${plural(overview.alarms.length, 'alarm rings', 'alarms ring')}.`;
  return `Nothing needs a decision, and ${onTheWay > 0 ? `${plural(onTheWay, 'notification is', 'notifications are')} on the way` : 'nothing waits'}.`;
}

function Figures({ overview }: { readonly overview: Overview }) {
  const { dead, due, waiting, held, in_flight, oldest } = sums(overview);
  const estimated = overview.channels.some((figures) => figures.estimated);
  const late = oldest === null ? 'nothing is late' : ['oldest ', <Time at={oldest} />];
  const causes = dead === 0 ? 'nothing needs you' : plural(overview.causes.length, 'cause');
  const figures = [
    { label: 'Dead', value: dead, hint: causes, href: '/dead-letters' },
    {
      label: 'Unfinished',
      value: due + in_flight + held + waiting,
      hint: 'sum of the next four',
      status: 'unfinished',
    },
    { label: 'Due', value: due, hint: late, status: 'due' },
    { label: 'In flight', value: in_flight, hint: 'being sent now', status: 'in_flight' },
    { label: 'Held', value: held, hint: 'their provider is down', status: 'held' },
    { label: 'Waiting', value: waiting, hint: 'for their next retry', status: 'waiting' },
  ];
  return (
    <div class="figures panel">
      {figures.map(({ label, value, hint, status, href = hrefOf('/notifications', { status }) }) => (
        <a key={label} class={`figure tone-${label === 'Dead' && value > 0 ? 'bad' : 'none'}`} href={href}>
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
