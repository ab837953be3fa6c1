import type { ComponentChildren } from 'preact';
import type { AttemptView, NotificationDetail } from '../../../src/operator-service/contract/notifications.ts';
import type { Tone } from '../../parts/badge.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { duration, Time } from '../../parts/time.tsx';
import { answerWords, causeWord } from '../../parts/words.ts';

interface EventView {
  readonly key: string;
  readonly at: string;
  readonly tone: Tone;
  readonly icon: IconName;
  readonly title: string;
  readonly more?: ComponentChildren;
}

const TRIGGERS: Readonly<Record<string, string>> = {
  sweep: 'by the sweep',
  manual: 'by hand',
  redrive: 'after a redrive',
  user: 'asked for by a user',
  operator: 'asked for by an operator',
  job: 'by the job, started by hand',
};

/** What events told later about a notification that was accepted: column and words. */
const LATER = [
  { column: 'delivered_at', title: 'The recipient’s server took it', tone: 'good', icon: 'check' },
  { column: 'opened_at', title: 'Opened', tone: 'good', icon: 'eye' },
  { column: 'bounced_at', title: 'Bounced', tone: 'bad', icon: 'alert' },
  { column: 'complained_at', title: 'The recipient complained', tone: 'bad', icon: 'alert' },
] as const;

/** Newest first: what will happen, then what happened, down to the creation. */
export function Timeline({ detail }: { readonly detail: NotificationDetail }) {
  const events = eventsOf(detail);
  return (
    <section class="panel" aria-labelledby="timeline">
      <header class="panel-head">
        <h2 id="timeline">Timeline</h2>
      </header>
      <ol class="timeline">
        {events.map(({ key, at, tone, icon, title, more }) => (
          <li key={key} class={`tone-${tone}`}>
            <span class="timeline-mark">
              <Icon name={icon} />
            </span>
            <div class="timeline-text">
              <div class="timeline-head">
                <h3>{title}</h3>
                <span class="faint">
                  <Time at={at} />
                </span>
              </div>
              {more}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function eventsOf({ notification, attempts }: NotificationDetail): EventView[] {
  const next = notification.state === 'waiting' || notification.state === 'due' ? notification['work_at'] : undefined;
  const created = notification['created_at'];
  const past = [
    ...attempts.map(attemptEvent),
    ...LATER.flatMap(({ column, ...event }) => {
      const at = notification[column];
      return typeof at === 'string' ? [{ key: column, at, ...event }] : [];
    }),
  ].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return [
    ...(typeof next === 'string'
      ? [{ key: 'next', at: next, tone: 'wait', icon: 'clock', title: 'Next attempt' } as const]
      : []),
    ...past,
    ...(typeof created === 'string'
      ? [{ key: 'created', at: created, tone: 'none', icon: 'plus', title: 'Handed over' } as const]
      : []),
  ];
}

function attemptEvent(attempt: AttemptView): EventView {
  const { retry_attempt, retry_at, retry_status, error_type, failure_reason } = attempt;
  const number = retry_attempt === 0 ? 'First send' : `Retry ${retry_attempt}`;
  const key = `attempt ${retry_attempt}`;
  if (retry_status === 'SUCCESS')
    return {
      key,
      at: retry_at,
      tone: 'good',
      icon: 'check',
      title: `${number}: delivered`,
      more: <Answer attempt={attempt} />,
    };
  const skipped = retry_status === 'SKIPPED';
  const ended = failure_reason === undefined ? '' : ', and given up';
  const why = attempt.held ?? (error_type === undefined ? 'failed' : lower(causeWord(error_type)));
  return {
    key,
    at: retry_at,
    tone: skipped ? 'none' : failure_reason === undefined ? 'wait' : 'bad',
    icon: skipped ? 'skip' : 'alert',
    title: `${number}: ${skipped && error_type === undefined ? 'not made' : why}${ended}`,
    more: <Answer attempt={attempt} />,
  };
}

/** The provider's own answer as it came: text, never markup. */
function Answer({ attempt }: { readonly attempt: AttemptView }) {
  const {
    response_code,
    response_message,
    error_type,
    error_details,
    duration_ms,
    trigger,
    requested_by = '',
    provider_message_id,
    uncounted,
  } = attempt;
  const facts = [
    error_type,
    `took ${duration(duration_ms)}`,
    attempt.asked_by === undefined
      ? ((trigger === 'manual' ? TRIGGERS[requested_by] : undefined) ?? TRIGGERS[trigger] ?? trigger)
      : undefined,
    uncounted === true ? 'used up no retry' : undefined,
  ].filter((fact) => fact !== undefined);
  const answer = answerWords(response_code, response_message);
  return (
    <div class="answer">
      <p class="faint">
        {facts.join(' · ')}
        {attempt.asked_by !== undefined && <AskedBy {...attempt.asked_by} />}
      </p>
      {answer !== '' && <pre>{answer}</pre>}
      {provider_message_id !== undefined && (
        <p class="faint">
          Message id of the provider: <code>{provider_message_id}</code>
        </p>
      )}
      {error_details !== undefined && (
        <details>
          <summary>The whole answer</summary>
          <pre>{formatted(error_details)}</pre>
        </details>
      )}
    </div>
  );
}

const DECISIONS: Readonly<Record<string, string>> = { redrive: 'redriven', retry: 'retried' };

function AskedBy({ who, what, operation_id }: NonNullable<AttemptView['asked_by']>) {
  return (
    <>
      {` · ${DECISIONS[what] ?? what} by `}
      <strong>{who}</strong>
      {operation_id !== undefined && (
        <>
          {' '}
          in <a href={`/operations#operation-${operation_id}`}>operation {operation_id}</a>
        </>
      )}
    </>
  );
}

function formatted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function lower(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
