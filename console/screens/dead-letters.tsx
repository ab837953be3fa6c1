import { useContext, useState } from 'preact/hooks';
import { CHANNELS } from '../../src/core/model/channels.ts';
import type { OperationKind } from '../../src/operator-service/contract/choices.ts';
import type { DeadLetterGroup } from '../../src/operator-service/contract/overview.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { useRead } from '../data/use-read.ts';
import { hrefOf, usePlace } from '../navigation/router.ts';
import { Button } from '../parts/button.tsx';
import { Dotted, LogIds, ScreenFrame } from '../parts/screen.tsx';
import { ConditionSelects } from '../parts/select.tsx';
import { Shell } from '../parts/shell-command.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { count, Time } from '../parts/time.tsx';
import { answerWords, causeWord, channelName, lowerFirst, plural } from '../parts/words.ts';
import { NewOperation } from './operations/new-operation.tsx';

/** Dead notifications by cause: one repair and one action per group. */
export function DeadLettersScreen() {
  const { query, set } = usePlace();
  const session = useContext(SessionContext);
  const channel = CHANNELS.find((name) => name === query.get('channel'));
  const tenant = query.get('tenant') || undefined;
  const [asked, setAsked] = useState<{ readonly group: DeadLetterGroup; readonly kind: OperationKind }>();
  const filter = { ...(channel && { channel }), ...(tenant && { tenant }) };
  const reading = useRead('GET /api/dead-letters', {}, filter);
  const { data, refresh } = reading;
  return (
    <ScreenFrame
      title="Dead letters"
      lead={data && data.total > 0 && lead(data.total, data.groups.length, data.complete)}
    >
      <div class="line">
        <ConditionSelects of={['channel']} values={{ channel }} onChange={set} />
        {tenant !== undefined && (
          <a class="clear" href={hrefOf('/dead-letters', { channel })}>
            All tenants, not only {tenant}
          </a>
        )}
      </div>
      <Await reading={reading} what="dead letters">
        {({ groups }) =>
          groups.length === 0 ? (
            <Empty title="No dead letters">
              <p>Nothing waits for a decision. What is given up will stand here, grouped by its cause.</p>
              <Shell label="The same in the shell" command={opsCommand('dlq list', session)} />
            </Empty>
          ) : (
            <div class="rows">
              {groups.map((group) => (
                <Group key={group.group_id} group={group} onAct={(kind) => setAsked({ group, kind })} />
              ))}
            </div>
          )
        }
      </Await>
      {asked !== undefined && (
        <NewOperation
          filter={asked.group.filter}
          kinds={[asked.kind]}
          onClose={() => {
            setAsked(undefined);
            refresh();
          }}
        />
      )}
    </ScreenFrame>
  );
}

function lead(total: number, groups: number, complete: boolean): string {
  const count = complete ? plural(total, 'notification') : `At least ${plural(total, 'notification')}`;
  return `${count} by ${plural(groups, 'cause')}. Remove the cause, then redrive the group: each notification starts again with a full budget of retries.`;
}

interface GroupProps {
  readonly group: DeadLetterGroup;
  readonly onAct: (kind: OperationKind) => void;
}

function Group({ group, onAct }: GroupProps) {
  const { role } = useContext(SessionContext);
  const { channel, failure_reason, error_type, integration, error_message, response_code, remedy, repair, commands } =
    group;
  const type = error_type ?? failure_reason;
  const heading = `group-${group.group_id}`;
  const answer = answerWords(response_code, error_message);
  return (
    <section class="panel group rows" aria-labelledby={heading}>
      <header class="group-head">
        <div class="group-count" aria-hidden="true">
          {count(group.count)}
        </div>
        <div class="group-what">
          <h2 id={heading}>
            {channelName(channel)}: {lowerFirst(causeWord(type))}
          </h2>
          <p class="soft">
            <span class="visually-hidden">{plural(group.count, 'notification')}. </span>
            <Dotted
              of={[
                integration !== null && ['Integration ', <code>{integration}</code>],
                plural(group.tenants, 'tenant'),
                [<code>{type}</code>, failure_reason !== type && [' → ', <code>{failure_reason}</code>]],
                ['last ', <Time at={group.newest_at} />],
              ]}
            />
          </p>
        </div>
        <div class="group-actions line">
          <Button
            name={`Redrive ${count(group.count)}`}
            more={`of ${channelName(channel)}, ${type}`}
            kind="primary"
            disabled={role === 'viewer'}
            onClick={() => onAct('redrive')}
          />
          <Button
            name="Take off the list"
            more={`the dead letters of ${channelName(channel)}, ${type}`}
            disabled={role === 'viewer'}
            onClick={() => onAct('give_up')}
          />
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
        <div class="rows tight">
          <p>{remedy}</p>
          {repair !== null && <Shell {...repair} />}
        </div>
      </div>
      {role === 'viewer' && <p class="faint group-line">Your role is viewer: only operators redrive.</p>}
      <div class="group-line">
        <span class="group-label">Notifications</span>
        <div class="line">
          <LogIds of={group.sample} within={{ in: 'list', status: 'dead', ...group.filter }} />
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
