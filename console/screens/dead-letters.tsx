import { useContext, useState } from 'preact/hooks';
import { CHANNELS } from '../../src/core/model/channels.ts';
import type { DeadLetterGroup } from '../../src/operator-service/contract/dead-letters.ts';
import type { OperationKind } from '../../src/operator-service/contract/operations.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { useRead } from '../data/use-read.ts';
import { hrefOf, navigate, usePlace } from '../navigation/router.ts';
import { ScreenFrame } from '../parts/screen.tsx';
import { Select } from '../parts/select.tsx';
import { Shell } from '../parts/shell-command.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { channelName, plural } from '../parts/words.ts';
import { Group } from './dead-letters/group.tsx';
import { NewOperation } from './operations/new-operation.tsx';

/** Dead notifications by cause: one repair and one action per group. */
export function DeadLettersScreen() {
  const { query } = usePlace();
  const session = useContext(SessionContext);
  const channel = CHANNELS.find((name) => name === query.get('channel'));
  const tenant = query.get('tenant') || undefined;
  const [asked, setAsked] = useState<{ readonly group: DeadLetterGroup; readonly kind: OperationKind }>();
  const filter = { ...(channel && { channel }), ...(tenant && { tenant }) };
  const { data, problem, refresh } = useRead('GET /api/dead-letters', {}, filter);
  const set = (change: Readonly<Record<string, string | undefined>>) =>
    navigate(hrefOf('/dead-letters', { ...Object.fromEntries(query), ...change }));
  return (
    <ScreenFrame
      title="Dead letters"
      lead={data && data.total > 0 && lead(data.total, data.groups.length, data.complete)}
    >
      <div class="filters">
        <Select
          label="Channel"
          value={channel}
          options={CHANNELS}
          all="Any channel"
          nameOf={channelName}
          onChange={(chosen) => set({ channel: chosen })}
        />
        {tenant !== undefined && (
          <a class="clear" href={hrefOf('/dead-letters', { channel })}>
            All tenants, not only {tenant}
          </a>
        )}
      </div>
      {problem !== undefined && <Problem problem={problem} onRetry={refresh} />}
      {data === undefined && problem === undefined && <Loading what="dead letters" />}
      {data?.groups.length === 0 && (
        <Empty title="No dead letters">
          <p>Nothing waits for a decision. What is given up will stand here, grouped by its cause.</p>
          <Shell label="The same in the shell" command={opsCommand('dlq list', session)} />
        </Empty>
      )}
      <div class="groups">
        {data?.groups.map((group) => (
          <Group key={group.group_id} group={group} onAct={(kind) => setAsked({ group, kind })} />
        ))}
      </div>
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
