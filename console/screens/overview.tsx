import { useContext } from 'preact/hooks';
import type { ChannelFigures, Overview } from '../../src/operator-service/contract/overview.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { useRead } from '../data/use-read.ts';
import { hrefOf } from '../navigation/router.ts';
import { Figure } from '../parts/figure.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Loading, Problem } from '../parts/states.tsx';
import { about, count, Time } from '../parts/time.tsx';
import { channelName, plural } from '../parts/words.ts';
import { Causes } from './overview/causes.tsx';
import { Charts } from './overview/charts.tsx';
import { Providers } from './overview/providers.tsx';
import { Sweeps } from './overview/sweeps.tsx';

/** Is everything delivered? What is not, why, and what can be done about it. */
export function OverviewScreen() {
  const session = useContext(SessionContext);
  const { data, problem, refresh } = useRead('GET /api/overview', {}, {});
  return (
    <ScreenFrame title="Overview" lead={data && <Headline overview={data} />}>
      {problem !== undefined && <Problem problem={problem} onRetry={refresh} />}
      {data === undefined && problem === undefined && <Loading what="the overview" lines={10} />}
      {data !== undefined && (
        <>
          <Figures overview={data} />
          <Causes causes={data.causes} complete={data.causes_complete} />
          <Charts series={data.series} problem={data.series_problem} />
          <div class="columns">
            <Channels channels={data.channels} />
            <Sweeps sweeps={data.sweeps} />
          </div>
          <Providers breakers={data.breakers} budgets={data.budgets} />
          <ShellCommands
            commands={[
              { label: 'The same figures', command: opsCommand('status', session) },
              { label: 'Dead letters and their causes', command: opsCommand('dlq list', session) },
            ]}
          />
        </>
      )}
    </ScreenFrame>
  );
}

function Headline({ overview }: { readonly overview: Overview }) {
  const isAbout = sums(overview).dead > 0 && overview.channels.some(({ estimated }) => estimated);
  return `${isAbout ? 'About ' : ''}${headline(overview)}`;
}

function headline(overview: Overview): string {
  const { dead, due, waiting } = sums(overview);
  const down = overview.breakers.filter(({ state }) => state === 'open').length;
  if (dead > 0 && down > 0)
    return `${plural(dead, 'notification is dead', 'notifications are dead')} and ${dead === 1 ? 'waits' : 'wait'} for a decision, and ${plural(down, 'provider is', 'providers are')} down.`;
  if (dead > 0)
    return `${plural(dead, 'notification is', 'notifications are')} dead and ${dead === 1 ? 'needs' : 'need'} a decision. Everything else is delivered or on its way.`;
  if (down > 0)
    return `${plural(down, 'provider is', 'providers are')} down: what it should get is held, and sent when it is back.`;
  return due + waiting > 0 ? 'Everything is delivered or on its way.' : 'Everything is delivered.';
}

function Figures({ overview }: { readonly overview: Overview }) {
  const { dead, due, waiting, in_flight, oldest } = sums(overview);
  const estimated = overview.channels.some((figures) => figures.estimated);
  return (
    <div class="figures">
      <Figure
        label="Dead"
        value={dead}
        estimated={estimated}
        tone="bad"
        href="/dead-letters"
        hint={dead === 0 ? 'nothing needs you' : `by ${plural(overview.causes.length, 'cause')}`}
      />
      <Figure
        label="Due"
        value={due}
        estimated={estimated}
        tone="none"
        href={hrefOf('/notifications', { status: 'due' })}
        hint={
          oldest === null ? (
            'nothing is late'
          ) : (
            <>
              oldest <Time at={oldest} />
            </>
          )
        }
      />
      <Figure
        label="In flight"
        value={in_flight}
        href={hrefOf('/notifications', { status: 'SENDING' })}
        hint="being sent now"
      />
      <Figure
        label="Waiting"
        value={waiting}
        estimated={estimated}
        href={hrefOf('/notifications', { status: 'RETRY' })}
        hint="for their next retry"
      />
    </div>
  );
}

function sums({ channels }: Overview) {
  const sum = (name: 'due' | 'dead' | 'waiting' | 'in_flight') =>
    channels.reduce((total, figures) => total + figures[name], 0);
  const [oldest = null] = channels.flatMap(({ oldest_due_at }) => oldest_due_at ?? []).sort();
  return { dead: sum('dead'), due: sum('due'), waiting: sum('waiting'), in_flight: sum('in_flight'), oldest };
}

const FIGURES = ['due', 'in_flight', 'waiting', 'dead'] as const;
const STATUS = { due: 'due', in_flight: 'SENDING', waiting: 'RETRY', dead: 'dead' } as const;

function Channels({ channels }: { readonly channels: readonly ChannelFigures[] }) {
  return (
    <section class="panel" aria-labelledby="channels">
      <header class="panel-head">
        <h2 id="channels">By channel</h2>
      </header>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Channel</th>
            <th scope="col" class="number">
              Due
            </th>
            <th scope="col" class="number">
              In flight
            </th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col" class="number">
              Dead
            </th>
            <th scope="col" class="number wide-only">
              Oldest due
            </th>
          </tr>
        </thead>
        <tbody>
          {channels.map((figures) => (
            <tr key={figures.channel}>
              <th scope="row">{channelName(figures.channel)}</th>
              {FIGURES.map((name) => (
                <td key={name} class="number">
                  {figures[name] === 0 ? (
                    <span class="faint">0</span>
                  ) : (
                    <a
                      href={hrefOf('/notifications', { status: STATUS[name], channel: figures.channel })}
                      class={name === 'dead' ? 'is-bad' : undefined}
                    >
                      {figures.estimated && name !== 'in_flight' ? about(figures[name]) : count(figures[name])}
                    </a>
                  )}
                </td>
              ))}
              <td class="number wide-only">
                <Time at={figures.oldest_due_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
