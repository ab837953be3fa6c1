import type { ComponentChildren } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { AttemptView, NotificationDetail, SentContent } from '../../../src/application/contract/notifications.ts';
import { problemOf, write } from '../../data/api.ts';
import { newRequestId } from '../../data/decision.ts';
import { SessionContext } from '../../data/session.ts';
import { rich, said, t } from '../../language/language.ts';
import type { Tone } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Icon, type IconName } from '../../parts/icon.tsx';
import { Panel } from '../../parts/screen.tsx';
import { duration, Time } from '../../parts/time.tsx';
import { showProblem } from '../../parts/toasts.tsx';
import { answerWords, causeWord, columnText, lowerFirst, nextTryOf } from '../../parts/words.ts';

interface EventView {
  readonly key: string;
  readonly at: string;
  readonly tone: Tone;
  readonly icon: IconName;
  readonly title: string;
  readonly more?: ComponentChildren;
}

const TRIGGERS: Readonly<Record<string, string>> = {
  sweep: t('automatic'),
  manual: t('by hand'),
  redrive: t('after a redrive'),
  user: t('asked for by a user'),
  operator: t('asked for by an operator'),
  job: t('by the job, started by hand'),
};

/** What events told later about a notification that was accepted: column and words. */
const LATER = [
  { column: 'delivered_at', title: t('The recipient’s server took it'), tone: 'good', icon: 'check' },
  { column: 'opened_at', title: t('Opened'), tone: 'good', icon: 'eye' },
  { column: 'bounced_at', title: t('Bounced'), tone: 'bad', icon: 'alert' },
  { column: 'complained_at', title: t('The recipient complained'), tone: 'bad', icon: 'alert' },
] as const;

/** Newest first: what will happen, then what happened, down to the creation. */
export function Timeline({ detail }: { readonly detail: NotificationDetail }) {
  const { role } = useContext(SessionContext);
  const log_id = columnText(detail.notification, 'log_id');
  // Once for all attempts, because each sends the same.
  const [content, reveal] = useReveal((request_id) =>
    write('POST /api/notifications/{log_id}/content', { log_id }, { request_id }),
  );
  const canReveal = role === 'operator' && content === undefined && detail.notification['erased_at'] === undefined;
  const events = eventsOf(detail, (attempt) => (
    <Exchange attempt={attempt} content={content} {...(canReveal && { onReveal: reveal })} />
  ));
  return (
    <Panel title={t('Timeline')}>
      <ol class="timeline inset">
        {events.map(({ key, at, tone, icon, title, more }) => (
          <li key={key} class={`tone-${tone}`}>
            <span class="timeline-mark">
              <Icon name={icon} />
            </span>
            <div>
              <div class="line apart">
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
    </Panel>
  );
}

function eventsOf({ notification, attempts }: NotificationDetail, exchange: Exchanges): EventView[] {
  const next = nextTryOf(notification);
  const { held_by } = notification;
  const created = notification['created_at'];
  const past = [
    ...attempts.map((attempt) => attemptEvent(attempt, exchange)),
    ...LATER.flatMap(({ column, ...event }) => {
      const at = notification[column];
      return typeof at === 'string' ? [{ key: column, at, ...event }] : [];
    }),
  ].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return [
    ...(next === undefined
      ? []
      : [
          {
            key: 'next',
            at: next,
            tone: 'wait',
            icon: 'clock',
            title:
              typeof held_by === 'string'
                ? t('Held until then at the soonest: {held_by} is down', { held_by })
                : t('Next attempt'),
          } as const,
        ]),
    ...past,
    ...(typeof created === 'string'
      ? [{ key: 'created', at: created, tone: 'none', icon: 'plus', title: t('Handed over') } as const]
      : []),
  ];
}

type Exchanges = (attempt: AttemptView) => ComponentChildren;

function attemptEvent(attempt: AttemptView, exchange: Exchanges): EventView {
  const { retry_attempt, retry_at, retry_status, error_type, failure_reason } = attempt;
  const number = retry_attempt === 0 ? t('First send') : t('Retry {n}', { n: retry_attempt });
  const [skipped, delivered] = [retry_status === 'SKIPPED', retry_status === 'SUCCESS'];
  const held = attempt.held && said(attempt.held).replace(': ', ', ');
  const why = held ?? (error_type === undefined ? t('failed') : lowerFirst(causeWord(error_type)));
  const became = skipped && error_type === undefined ? t('not made') : why;
  const ended = failure_reason === undefined ? became : t('{became}, and given up', { became });
  return {
    key: `attempt ${retry_attempt}`,
    at: retry_at,
    tone: delivered ? 'good' : skipped ? 'none' : failure_reason === undefined ? 'wait' : 'bad',
    icon: delivered ? 'check' : skipped ? 'skip' : 'alert',
    title: `${number}: ${delivered ? t('delivered') : ended}`,
    more: exchange(attempt),
  };
}

export const AUDITED = t('Your look is written to the audit log');

/** What only operators see, on their word: each look is in the audit log. */
export function useReveal<A>(ask: (request_id: string) => Promise<A>) {
  const [shown, setShown] = useState<A>();
  const reveal = () => void ask(newRequestId()).then(setShown, (error) => showProblem(problemOf(error)));
  return [shown, reveal] as const;
}

interface ExchangeProps {
  readonly attempt: AttemptView;
  readonly content?: SentContent | undefined;
  readonly onReveal?: () => void;
}

/** What was asked of the provider, beside the provider's own answer as it came: text, never markup. */
function Exchange({ attempt, content, onReveal }: ExchangeProps) {
  const { retry_log_id, original_log_id, channel, error_type, trigger, requested_by = '', traceparent } = attempt;
  const { response_code, response_message, error_details, duration_ms, provider_message_id, asked_by } = attempt;
  const why = (trigger === 'manual' ? TRIGGERS[requested_by] : undefined) ?? TRIGGERS[trigger] ?? trigger;
  const answer = answerWords(response_code, response_message);
  // Nothing was asked of the provider.
  if (attempt.retry_status === 'SKIPPED')
    return (
      <div class="exchange">
        <p class="faint">{[error_type, why, attempt.uncounted && t('used up no retry')].filter(Boolean).join(' · ')}</p>
      </div>
    );
  return (
    <div class="exchange">
      <section aria-labelledby={`request-${retry_log_id}`}>
        <h4 id={`request-${retry_log_id}`}>{t('Request')}</h4>
        <p class="faint">
          {asked_by === undefined ? why : <AskedBy {...asked_by} />}
          {attempt.uncounted === true && ` · ${t('used up no retry')}`}
        </p>
        {channel === 'webhook' && <Line name="webhook-id" value={original_log_id} />}
        {traceparent !== undefined && <Line name="traceparent" value={traceparent} />}
        {content !== undefined && <Content content={content} />}
        {onReveal !== undefined && (
          <Button name={t('Show what was sent')} icon="eye" kind="link" title={AUDITED} onClick={onReveal} />
        )}
      </section>
      <section aria-labelledby={`response-${retry_log_id}`}>
        <h4 id={`response-${retry_log_id}`}>{t('Response')}</h4>
        <p class="faint">
          {[error_type, t('took {time}', { time: duration(duration_ms) })].filter(Boolean).join(' · ')}
        </p>
        {answer !== '' && <pre>{answer}</pre>}
        {provider_message_id !== undefined && (
          <Line name={t('Message id of the provider')} value={provider_message_id} />
        )}
        {error_details !== undefined && (
          <details>
            <summary>{t('The whole answer')}</summary>
            <pre>{formatted(error_details)}</pre>
          </details>
        )}
      </section>
    </div>
  );
}

function Line({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <p class="faint">
      {name}: <code>{value}</code>
    </p>
  );
}

function Content({ content: { recipient, subject, body, format } }: { readonly content: SentContent }) {
  return (
    <>
      <Line name={t('to')} value={recipient} />
      {subject !== undefined && <Line name={t('subject')} value={subject} />}
      <details>
        <summary>{t('The body, {format}', { format: format.toLowerCase() })}</summary>
        <pre>{body}</pre>
      </details>
    </>
  );
}

const DECISIONS: Readonly<Record<string, string>> = { redrive: t('redriven'), retry: t('retried') };

function AskedBy({ who, what, operation_id }: NonNullable<AttemptView['asked_by']>) {
  return (
    <>
      {rich('{what} by {who}', { what: DECISIONS[what] ?? what, who: <strong>{who}</strong> })}
      {operation_id !== undefined && (
        <>
          {' '}
          {rich('in {operation}', {
            operation: (
              <a href={`/operations#operation-${operation_id}`}>{t('operation {operation_id}', { operation_id })}</a>
            ),
          })}
        </>
      )}
    </>
  );
}

export function formatted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
