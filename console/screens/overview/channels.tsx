import type { ChannelFigures } from '../../../src/operator-service/contract/overview.ts';
import { hrefOf } from '../../navigation/router.ts';
import { about, count, Time } from '../../parts/time.tsx';
import { channelName } from '../../parts/words.ts';

const FIGURES = ['due', 'in_flight', 'waiting', 'dead'] as const;
const STATUS = { due: 'due', in_flight: 'SENDING', waiting: 'RETRY', dead: 'dead' } as const;

export function Channels({ channels }: { readonly channels: readonly ChannelFigures[] }) {
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
