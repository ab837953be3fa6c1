import type { ComponentChildren } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { NotificationDetail } from '../../src/operator-service/contract/notifications.ts';
import { problemOf, write } from '../data/api.ts';
import { newRequestId } from '../data/request-id.ts';
import { SessionContext } from '../data/session.ts';
import { useRead } from '../data/use-read.ts';
import { hrefOf } from '../navigation/router.ts';
import { Badge } from '../parts/badge.tsx';
import { Icon } from '../parts/icon.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Loading, Problem } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { showProblem } from '../parts/toasts.tsx';
import { causeWord, channelName, stateWord } from '../parts/words.ts';
import { Actions } from './notification/actions.tsx';
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

type View = NotificationDetail['notification'];

/** The columns that are shown as they are, in this order, with their names for people. */
const PLAIN = [
  ['priority', 'Priority'],
  ['notification_id', 'notification_id'],
  ['integration_config_id', 'Integration'],
  ['send_attempts', 'Attempts counted'],
  ['attempts_left', 'Attempts left'],
  ['redrive_count', 'Redrives'],
  ['send_status', 'send_status'],
  ['failure_reason', 'Given up because of'],
  ['template_id', 'Template'],
  ['fallback_channel', 'Fallback channel'],
  ['traceparent', 'Trace'],
] as const;

const TIMES = [
  ['created_at', 'Created'],
  ['scheduled_at', 'Scheduled'],
  ['first_attempt_at', 'First attempt'],
  ['window_from', 'Retried since'],
  ['sent_at', 'Sent'],
  ['updated_at', 'Last change'],
] as const;

function Facts({ log_id, detail: { notification } }: { readonly log_id: string; readonly detail: NotificationDetail }) {
  const tenant = String(notification['tenant_id'] ?? '');
  return (
    <section class="panel facts-panel" aria-labelledby="facts">
      <header class="panel-head">
        <h2 id="facts">Details</h2>
      </header>
      <dl class="pairs">
        <Pair name="Recipient">
          <Recipient log_id={log_id} />
        </Pair>
        <Pair name="Channel">{channelName(notification['channel'])}</Pair>
        <Pair name="Tenant">
          <a href={hrefOf('/notifications', { tenant })}>{tenant}</a>
        </Pair>
        {PLAIN.map(([column, name]) => (
          <Plain key={column} name={name} value={notification[column]} />
        ))}
        {TIMES.map(([column, name]) =>
          typeof notification[column] === 'string' ? (
            <Pair key={column} name={name}>
              <Time at={String(notification[column])} />
            </Pair>
          ) : null,
        )}
        <Related name="Continues as" view={notification} column="successor_log_id" />
        <Related name="Continues" view={notification} column="predecessor_log_id" />
      </dl>
    </section>
  );
}

function Pair({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Plain({ name, value }: { readonly name: string; readonly value: unknown }) {
  if (value === undefined || value === null || value === '') return null;
  return <Pair name={name}>{String(value)}</Pair>;
}

function Related({ name, view, column }: { readonly name: string; readonly view: View; readonly column: string }) {
  const id = view[column];
  if (typeof id !== 'string') return null;
  return (
    <Pair name={name}>
      <a class="mono" href={`/notifications/${encodeURIComponent(id)}`}>
        {id}
      </a>
    </Pair>
  );
}

/** Masked until an operator asks; each look is in the audit log. */
function Recipient({ log_id }: { readonly log_id: string }) {
  const { role } = useContext(SessionContext);
  const [recipient, setRecipient] = useState<string>();
  if (recipient !== undefined) return <span class="mono">{recipient}</span>;
  const reveal = async () => {
    try {
      const answer = await write('POST /api/notifications/{log_id}/reveal', { log_id }, { request_id: newRequestId() });
      setRecipient(answer.recipient);
    } catch (error) {
      showProblem(problemOf(error));
    }
  };
  return (
    <span class="masked">
      <span aria-hidden="true">••••••</span>
      {role === 'operator' ? (
        <button type="button" class="link-button" onClick={reveal} title="Your look is written to the audit log">
          <Icon name="eye" />
          Show recipient
        </button>
      ) : (
        <span class="faint">operators can see it</span>
      )}
    </span>
  );
}
