import type { CauseFigures } from '../../../src/operator-service/contract/overview.ts';
import { hrefOf } from '../../navigation/router.ts';
import { count } from '../../parts/time.tsx';
import { causeWord, channelName } from '../../parts/words.ts';

/** Most causes that the overview lists; all are on the screen of dead letters. */
const SHOWN = 6;

export function Causes({ causes, complete }: { readonly causes: readonly CauseFigures[]; readonly complete: boolean }) {
  if (causes.length === 0) return null;
  const most = Math.max(...causes.map((cause) => cause.count));
  return (
    <section class="panel" aria-labelledby="causes">
      <header class="panel-head">
        <h2 id="causes">Why they are dead</h2>
        <a href="/dead-letters">Repair and redrive</a>
      </header>
      <ul class="causes">
        {causes.slice(0, SHOWN).map((cause) => {
          const error = cause.error_type ?? cause.failure_reason;
          return (
            <li key={`${cause.channel} ${cause.failure_reason} ${cause.error_type}`}>
              <a class="cause" href={hrefOf('/dead-letters', { channel: cause.channel })}>
                <span class="cause-what">
                  <strong>{channelName(cause.channel)}</strong> {causeWord(error)}
                  <code class="faint">{error}</code>
                </span>
                <span class="cause-count">{count(cause.count)}</span>
                <span class="bar" aria-hidden="true">
                  <span style={{ width: `${(100 * cause.count) / most}%` }} />
                </span>
                <span class="cause-remedy soft">{cause.remedy}</span>
              </a>
            </li>
          );
        })}
      </ul>
      {(causes.length > SHOWN || !complete) && (
        <p class="panel-foot faint">
          {complete
            ? `${causes.length - SHOWN} more causes under dead letters.`
            : 'Only the newest dead notifications were read: the counts are lower bounds.'}
        </p>
      )}
    </section>
  );
}
