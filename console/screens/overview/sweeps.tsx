import type { Overview } from '../../../src/operator-service/contract/overview.ts';
import { Badge } from '../../parts/badge.tsx';
import { count, Time } from '../../parts/time.tsx';

const SHOWN = 5;

export function Sweeps({ sweeps }: { readonly sweeps: Overview['sweeps'] }) {
  return (
    <section class="panel" aria-labelledby="sweeps">
      <header class="panel-head">
        <h2 id="sweeps">Last sweeps</h2>
      </header>
      {sweeps.length === 0 ? (
        <p class="panel-note soft">
          The schedule has run none in the last 30 days. Runs of the job on somebody’s machine are not listed.
        </p>
      ) : (
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Started</th>
              <th scope="col" class="number">
                Due
              </th>
              <th scope="col" class="number">
                Sent to lanes
              </th>
              <th scope="col" class="number wide-only">
                Skipped
              </th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {sweeps.slice(0, SHOWN).map((sweep) => (
              <tr key={sweep.run_id}>
                <th scope="row">
                  <Time at={sweep.started_at} />
                </th>
                <td class="number">{count(sweep.due)}</td>
                <td class="number">{count(sweep.dispatched)}</td>
                <td class="number wide-only">{count(sweep.skipped)}</td>
                <td>{sweep.complete ? <Badge tone="good">Complete</Badge> : <Badge tone="wait">Incomplete</Badge>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
