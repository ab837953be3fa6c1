import type { EmailDetail } from '../../src/application/contract/newsletters.ts';
import { SHOWN_STATES } from '../../src/core/newsletter/model/batch.ts';
import type { RecipientView } from '../../src/core/newsletter/views/list-recipients.ts';
import { useList } from '../data/use-list.ts';
import { useRead } from '../data/use-read.ts';
import { count, plural, rich, said, t } from '../language/language.ts';
import { usePlace } from '../navigation/router.ts';
import { type Tone, WordBadge } from '../parts/badge.tsx';
import { Dotted, Panel, Remedy, ScreenFrame } from '../parts/screen.tsx';
import { Select } from '../parts/select.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Await } from '../parts/states.tsx';
import { type Column, ListTable, linkColumn, stateColumn } from '../parts/table.tsx';
import { localTime, Time } from '../parts/time.tsx';
import { EmailActions } from './email/email-actions.tsx';
import { PreviewEmail } from './email/mail-preview.tsx';
import { eventsIn, phaseWord, RECIPIENT_ORDER, RECIPIENT_WORDS, reasonWord, WAITS_FOR } from './email/phase-words.ts';
import { memberPage } from './member.tsx';

/** One e-mail of a newsletter: live progress, and who did not get it and why. */
export function EmailScreen({ id }: { readonly id: string }) {
  const reading = useRead('GET /api/emails/{email_id}', { email_id: id }, {});
  const { data, refresh } = reading;
  const word = data && phaseWord(data.email.phase);
  return (
    <ScreenFrame
      title={
        <span class="line">
          {data?.subject ?? <span class="mono title-id">{id}</span>}
          {word && <WordBadge word={word} />}
        </span>
      }
      lead={data && <Lead detail={data} />}
      actions={
        data && (
          <>
            <PreviewEmail email_id={id} />
            <EmailActions email_id={id} detail={data} onDone={refresh} />
          </>
        )
      }
    >
      <Await reading={reading} what={t('the e-mail')}>
        {(detail) => (
          <>
            <Failure detail={detail} />
            <Counts detail={detail} />
            <Reasons detail={detail} />
            <Recipients email_id={id} tenant={detail.tenant_id} />
            <ShellCommands commands={detail.commands} />
          </>
        )}
      </Await>
    </ScreenFrame>
  );
}

/** Why it stopped, and what goes on with it. */
function Failure({ detail: { email, actions } }: { readonly detail: EmailDetail }) {
  const { email_id, error, held } = email;
  if (held !== undefined)
    return (
      <Remedy title={t('It holds by itself')}>
        <p>{said(held.message)}</p>
      </Remedy>
    );
  if (error === undefined) return null;
  const isOpen = actions.includes('retry');
  return (
    <Remedy
      title={said(error)}
      todo={
        isOpen
          ? t('Remove the cause, then choose “Send the rest”. Nobody gets it twice.')
          : t('Look below at who did not get it, and why.')
      }
      ops={`emails ${isOpen ? 'retry' : 'status'} ${email_id}`}
    />
  );
}

function Lead({ detail: { email, tenant_id } }: { readonly detail: EmailDetail }) {
  const { rate, eta, waits, scheduled_at = '' } = email;
  const goesOut = email.status === 'pending' && Date.parse(scheduled_at) > Date.now();
  const speed = rate.now === null ? undefined : count(rate.now);
  return (
    <Dotted
      of={[
        `${tenant_id} · ${email.newsletter_id}`,
        <code>{email.segment ?? t('everyone')}</code>,
        rich('created {time}', { time: <Time at={email.created_at} /> }),
        goesOut &&
          rich('goes out {time}, {exact}', { time: <Time at={scheduled_at} />, exact: localTime(scheduled_at) }),
        speed !== undefined &&
          (rate.allowed === null
            ? t('{n} per second', { n: speed })
            : t('{n} per second of {allowed} allowed', { n: speed, allowed: count(rate.allowed) })),
        waits && rich('waits {what} until {time}', { what: WAITS_FOR[waits.for], time: <Time at={waits.until} /> }),
        waits?.asks_at !== undefined && rich('asks again {time}', { time: <Time at={waits.asks_at} /> }),
        waits?.message && said(waits.message),
        eta !== undefined && rich('ends {time}', { time: <Time at={eta} /> }),
      ]}
    />
  );
}

const EVENTS = [
  ['delivered', t('Delivered')],
  ['opened', t('Opened')],
  ['clicked', t('Clicked')],
  ['bounced', t('Bounced')],
  ['soft_bounced', t('Bounced for now')],
  ['complained', t('Complained')],
  ['unsubscribed', t('Unsubscribed')],
] as const;

/** How many recipients are in which state, and what events told of them. */
function Counts({ detail: { email } }: { readonly detail: EmailDetail }) {
  const { counts, batches } = email;
  const most = Math.max(1, counts.recipients);
  const all = Object.values(batches).reduce((sum, number) => sum + number, 0);
  const done =
    all > 0 && t('{n} of {total} done', { n: plural(batches.submitted, 'batch', 'batches'), total: count(all) });
  return (
    <Panel title={plural(counts.recipients, 'recipient')} aside={<span class="faint">{done}</span>}>
      <div
        class="bar email-bar"
        role="img"
        aria-label={RECIPIENT_ORDER.map((state) => `${RECIPIENT_WORDS[state].name}: ${counts[state]}`).join(', ')}
      >
        {RECIPIENT_ORDER.map((state) =>
          counts[state] === 0 ? null : (
            <span
              key={state}
              class={`tone-${RECIPIENT_WORDS[state].tone}`}
              style={{ width: `${(100 * counts[state]) / most}%` }}
            />
          ),
        )}
      </div>
      <dl class="counts">
        {RECIPIENT_ORDER.map((state) => (
          <Count key={state} {...RECIPIENT_WORDS[state]} number={counts[state]} />
        ))}
      </dl>
      <dl class="counts is-second">
        {EVENTS.map(([event, name]) => (
          <Count key={event} name={name} number={counts[event]} />
        ))}
      </dl>
    </Panel>
  );
}

function Count({ name, number, tone }: { readonly name: string; readonly number: number; readonly tone?: Tone }) {
  return (
    <div class={tone && `tone-${tone}`}>
      <dt>
        {tone && <span class="dot" aria-hidden="true" />}
        {name}
      </dt>
      <dd>{count(number)}</dd>
    </div>
  );
}

function Reasons({ detail: { email } }: { readonly detail: EmailDetail }) {
  const { excluded_by_reason: excluded, failed_by_reason: failed } = email;
  const reasons = (
    [
      ['excluded', excluded],
      ['failed', failed],
    ] as const
  ).flatMap(([what, numbers]) =>
    Object.entries(numbers).flatMap(([reason, number]) => (number > 0 ? [{ what, reason, number }] : [])),
  );
  if (reasons.length === 0) return null;
  return (
    <Panel title={t('Who does not get it, and why')}>
      <ul class="reasons rows tight inset">
        {reasons.map(({ what, reason, number }) => (
          <li key={what + reason}>
            <strong>{count(number)}</strong> {RECIPIENT_WORDS[what].name.toLowerCase()}: <code>{reason}</code>
            <span class="soft"> {reasonWord(what, reason)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const columns = (tenant: string): readonly Column<RecipientView>[] => [
  stateColumn(t('State'), '8rem', ({ state }) => RECIPIENT_WORDS[state]),
  linkColumn(t('Member'), 'minmax(8rem, 2fr)', ({ member_id }) => ({
    href: memberPage(tenant, member_id),
    text: member_id,
    mono: true,
  })),
  { title: t('Reason'), width: 'minmax(8rem, 2fr)', narrow: 'line', cell: ({ reason }) => reason ?? '–' },
  { title: t('Events'), width: 'minmax(8rem, 2fr)', narrow: 'line', cell: ({ events }) => eventsIn(events) },
  {
    title: t('Processed'),
    yields: 1,
    width: '7rem',
    align: 'right',
    cell: ({ processed_at }) => <Time at={processed_at} />,
  },
];

/** Recipients by state, without addresses and names. */
function Recipients({ email_id, tenant }: { readonly email_id: string; readonly tenant: string }) {
  const { query, set } = usePlace();
  const state = SHOWN_STATES.find((name) => name === query.get('state'));
  const list = useList({
    route: 'GET /api/emails/{email_id}/recipients',
    params: { email_id },
    query: { ...(state && { state }), limit: '100' },
    rowsOf: (page) => page.recipients,
    keyOf: ({ recipient_id }: RecipientView) => recipient_id,
  });
  return (
    <section class="rows" aria-labelledby="recipients">
      <header class="line apart">
        <h2 id="recipients">{t('Recipients')}</h2>
        <Select
          label={t('State')}
          value={state}
          options={SHOWN_STATES}
          all={t('Any state')}
          nameOf={(name) => RECIPIENT_WORDS[name].name}
          onChange={(chosen) => set({ state: chosen })}
        />
      </header>
      <ListTable
        label={t('Recipients')}
        columns={columns(tenant)}
        list={list}
        empty={
          state === undefined
            ? {
                icon: 'search',
                title: t('None yet'),
                text: t('They stand here once the e-mail begins; until then, it counts who would get it.'),
              }
            : { icon: 'search', title: t('None in this state') }
        }
      />
    </section>
  );
}
