import { useContext, useState } from 'preact/hooks';
import { shellCommand } from '../../src/application/contract/choices.ts';
import type { MemberEmail, ShownMembers } from '../../src/application/contract/newsletters.ts';
import { read, write } from '../data/api.ts';
import { SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { useRead } from '../data/use-read.ts';
import { rich, said, t } from '../language/language.ts';
import { hrefOf, navigate, usePlace } from '../navigation/router.ts';
import { Button } from '../parts/button.tsx';
import { FormDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Dotted, Remedy, ScreenFrame } from '../parts/screen.tsx';
import { Shell, ShellCommands } from '../parts/shell-command.tsx';
import { Await } from '../parts/states.tsx';
import { type Column, ListTable, linkColumn, stateColumn } from '../parts/table.tsx';
import { localTime, Time } from '../parts/time.tsx';
import { eventsIn, RECIPIENT_WORDS } from './email/phase-words.ts';
import { AUDITED, useReveal } from './notification/timeline.tsx';

export function memberPage(tenant: string, member_id: string): string {
  return hrefOf(`/newsletters/members/${encodeURIComponent(member_id)}`, { tenant });
}

export const emailPage = (email_id: string) => `/newsletters/emails/${encodeURIComponent(email_id)}`;

export const EMAIL_COLUMN = linkColumn<Pick<MemberEmail, 'email_id' | 'subject'>>(
  t('E-mail'),
  'minmax(10rem, 2fr)',
  ({ email_id, subject }) => ({ href: emailPage(email_id), text: subject ?? email_id, mono: subject === undefined }),
);

/** One whose recipients may be read, or should be. */
type KnownEmail = MemberEmail & { readonly state: Exclude<MemberEmail['state'], 'expired'> };
const isKnown = (email: MemberEmail): email is KnownEmail => email.state !== 'expired';

const WORDS = { ...RECIPIENT_WORDS, unreadable: { name: t('Unreadable'), tone: 'bad' } } as const;

const COLUMNS: readonly Column<KnownEmail>[] = [
  stateColumn(t('State'), '8rem', ({ state }) => WORDS[state]),
  EMAIL_COLUMN,
  { title: t('Newsletter'), yields: 1, width: 'minmax(6rem, 1fr)', cell: ({ newsletter_id }) => newsletter_id },
  { title: t('Reason'), width: 'minmax(8rem, 1fr)', narrow: 'line', cell: ({ reason = '–' }) => reason },
  { title: t('Events'), width: 'minmax(8rem, 2fr)', narrow: 'line', cell: ({ events }) => eventsIn(events) },
  {
    title: t('Sent'),
    width: '7rem',
    align: 'right',
    narrow: 'line',
    cell: ({ processed_at, created_at }) => <Time at={processed_at ?? created_at} />,
  },
];

/** A member of a tenant: which e-mails it got, with what result, and why it gets no more. */
export function MemberScreen({ id: member_id }: { readonly id: string }) {
  const tenant = usePlace().query.get('tenant') ?? '';
  const { local } = useContext(SessionContext);
  // The ids come from other systems.
  const command = (what: string) => shellCommand(`members ${what}`, local, ['--tenant', tenant], [member_id]);
  const reading = useRead('GET /api/members/{member_id}', { member_id }, { tenant });
  // To find a member among the recipients of an e-mail takes many reads.
  const list = useList({
    route: 'GET /api/members/{member_id}/emails',
    params: { member_id },
    query: { tenant },
    rowsOf: (page) => page.emails,
    keyOf: ({ email_id }: MemberEmail) => email_id,
    when: reading.data !== undefined,
    once: true,
  });
  const lastExpired = list.rows.find((email) => !isKnown(email));
  const forgotten =
    lastExpired &&
    t('Up to {time} nobody knows: recipients are kept for newsletter.recipientDays (90 unless configured).', {
      time: localTime(lastExpired.created_at),
    });
  return (
    <ScreenFrame
      title={<span class="mono title-id">{member_id}</span>}
      lead={
        reading.data && (
          <Dotted
            of={[
              tenant,
              reading.data.status,
              reading.data.labels.join(', '),
              rich('since {time}', { time: <Time at={reading.data.created_at} /> }),
              t('gets {newsletters}', { newsletters: reading.data.gets.join(', ') || t('no newsletter') }),
              <Identity tenant={tenant} member_id={member_id} />,
            ]}
          />
        )
      }
    >
      <Await reading={reading} what={t('the member')}>
        {({ suppressed, unsubscribed }) => (
          <>
            {suppressed !== undefined && (
              <Remedy
                title={rich('The address gets no newsletter: {reason}', { reason: said(suppressed.reason) })}
                todo={t('Lift it only if the address works again, and its owner wants mail.')}
              >
                <p>{rich('Since {time}.', { time: <Time at={suppressed.at} /> })}</p>
                <Shell label={t('To lift it')} command={command('unsuppress')} />
              </Remedy>
            )}
            {Object.entries(unsubscribed).map(([newsletter, at]) => (
              <p key={newsletter} class="note tone-wait">
                {rich('Unsubscribed from {newsletter} {time}: only the member can undo that.', {
                  newsletter,
                  time: <Time at={at} />,
                })}
              </p>
            ))}
            <ListTable
              label={t('E-mails to the member')}
              columns={COLUMNS}
              list={{ ...list, rows: list.rows.filter(isKnown) }}
              hrefOf={({ email_id }) => emailPage(email_id)}
              empty={{
                icon: 'newsletters',
                title: forgotten === undefined ? t('It was in no e-mail yet') : t('It was in no e-mail since'),
                text: t('E-mails to an address that the member had before are not found.'),
              }}
            />
            {forgotten !== undefined && <p class="note tone-none">{forgotten}</p>}
            <ShellCommands commands={[{ label: t('With address and name'), command: command('show') }]} />
          </>
        )}
      </Await>
    </ScreenFrame>
  );
}

/** Masked until an operator asks; each look is in the audit log. */
function Identity({ tenant, member_id }: { readonly tenant: string; readonly member_id: string }) {
  const { role } = useContext(SessionContext);
  const [shown, reveal] = useReveal((request_id) =>
    write('POST /api/members/show', {}, { request_id, tenant, member_id }).then(({ members }) => members[0]),
  );
  if (shown !== undefined) return <span class="mono">{[shown.name, shown.email].filter(Boolean).join(' ')}</span>;
  if (role !== 'operator') return <span class="faint">{t('operators can see the address')}</span>;
  return <Button name={t('Show address')} icon="eye" kind="link" title={AUDITED} onClick={reveal} />;
}

interface FindMemberProps {
  readonly tenant: string | undefined;
  readonly onClose: () => void;
}

/** Finds a member by its id or its address; the address comes into no URL. */
export function FindMember({ tenant, onClose }: FindMemberProps) {
  const [found, setFound] = useState<ShownMembers & { readonly of: string }>();
  const find = async (request_id: string, form: FormData) => {
    const [of, who] = ['tenant', 'who'].map((name) => String(form.get(name)).trim()) as [string, string];
    setFound(undefined);
    const shown = who.includes('@')
      ? await write('POST /api/members/show', {}, { request_id, tenant: of, address: who })
      : { members: [await read('GET /api/members/{member_id}', { member_id: who }, { tenant: of })] };
    const [only, ...others] = shown.members;
    if ('unsubscribed' in shown && (only === undefined || others.length > 0)) return setFound({ ...shown, of });
    onClose();
    if (only !== undefined) navigate(memberPage(of, only.member_id));
  };
  return (
    <FormDialog title={t('Find a member')} onClose={onClose} keep={null} act={t('Find')} send={find}>
      <Field label={t('Tenant')} name="tenant" value={tenant} required />
      <Field
        label={t('Member')}
        name="who"
        required
        hint={t('The member_id, or the address: your look at it is audited.')}
      />
      {found?.members.length === 0 && <Facts {...found} />}
      {found !== undefined && found.members.length > 0 && (
        <ul class="line" aria-label={t('Members of the address')}>
          {found.members.map(({ member_id }) => (
            <li key={member_id}>
              <a class="mono" href={memberPage(found.of, member_id)}>
                {member_id}
              </a>
            </li>
          ))}
        </ul>
      )}
    </FormDialog>
  );
}

/** What is known of an address whose members were deleted: it holds for the next one, too. */
function Facts({ suppressed, unsubscribed }: ShownMembers) {
  return (
    <p class="note tone-wait" role="status">
      {t('No member has this address any more.')}
      {suppressed !== undefined && (
        <> {rich('Suppressed {time}: {reason}.', { time: <Time at={suppressed.at} />, reason: suppressed.reason })}</>
      )}
      {Object.entries(unsubscribed).map(([newsletter, at]) => (
        <span key={newsletter}>
          {' '}
          {rich('Unsubscribed from {newsletter} {time}.', { newsletter, time: <Time at={at} /> })}
        </span>
      ))}
    </p>
  );
}
