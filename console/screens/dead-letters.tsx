import { useContext, useState } from 'preact/hooks';
import type { OperationKind } from '../../src/application/contract/choices.ts';
import type { DeadLetterGroup } from '../../src/application/contract/overview.ts';
import { CHANNELS } from '../../src/core/model/channels.ts';
import { SessionContext } from '../data/session.ts';
import { useRead } from '../data/use-read.ts';
import { count, plural, rich, said, t } from '../language/language.ts';
import { hrefOf, usePlace } from '../navigation/router.ts';
import { Button, VIEWERS, Why } from '../parts/button.tsx';
import { Dotted, Group, GroupLine, LogIds, ScreenFrame } from '../parts/screen.tsx';
import { ConditionSelects } from '../parts/select.tsx';
import { Ops, Shell, ShellCommands } from '../parts/shell-command.tsx';
import { Await, Empty } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { answerWords, causeWord, channelName, lowerFirst } from '../parts/words.ts';
import { NewOperation } from './operations/new-operation.tsx';

/** Dead notifications by cause: one repair and one action per group. */
export function DeadLettersScreen() {
  const { query, set } = usePlace();
  const channel = CHANNELS.find((name) => name === query.get('channel'));
  const tenant = query.get('tenant') || undefined;
  const [asked, setAsked] = useState<{ readonly group: DeadLetterGroup; readonly kind: OperationKind }>();
  const filter = { ...(channel && { channel }), ...(tenant && { tenant }) };
  const reading = useRead('GET /api/dead-letters', {}, filter);
  const { data, refresh } = reading;
  return (
    <ScreenFrame
      title={t('Dead letters')}
      lead={data && data.total > 0 && lead(data.total, data.groups.length, data.complete)}
    >
      <div class="line">
        <ConditionSelects of={['channel']} values={{ channel }} onChange={set} />
        {tenant !== undefined && (
          <a class="clear" href={hrefOf('/dead-letters', { channel })}>
            {rich('All tenants, not only {tenant}', { tenant })}
          </a>
        )}
      </div>
      <Await reading={reading} what={t('dead letters')}>
        {({ groups }) =>
          groups.length === 0 ? (
            <Empty title={t('No dead letters')}>
              <p>{t('Nothing waits for a decision. What is given up will stand here, grouped by its cause.')}</p>
              <Ops label={t('The same in the shell')} command="dlq list" />
            </Empty>
          ) : (
            <div class="rows">
              {groups.map((group) => (
                <Cause key={group.group_id} group={group} onAct={(kind) => setAsked({ group, kind })} />
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
  const n = plural(total, 'notification');
  return t(
    '{n}, {causes}. Remove a cause, then redrive its group: each notification starts again with a full budget of retries.',
    { n: complete ? n : t('At least {n}', { n }), causes: plural(groups, 'cause') },
  );
}

interface CauseProps {
  readonly group: DeadLetterGroup;
  readonly onAct: (kind: OperationKind) => void;
}

function Cause({ group, onAct }: CauseProps) {
  const { role } = useContext(SessionContext);
  const { channel, failure_reason, error_type, integration, error_message, response_code, remedy, repair, commands } =
    group;
  const type = error_type ?? failure_reason;
  const answer = answerWords(response_code, error_message);
  const what = `${channelName(channel)}, ${type}`;
  const actions = [
    { kind: 'redrive', name: t('Redrive {n}', { n: count(group.count) }), more: t('of {what}', { what }) },
    { kind: 'give_up', name: t('Dismiss'), more: t('the dead letters of {what}', { what }) },
    ...(integration === null
      ? []
      : [{ kind: 'correct', name: t('Change integration'), more: t('of {what}', { what }) } as const]),
  ] as const;
  return (
    <Group
      id={`group-${group.group_id}`}
      count={count(group.count)}
      title={`${channelName(channel)}: ${lowerFirst(causeWord(type))}`}
      facts={
        <>
          <span class="visually-hidden">{plural(group.count, 'notification')}. </span>
          <Dotted
            of={[
              integration !== null && rich('Integration {integration}', { integration: <code>{integration}</code> }),
              plural(group.tenants, 'tenant'),
              [<code>{type}</code>, failure_reason !== type && [' → ', <code>{failure_reason}</code>]],
              rich('last {time}', { time: <Time at={group.newest_at} /> }),
            ]}
          />
        </>
      }
      actions={
        <>
          {role === 'viewer' && <Why>{VIEWERS}</Why>}
          {actions.map(({ kind, name, more }) => (
            <Button
              key={kind}
              name={name}
              more={more}
              kind={kind === 'redrive' ? 'primary' : 'plain'}
              disabled={role === 'viewer'}
              onClick={() => onAct(kind)}
            />
          ))}
        </>
      }
    >
      {answer !== '' && (
        <GroupLine name={t('Last answer')}>
          <code class="answer-text">{answer}</code>
        </GroupLine>
      )}
      <GroupLine name={t('What to do')}>
        <div class="rows tight">
          <p>{said(remedy)}</p>
          {repair !== null && <Shell label={said(repair.label)} command={repair.command} />}
        </div>
      </GroupLine>
      {role === 'viewer' && <p class="faint group-line">{t('Your role is viewer: only operators redrive.')}</p>}
      <GroupLine name={t('Notifications')}>
        <div class="line">
          <LogIds of={group.sample} within={{ in: 'list', status: 'dead', ...group.filter }} />
          <a href={hrefOf('/notifications', { status: 'dead', ...group.filter })}>
            {group.count > group.sample.length ? t('All {n}', { n: count(group.count) }) : t('As a list')}
          </a>
        </div>
      </GroupLine>
      <ShellCommands commands={commands} />
    </Group>
  );
}
