import { useContext } from 'preact/hooks';
import type { DeadLetterGroup } from '../../../src/operator-service/contract/dead-letters.ts';
import type { OperationKind } from '../../../src/operator-service/contract/operations.ts';
import { SessionContext } from '../../data/session.ts';
import { hrefOf } from '../../navigation/router.ts';
import { Shell } from '../../parts/shell-command.tsx';
import { count, Time } from '../../parts/time.tsx';
import { answerWords, causeWord, channelName, plural } from '../../parts/words.ts';

interface GroupProps {
  readonly group: DeadLetterGroup;
  readonly onAct: (kind: OperationKind) => void;
}

export function Group({ group, onAct }: GroupProps) {
  const { role } = useContext(SessionContext);
  const { channel, failure_reason, error_type, integration, error_message, response_code, remedy, repair, commands } =
    group;
  const type = error_type ?? failure_reason;
  const heading = `group-${group.group_id}`;
  const answer = answerWords(response_code, error_message);
  return (
    <section class="panel group" aria-labelledby={heading}>
      <header class="group-head">
        <div class="group-count" aria-hidden="true">
          {count(group.count)}
        </div>
        <div class="group-what">
          <h2 id={heading}>
            {channelName(channel)}: {lower(causeWord(type))}
          </h2>
          <p class="soft">
            <span class="visually-hidden">{plural(group.count, 'notification')}. </span>
            {integration !== null && (
              <>
                Integration <code>{integration}</code> ·{' '}
              </>
            )}
            {plural(group.tenants, 'tenant')} · <code>{type}</code>
            {failure_reason !== type && (
              <>
                {' '}
                → <code>{failure_reason}</code>
              </>
            )}{' '}
            · last <Time at={group.newest_at} />
          </p>
        </div>
        <div class="group-actions">
          <button type="button" class="button primary" disabled={role === 'viewer'} onClick={() => onAct('redrive')}>
            Redrive {count(group.count)}
            <span class="visually-hidden">
              {' '}
              of {channelName(channel)}, {type}
            </span>
          </button>
          <button type="button" class="button" disabled={role === 'viewer'} onClick={() => onAct('give_up')}>
            Take off the list
            <span class="visually-hidden">
              {' '}
              the dead letters of {channelName(channel)}, {type}
            </span>
          </button>
        </div>
      </header>
      {answer !== '' && (
        <div class="group-line">
          <span class="group-label">Last answer</span>
          <code class="answer-text">{answer}</code>
        </div>
      )}
      <div class="group-line">
        <span class="group-label">What to do</span>
        <div class="repair">
          <p>{remedy}</p>
          {repair !== null && <Shell {...repair} />}
        </div>
      </div>
      {role === 'viewer' && <p class="faint group-line">Your role is viewer: only operators redrive.</p>}
      <div class="group-line">
        <span class="group-label">Notifications</span>
        <div class="samples">
          {group.sample.map((log_id) => (
            <a key={log_id} class="mono" href={`/notifications/${encodeURIComponent(log_id)}`}>
              {log_id}
            </a>
          ))}
          <a href={listOf(group)}>{group.count > group.sample.length ? `All ${count(group.count)}` : 'As a list'}</a>
        </div>
      </div>
      {commands.length > 0 && (
        <details class="shell-commands">
          <summary>In the shell</summary>
          {commands.map((command) => (
            <Shell key={command.command} {...command} />
          ))}
        </details>
      )}
    </section>
  );
}

function listOf({ filter }: DeadLetterGroup): string {
  return hrefOf('/notifications', { status: 'dead', ...filter });
}

/** After a colon; a name that begins with an abbreviation stays as it is. */
function lower(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
