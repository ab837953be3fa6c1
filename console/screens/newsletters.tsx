import { useContext, useEffect, useState } from 'preact/hooks';
import type { Newsletter } from '../../src/core/newsletter/model/email.ts';
import type { ListedEmail } from '../../src/core/newsletter/views/email-view.ts';
import { SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { useRead } from '../data/use-read.ts';
import { count, t } from '../language/language.ts';
import { hrefOf, usePlace } from '../navigation/router.ts';
import { Button } from '../parts/button.tsx';
import { Dotted, ScreenFrame } from '../parts/screen.tsx';
import { Select } from '../parts/select.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { Problem } from '../parts/states.tsx';
import { type Column, ListTable, stateColumn } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { Draft } from './email/draft.tsx';
import { NewsletterForm } from './email/newsletter-form.tsx';
import { phaseWord } from './email/phase-words.ts';
import { EMAIL_COLUMN, emailPage } from './member.tsx';

const columns = (names: ReadonlyMap<string, string>): readonly Column<ListedEmail>[] => [
  stateColumn(t('Phase'), '8rem', ({ phase }) => phaseWord(phase)),
  EMAIL_COLUMN,
  {
    title: t('Newsletter'),
    width: 'minmax(7rem, 1fr)',
    narrow: 'line',
    cell: ({ newsletter_id }) => names.get(newsletter_id) ?? newsletter_id,
  },
  {
    title: t('Segment'),
    yields: 1,
    width: 'minmax(6rem, 1fr)',
    cell: ({ segment }) => <code class="truncate">{segment ?? t('everyone')}</code>,
  },
  {
    title: t('Recipients'),
    width: '5.5rem',
    align: 'right',
    narrow: 'line',
    cell: ({ email_count }) => (email_count === null ? '–' : count(email_count)),
  },
  { title: t('Delivered'), yields: 3, width: '5rem', align: 'right', cell: ({ rates }) => percent(rates?.delivered) },
  { title: t('Opened'), yields: 2, width: '5rem', align: 'right', cell: ({ rates }) => percent(rates?.opened) },
  {
    title: t('Created'),
    width: '6rem',
    align: 'right',
    narrow: 'head',
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

const percent = (share: number | undefined) => (share === undefined ? '–' : `${Math.round(100 * share)} %`);

/** What is not tracked, which is seldom. */
function trackedIn({ track = { opens: true, clicks: true } }: Newsletter): string {
  const without = [...(track.opens ? [] : [t('opens')]), ...(track.clicks ? [] : [t('clicks')])];
  return without.length > 0 ? t(', without {what} ', { what: without.join(t(' and ')) }) : ' ';
}

/** The newsletters of all, and whose are shown. */
export function usePublications(chosen: string | null) {
  const publications = useList({
    route: 'GET /api/newsletters',
    query: {},
    rowsOf: (page) => page.newsletters,
    keyOf: ({ tenant_id, newsletter_id }: Newsletter) => `${tenant_id} ${newsletter_id}`,
  });
  const { more, loadMore } = publications;
  // Newsletters are few, and every tenant is to be chosen; a page that fails waits for `Try again`.
  useEffect(() => {
    if (more) loadMore();
  }, [more, loadMore]);
  const tenants = [...new Set(publications.rows.map(({ tenant_id }) => tenant_id))];
  return { publications, tenants, tenant: chosen ?? tenants[0] };
}

/** What a tenant has, and who else has something. */
function useNewsletters(chosen: string | null) {
  const { publications, tenants, tenant } = usePublications(chosen);
  const emails = useList({
    route: 'GET /api/emails',
    query: { tenant: tenant ?? '' },
    rowsOf: (page) => page.emails,
    keyOf: ({ email_id }: ListedEmail) => email_id,
    when: tenant !== undefined,
  });
  // Read for itself, as further pages of all newsletters are read once: one that was changed would stay as it was.
  const ofTenant = useRead('GET /api/newsletters', {}, { tenant: tenant ?? '' }, { when: tenant !== undefined });
  const refresh = () => {
    publications.refresh();
    ofTenant.refresh();
  };
  const problem = ofTenant.problem ?? (publications.rows.length > 0 ? publications.problem : undefined);
  return { publications, tenants, tenant, emails, own: ofTenant.data?.newsletters ?? [], refresh, problem };
}

export function NewslettersScreen() {
  const { query, set } = usePlace();
  const { role } = useContext(SessionContext);
  const [asked, setAsked] = useState<Asked>();
  const operator = role === 'operator';
  const { publications, tenants, tenant, emails, own, refresh, problem } = useNewsletters(query.get('tenant'));
  return (
    <ScreenFrame
      wide
      title={t('Newsletters')}
      lead={
        own.length > 0 && (
          <Dotted
            of={own.map((one) => (
              <>
                {one.name} ({one.from}){trackedIn(one)}
                {operator && <Button name={t('Change')} more={one.name} kind="link" onClick={() => setAsked(one)} />}
              </>
            ))}
          />
        )
      }
      actions={
        <>
          <a class="button" href={hrefOf('/newsletters/members', { tenant })}>
            {t('Members')}
          </a>
          {operator && (
            <>
              <Button name={t('New newsletter')} onClick={() => setAsked('new')} />
              {own.length > 0 && (
                <Button name={t('New e-mail')} icon="plus" kind="primary" onClick={() => setAsked('email')} />
              )}
            </>
          )}
        </>
      }
    >
      <AskedDialog
        asked={asked}
        tenant={tenant}
        newsletters={own.map(({ newsletter_id }) => newsletter_id)}
        onClose={() => setAsked(undefined)}
        onChanged={refresh}
      />
      {problem !== undefined && <Problem problem={problem} onRetry={refresh} />}
      {tenants.length > 1 && (
        <div class="line">
          <Select
            label={t('Tenant')}
            value={tenant}
            options={tenants}
            all={t('Tenant')}
            onChange={(chosen) => set({ tenant: chosen })}
          />
        </div>
      )}
      {publications.rows.length > 0 ? (
        <ListTable
          label={t('E-mails')}
          columns={columns(new Map(own.map(({ newsletter_id, name }) => [newsletter_id, name])))}
          list={emails}
          hrefOf={({ email_id }) => emailPage(email_id)}
          empty={{
            icon: 'newsletters',
            title: t('No e-mails yet'),
            text: t('What the API or the command sends stands here with its progress.'),
          }}
        />
      ) : (
        <ListTable
          label={t('Newsletters')}
          columns={[]}
          list={publications}
          empty={{
            icon: 'newsletters',
            title: t('No newsletters yet'),
            text: t('Make one here, import its members, and send an e-mail.'),
          }}
        />
      )}
      <OpsCommands
        open={publications.loaded && emails.rows.length === 0}
        of={{
          [t('Make a newsletter')]: 'newsletters create ID --tenant TENANT --name NAME --from ADDRESS',
          [t('Import members')]: 'members import FILE.csv --tenant TENANT --newsletter NEWSLETTER',
          [t('Send an e-mail')]: 'emails send FILE.md --tenant TENANT --newsletter NEWSLETTER',
        }}
      />
    </ScreenFrame>
  );
}

/** What the operator has asked to do; a newsletter: to change it. */
type Asked = 'email' | 'new' | Newsletter | undefined;

interface AskedProps {
  readonly asked: Asked;
  readonly tenant: string | undefined;
  /** Ids of the tenant's. */
  readonly newsletters: readonly string[];
  readonly onClose: () => void;
  /** A newsletter may have been made, or changed. */
  readonly onChanged: () => void;
}

function AskedDialog({ asked, tenant, newsletters, onClose, onChanged }: AskedProps) {
  if (asked === undefined) return null;
  if (asked === 'email')
    return tenant === undefined ? null : <Draft tenant={tenant} newsletters={newsletters} onClose={onClose} />;
  return (
    <NewsletterForm
      {...(asked !== 'new' && { was: asked })}
      onClose={() => {
        onClose();
        onChanged();
      }}
    />
  );
}
