import { useContext, useEffect, useState } from 'preact/hooks';
import type { OperationAction } from '../../src/application/contract/choices.ts';
import type { OperationView } from '../../src/application/contract/operations.ts';
import { type Answer, write } from '../data/api.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { type List, useList } from '../data/use-list.ts';
import { plural, rich, said, t } from '../language/language.ts';
import { type Word, WordBadge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Dotted, Group, ScreenFrame } from '../parts/screen.tsx';
import { OpsCommands, ShellCommands } from '../parts/shell-command.tsx';
import { Listed } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useAct } from '../parts/toasts.tsx';
import { channelName, KIND_WORDS, OPERATION_WORDS } from '../parts/words.ts';
import { FilterWords } from './operations/filter.tsx';
import { NewOperation } from './operations/new-operation.tsx';
import { Outcomes } from './operations/outcomes.tsx';
import { Progress, Reasons } from './operations/progress.tsx';
import { Verification } from './operations/verification.tsx';

const QUEUE_REDRIVE = 'dlq.redrive';

/** Bulk operations, newest first: what runs, how far it is, and what became of it. */
export function OperationsScreen() {
  const session = useContext(SessionContext);
  const [asked, setAsked] = useState(false);
  const list = useList({
    route: 'GET /api/operations',
    query: { limit: '20' },
    rowsOf: (page) => page.operations,
    keyOf: (operation: OperationView) => operation.operation_id,
  });
  const queues = useList({
    route: 'GET /api/audit',
    query: { what: QUEUE_REDRIVE, limit: '20' },
    rowsOf: (page) => page.entries.filter(({ what }) => what === QUEUE_REDRIVE),
    keyOf: (entry: AuditEntry) => entry.audit_id,
    once: true,
  });
  // A link from the page of a notification names the operation.
  useEffect(() => {
    if (list.loaded) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [list.loaded]);
  const done = inOneList(list, queues.rows);
  return (
    <ScreenFrame
      title={t('Operations')}
      lead={t(
        'What was done with many notifications at once. An operation takes what its preview counted, and nothing that came later.',
      )}
      actions={
        session.role === 'operator' && (
          <Button name={t('New operation')} kind="primary" onClick={() => setAsked(true)} />
        )
      }
    >
      <Verification />
      <Listed
        label={t('Operations')}
        list={{ ...list, rows: done }}
        empty={{
          icon: 'operations',
          title: t('No operations yet'),
          text: t('Redrive a group of dead letters, or act on all notifications that match a filter.'),
        }}
      >
        <div class="rows">
          {done.map(({ key, operation, entry }) =>
            operation ? (
              <Operation
                key={key}
                operation={operation}
                isNewest={list.rows.indexOf(operation) < OPENED}
                onChanged={list.refresh}
              />
            ) : (
              <QueueRedrive key={key} entry={entry} />
            ),
          )}
        </div>
      </Listed>
      {list.more && <Button name={t('Show earlier ones')} onClick={list.loadMore} />}
      <OpsCommands of={{ [t('A redrive by filter in the shell')]: 'replay --channel slack --dry-run' }} />
      {asked && (
        <NewOperation
          onClose={() => {
            setAsked(false);
            list.refresh();
          }}
        />
      )}
    </ScreenFrame>
  );
}

type AuditEntry = Answer<'GET /api/audit'>['entries'][number];
type Done =
  | { readonly key: string; readonly at: string; readonly operation: OperationView; readonly entry?: undefined }
  | { readonly key: string; readonly at: string; readonly operation?: undefined; readonly entry: AuditEntry };

/** What was done with many, however it was asked for; of queues, what is not older than the operations that were read. */
function inOneList({ rows, more }: List<OperationView>, entries: readonly AuditEntry[]): Done[] {
  const operations = rows.map((operation) => ({ key: operation.operation_id, at: operation.created_at, operation }));
  const since = more ? (operations.at(-1)?.at ?? '') : '';
  const queues = entries.flatMap((entry) => (entry.at < since ? [] : [{ key: entry.audit_id, at: entry.at, entry }]));
  return [...operations, ...queues].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
}

/** By a command: SQS moves what is in the queue, without a preview. */
function QueueRedrive({ entry: { audit_id, at, who, on, result } }: { readonly entry: AuditEntry }) {
  const moved = result?.['moved'];
  return (
    <Group
      id={`operation-${audit_id}`}
      title={
        <>
          {t('Redrive of the dead-letter queue of {channels}', { channels: on.map(channelName).join(', ') })}
          <WordBadge word={result === undefined ? BEGUN : OPERATION_WORDS.done} />
        </>
      }
      facts={
        <Dotted
          of={[
            moved !== undefined && plural(moved, 'letter moved', 'letters moved'),
            t('by {who}', { who }),
            <Time at={at} />,
          ]}
        />
      }
    >
      {null}
    </Group>
  );
}

const BEGUN: Word = { name: t('Begun'), tone: 'wait', meaning: t('Its end is not known.') };

/** Operations whose outcome is read without being asked for: up to a hundred rows each. */
const OPENED = 2;

const ACTIONS: Readonly<Record<OperationAction, { readonly name: string; readonly answer: string }>> = {
  start: { name: t('Start'), answer: t('The operation has begun.') },
  pause: { name: t('Pause'), answer: t('It pauses after the page in progress.') },
  resume: { name: t('Resume'), answer: t('It goes on where it stopped.') },
  cancel: { name: t('Cancel'), answer: t('It ends after the page in progress; what was done stays done.') },
};

interface OperationProps {
  /** What became of the newest ones is shown at once; of earlier ones when somebody asks. */
  readonly isNewest: boolean;
  readonly operation: OperationView;
  readonly onChanged: () => void;
}

function Operation({ operation, isNewest, onChanged }: OperationProps) {
  const session = useContext(SessionContext);
  const { operation_id, kind, status, preview, progress, wanted } = operation;
  const word = OPERATION_WORDS[status];
  const [busy, act] = useAct(onChanged);
  return (
    <Group
      id={`operation-${operation_id}`}
      title={
        <>
          {preview === null
            ? KIND_WORDS[kind].name
            : t('{action} {n}', { action: KIND_WORDS[kind].name, n: plural(preview.taken, 'notification') })}
          <WordBadge
            word={wanted === null ? word : { ...word, name: wanted === 'pause' ? t('Pausing') : t('Cancelling') }}
          />
        </>
      }
      facts={
        <Dotted
          of={[
            t('by {who}', { who: operation.created_by }),
            <Time at={operation.created_at} />,
            operation.ended_at !== null && rich('ended {time}', { time: <Time at={operation.ended_at} /> }),
            <code class="faint">{operation_id}</code>,
          ]}
        />
      }
      actions={
        session.role === 'operator' &&
        operation.actions.map((action) => (
          <Button
            key={action}
            name={ACTIONS[action].name}
            more={KIND_WORDS[kind].name}
            kind={action === 'start' || action === 'resume' ? 'primary' : 'plain'}
            disabled={busy}
            onClick={() =>
              act(
                (request_id) =>
                  write(`POST /api/operations/{operation_id}/${action}`, { operation_id }, { request_id }),
                ACTIONS[action].answer,
              )
            }
          />
        ))
      }
    >
      <div class="group-line">
        <FilterWords filter={operation.filter} />
      </div>
      {status !== 'previewing' && status !== 'ready' && <Progress operation={operation} />}
      <Reasons excluded={(status === 'ready' ? (preview ?? progress) : progress).excluded} />
      {operation.started_at !== null && <Outcomes operation={operation} open={isNewest} />}
      {operation.error !== null && <p class="group-line note tone-bad">{said(operation.error)}</p>}
      <ShellCommands
        open={operation.error !== null}
        commands={[
          ...(operation.command === null ? [] : [{ label: t('The same'), command: operation.command }]),
          { label: t('Who did what with it'), command: opsCommand(`audit --target ${operation_id}`, session) },
        ]}
      />
    </Group>
  );
}
