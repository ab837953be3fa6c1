import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useMemo } from 'preact/hooks';
import type { NotificationDetail } from '../../src/application/contract/notifications.ts';
import { write } from '../data/api.ts';
import { SessionContext } from '../data/session.ts';
import { useRead } from '../data/use-read.ts';
import { count, rich, t } from '../language/language.ts';
import { useKeys } from '../navigation/keys.ts';
import { hrefOf, navigate, usePlace } from '../navigation/router.ts';
import { WordBadge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { LogIds, Panel, Remedy, ScreenFrame } from '../parts/screen.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Await } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { causeWord, channelName, columnText, stateWord } from '../parts/words.ts';
import { Actions } from './notification/actions.tsx';
import { AUDITED, formatted, Timeline, useReveal } from './notification/timeline.tsx';
import { filtersIn, pageInList } from './notification-filters.ts';
import { useNotifications } from './notifications.tsx';

/** Everything about one notification: where it stands, what was answered at each attempt, what to do. */
export function NotificationScreen({ id }: { readonly id: string }) {
  const reading = useRead('GET /api/notifications/{log_id}', { log_id: id }, {});
  const { data, refresh } = reading;
  return (
    <ScreenFrame
      title={<Title id={id} detail={data} />}
      actions={data && <Actions log_id={id} detail={data} onDone={refresh} />}
    >
      <InList id={id} />
      <Await reading={reading} what={t('the notification')}>
        {(detail) => (
          <>
            <WhatToDo detail={detail} />
            <div class="columns main-and-side">
              <Timeline detail={detail} />
              <Facts log_id={id} detail={detail} />
            </div>
            <ShellCommands commands={detail.commands} />
          </>
        )}
      </Await>
    </ScreenFrame>
  );
}

/** The way back to the list from which it was opened, to the one before and to the next one. */
function InList({ id }: { readonly id: string }) {
  const { query } = usePlace();
  const { in: inside, ...filters } = Object.fromEntries(query);
  const when = inside === 'list';
  const { api } = filtersIn(query);
  const list = useNotifications({ api, period: undefined }, api.from, { when, once: true });
  const at = list.rows.findIndex((row) => list.keyOf(row) === id);
  const isLast = at === list.rows.length - 1;
  useEffect(() => {
    if (when && at >= 0 && isLast && list.more) list.loadMore();
  }, [when, at, isLast, list.more]);
  const page = (index: number) => {
    const row = list.rows[index];
    return row && pageInList(list.keyOf(row), filters);
  };
  const go = (href: string | undefined) => href !== undefined && navigate(href, { replace: true });
  const [before, next] = at < 0 ? [] : [page(at - 1), page(at + 1)];
  useKeys(useMemo(() => ({ j: () => go(next), k: () => go(before) }), [before, next]));
  if (!when) return null;
  return (
    <nav class="line" aria-label={t('In the list')}>
      {at >= 0 && (
        <>
          <Button name={t('Previous')} icon="left" disabled={before === undefined} onClick={() => go(before)} />
          <span class="faint">
            {rich('{n} of {total}{more}', { n: count(at + 1), total: count(list.rows.length), more: list.more && '+' })}
          </span>
          <Button name={t('Next')} icon="right" disabled={next === undefined} onClick={() => go(next)} />
        </>
      )}
      <a href={hrefOf('/notifications', filters)}>{t('Back to the list')}</a>
    </nav>
  );
}

function Title({ id, detail }: { readonly id: string; readonly detail: NotificationDetail | undefined }) {
  const word = detail && stateWord(detail.notification.state);
  return (
    <span class="line">
      <span class="mono title-id">{id}</span>
      {word && <WordBadge word={word} />}
    </span>
  );
}

function WhatToDo({ detail: { notification, remedy } }: { readonly detail: NotificationDetail }) {
  if (remedy === null) return null;
  const { state } = notification;
  const type = String(notification['error_type'] ?? notification['failure_reason'] ?? '');
  const answer = notification['error_message'];
  return (
    <Remedy
      tone={state === 'dead' || state === 'set_aside' ? 'bad' : 'wait'}
      title={
        <>
          {causeWord(type)} <code>{type}</code>
        </>
      }
      todo={remedy}
    >
      {answer !== undefined && <p>{rich('Last answer: {answer}', { answer: <q>{String(answer)}</q> })}</p>}
    </Remedy>
  );
}

/** The columns that are shown as they are, in this order, with their names for people. */
const PLAIN = [
  ['priority', t('Priority')],
  ['notification_id', 'notification_id'],
  ['integration_config_id', t('Integration')],
  ['send_attempts', t('Attempts counted')],
  ['attempts_left', t('Attempts left')],
  ['redrive_count', t('Redrives')],
  ['send_status', 'send_status'],
  ['failure_reason', t('Failure reason')],
  ['template_id', t('Template')],
  ['writer_response_message', t('Answer noted by its writer')],
  ['fallback_channel', t('Fallback channel')],
  ['traceparent', t('Trace')],
] as const;

const TIMES = [
  ['created_at', t('Created')],
  ['scheduled_at', t('Scheduled')],
  ['first_attempt_at', t('First attempt')],
  ['window_from', t('Retried since')],
  ['sent_at', t('Sent')],
  ['updated_at', t('Last change')],
] as const;

const WRITER_DETAILS = [['writer_error_details', t('Error noted by its writer')]] as const;

const RELATED = [
  ['successor_log_id', t('Continues as')],
  ['predecessor_log_id', t('Continues')],
] as const;

function Facts({ log_id, detail: { notification } }: { readonly log_id: string; readonly detail: NotificationDetail }) {
  const tenant = columnText(notification, 'tenant_id');
  /** The columns that have a value, with their names. */
  const given = (columns: readonly (readonly [string, string])[], show: (value: string) => ComponentChildren) =>
    columns.flatMap(([column, name]) => {
      const value = columnText(notification, column);
      return value === '' ? [] : [[name, show(value)] as const];
    });
  const facts = [
    [t('Recipient'), <Recipient log_id={log_id} />] as const,
    [t('Channel'), channelName(notification['channel'])] as const,
    [t('Tenant'), <a href={hrefOf('/notifications', { tenant })}>{tenant}</a>] as const,
    ...given(PLAIN, (value) => value),
    ...given(TIMES, (value) => <Time at={value} />),
    ...given(RELATED, (value) => <LogIds of={[value]} />),
    ...given(WRITER_DETAILS, (value) => <pre>{formatted(value)}</pre>),
  ];
  return (
    <Panel title={t('Details')}>
      <dl class="pairs inset">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

/** Masked until an operator asks; each look is in the audit log. */
function Recipient({ log_id }: { readonly log_id: string }) {
  const { role } = useContext(SessionContext);
  const [shown, reveal] = useReveal((request_id) =>
    write('POST /api/notifications/{log_id}/reveal', { log_id }, { request_id }),
  );
  if (shown !== undefined) return <span class="mono">{shown.recipient}</span>;
  return (
    <span class="line">
      <span aria-hidden="true">••••••</span>
      {role === 'operator' ? (
        <Button name={t('Show recipient')} icon="eye" kind="link" title={AUDITED} onClick={reveal} />
      ) : (
        <span class="faint">{t('operators can see it')}</span>
      )}
    </span>
  );
}
