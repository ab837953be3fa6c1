import { useContext } from 'preact/hooks';
import type { Newsletter } from '../../src/core/newsletter/model/email.ts';
import type { EmailPhase, ListedEmail } from '../../src/core/newsletter/views/email-view.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { hrefOf, navigate, usePlace } from '../navigation/router.ts';
import { Badge } from '../parts/badge.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { Select } from '../parts/select.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { count, Time } from '../parts/time.tsx';
import { phaseWord } from './email/phase-words.ts';

const columns = (names: ReadonlyMap<string, string>): readonly Column<ListedEmail>[] => [
  { title: 'Phase', width: '8rem', narrow: 'head', cell: ({ phase }) => <Phase phase={phase} /> },
  {
    title: 'E-mail',
    width: 'minmax(10rem, 2fr)',
    narrow: 'head',
    cell: ({ email_id, subject }) => (
      <a class={subject === undefined ? 'mono truncate' : 'truncate'} href={pageOf(email_id)} tabIndex={-1}>
        {subject ?? email_id}
      </a>
    ),
  },
  {
    title: 'Newsletter',
    width: 'minmax(8rem, 2fr)',
    narrow: 'line',
    cell: ({ newsletter_id }) => <span class="truncate">{names.get(newsletter_id) ?? newsletter_id}</span>,
  },
  {
    title: 'Segment',
    width: 'minmax(6rem, 1fr)',
    cell: ({ segment }) => <code class="truncate">{segment ?? 'everyone'}</code>,
  },
  {
    title: 'Recipients',
    width: '7rem',
    align: 'right',
    narrow: 'line',
    cell: ({ email_count }) => (email_count === null ? '–' : count(email_count)),
  },
  { title: 'Delivered', width: '6rem', align: 'right', cell: ({ rates }) => percent(rates?.delivered) },
  { title: 'Opened', width: '6rem', align: 'right', cell: ({ rates }) => percent(rates?.opened) },
  { title: 'Created', width: '7rem', align: 'right', cell: ({ created_at }) => <Time at={created_at} /> },
];

const percent = (share: number | undefined) => (share === undefined ? '–' : `${Math.round(100 * share)} %`);

const pageOf = (email_id: string) => `/newsletters/emails/${encodeURIComponent(email_id)}`;

function Phase({ phase }: { readonly phase: EmailPhase }) {
  const { name, tone, meaning } = phaseWord(phase);
  return (
    <Badge tone={tone} title={meaning}>
      {name}
    </Badge>
  );
}

/** The e-mails of a tenant, and who publishes. */
export function NewslettersScreen() {
  const { query } = usePlace();
  const session = useContext(SessionContext);
  const publications = useList({
    route: 'GET /api/newsletters',
    query: {},
    rowsOf: (page) => page.newsletters,
    keyOf: ({ tenant_id, newsletter_id }: Newsletter) => `${tenant_id} ${newsletter_id}`,
  });
  const tenants = [...new Set(publications.rows.map(({ tenant_id }) => tenant_id))];
  const tenant = query.get('tenant') ?? tenants[0];
  const emails = useList({
    route: 'GET /api/emails',
    query: { tenant: tenant ?? '' },
    rowsOf: (page) => page.emails,
    keyOf: ({ email_id }: ListedEmail) => email_id,
    when: tenant !== undefined,
  });
  const own = publications.rows.filter(({ tenant_id }) => tenant_id === tenant);
  const problem = publications.problem ?? emails.problem;
  return (
    <ScreenFrame
      title="Newsletters"
      lead={own.length > 0 && own.map(({ name, from }) => `${name} (${from})`).join(' · ')}
    >
      {tenants.length > 1 && (
        <div class="filters">
          <Select
            label="Tenant"
            value={tenant}
            options={tenants}
            all="Tenant"
            onChange={(chosen) => navigate(hrefOf('/newsletters', { tenant: chosen }))}
          />
        </div>
      )}
      {problem !== undefined && <Problem problem={problem} onRetry={publications.refresh} />}
      {!publications.loaded && problem === undefined && <Loading what="newsletters" />}
      {publications.loaded && publications.rows.length === 0 && (
        <Empty icon="newsletters" title="No newsletters yet">
          <p>Make one, import its members, and send an e-mail by the commands below, or by the API.</p>
        </Empty>
      )}
      {publications.rows.length > 0 && emails.loaded && emails.rows.length === 0 && (
        <Empty icon="newsletters" title="No e-mails yet">
          <p>What the API or the command sends stands here with its progress.</p>
        </Empty>
      )}
      {emails.rows.length > 0 && (
        <Table
          label="E-mails"
          columns={columns(new Map(own.map(({ newsletter_id, name }) => [newsletter_id, name])))}
          rows={emails.rows}
          keyOf={({ email_id }) => email_id}
          hrefOf={({ email_id }) => pageOf(email_id)}
          more={emails.more}
          onEnd={emails.loadMore}
        />
      )}
      <ShellCommands
        open={publications.loaded && emails.rows.length === 0}
        commands={[
          {
            label: 'Make a newsletter',
            command: opsCommand('newsletters create ID --tenant TENANT --name NAME --from ADDRESS', session),
          },
          {
            label: 'Import members',
            command: opsCommand('members import FILE.csv --tenant TENANT --newsletter NEWSLETTER', session),
          },
          {
            label: 'Send an e-mail',
            command: opsCommand('emails send FILE.md --tenant TENANT --newsletter NEWSLETTER', session),
          },
        ]}
      />
    </ScreenFrame>
  );
}
