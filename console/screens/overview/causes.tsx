import { useContext, useState } from 'preact/hooks';
import { WITHOUT } from '../../../src/application/contract/choices.ts';
import type { CauseFigures } from '../../../src/application/contract/overview.ts';
import { SessionContext } from '../../data/session.ts';
import { count, plural, said, t } from '../../language/language.ts';
import { hrefOf } from '../../navigation/router.ts';
import { Button } from '../../parts/button.tsx';
import { Panel } from '../../parts/screen.tsx';
import { causeWord, channelName } from '../../parts/words.ts';
import { NewOperation } from '../operations/new-operation.tsx';

/** Most causes that the overview lists; all are on the screen of dead letters. */
const SHOWN = 8;

interface CausesProps {
  readonly causes: readonly CauseFigures[];
  readonly complete: boolean;
}

/** Why notifications are dead, by the provider that refuses them, each with what to do and the button that does it. */
export function Causes({ causes, complete }: CausesProps) {
  const { role } = useContext(SessionContext);
  const [asked, setAsked] = useState<CauseFigures>();
  if (causes.length === 0) return null;
  const more = causes.length - SHOWN;
  const shown = new Set(causes.slice(0, SHOWN));
  const channels = [...Map.groupBy(causes, ({ channel }) => channel)]
    .map(([channel, all]) => ({
      channel,
      dead: all.reduce((sum, cause) => sum + cause.count, 0),
      listed: all.filter((cause) => shown.has(cause)),
    }))
    .filter(({ listed }) => listed.length > 0)
    .sort((a, b) => b.dead - a.dead);
  return (
    <Panel title={t('Why they are dead')} aside={<a href="/dead-letters">{t('All dead letters')}</a>}>
      <ul class="providers">
        {channels.map(({ channel, dead, listed }) => (
          <li key={channel}>
            <h3>
              {channelName(channel)} <span class="faint">{count(dead)}</span>
            </h3>
            <ul>
              {listed.map((cause) => (
                <Cause key={keyOf(cause)} cause={cause} {...(role === 'operator' && { onRedrive: setAsked })} />
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {(more > 0 || !complete) && (
        <p class="inset faint">
          {complete
            ? t('{n} under dead letters.', { n: plural(more, 'more cause') })
            : t('Only the newest dead notifications were read: the counts are lower bounds.')}
        </p>
      )}
      {asked !== undefined && (
        <NewOperation filter={filterOf(asked)} kinds={['redrive']} onClose={() => setAsked(undefined)} />
      )}
    </Panel>
  );
}

interface CauseProps {
  readonly cause: CauseFigures;
  readonly onRedrive?: (cause: CauseFigures) => void;
}

function Cause({ cause, onRedrive }: CauseProps) {
  const { channel, integration } = cause;
  const error = cause.error_type ?? cause.failure_reason;
  return (
    <li class="cause">
      <span class="cause-count">{count(cause.count)}</span>
      <div class="cause-what">
        <a href={hrefOf('/dead-letters', { channel })}>{causeWord(error)}</a> <code class="faint">{error}</code>
        {integration !== null && <code class="faint">{integration}</code>}
        <p class="soft small">{said(cause.remedy)}</p>
      </div>
      {onRedrive !== undefined && (
        <Button
          name={t('Redrive')}
          more={t('{n} of {channel}, {error}', {
            n: plural(cause.count, 'notification'),
            channel: channelName(channel),
            error,
          })}
          onClick={() => onRedrive(cause)}
        />
      )}
    </li>
  );
}

function keyOf({ channel, failure_reason, error_type, integration }: CauseFigures): string {
  return JSON.stringify([channel, failure_reason, error_type, integration]);
}

/** What the group of dead letters with this cause is made of. */
function filterOf({ channel, failure_reason, error_type, integration }: CauseFigures) {
  return { channel, failure_reason, last_error: error_type ?? WITHOUT, integration: integration ?? WITHOUT } as const;
}
