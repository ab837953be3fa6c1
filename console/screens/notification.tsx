import type { NotificationDetail } from '../../src/operator-service/contract/notifications.ts';
import { useRead } from '../data/use-read.ts';
import { Badge } from '../parts/badge.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Loading, Problem } from '../parts/states.tsx';
import { causeWord, stateWord } from '../parts/words.ts';
import { Actions } from './notification/actions.tsx';
import { Facts } from './notification/facts.tsx';
import { Timeline } from './notification/timeline.tsx';

/** Everything about one notification: where it stands, what was answered at each attempt, what to do. */
export function NotificationScreen({ id }: { readonly id: string }) {
  const { data, problem, refresh } = useRead('GET /api/notifications/{log_id}', { log_id: id }, {});
  return (
    <ScreenFrame
      title={<Title id={id} detail={data} />}
      actions={data && <Actions log_id={id} detail={data} onDone={refresh} />}
    >
      {problem !== undefined && <Problem problem={problem} onRetry={refresh} />}
      {data === undefined && problem === undefined && <Loading what="the notification" />}
      {data !== undefined && (
        <>
          <Remedy detail={data} />
          <div class="columns main-and-side">
            <Timeline detail={data} />
            <Facts log_id={id} detail={data} />
          </div>
          <ShellCommands commands={data.commands} />
        </>
      )}
    </ScreenFrame>
  );
}

function Title({ id, detail }: { readonly id: string; readonly detail: NotificationDetail | undefined }) {
  const word = detail && stateWord(detail.notification.state);
  return (
    <span class="title-line">
      <span class="mono title-id">{id}</span>
      {word && (
        <Badge tone={word.tone} title={word.meaning}>
          {word.name}
        </Badge>
      )}
    </span>
  );
}

function Remedy({ detail: { notification, remedy } }: { readonly detail: NotificationDetail }) {
  if (remedy === null) return null;
  const { state } = notification;
  const type = String(notification['error_type'] ?? notification['failure_reason'] ?? '');
  const answer = notification['error_message'];
  return (
    <section
      class={`remedy tone-${state === 'dead' || state === 'set_aside' ? 'bad' : 'wait'}`}
      aria-labelledby="remedy"
    >
      <h2 id="remedy">
        {causeWord(type)} <code>{type}</code>
      </h2>
      {answer !== undefined && (
        <p>
          Last answer: <q>{String(answer)}</q>
        </p>
      )}
      <p>
        <strong>What to do:</strong> {remedy}
      </p>
    </section>
  );
}
