import { useContext, useState } from 'preact/hooks';
import type { ListedMember } from '../../src/application/contract/newsletters.ts';
import { SUBSCRIPTION_STATES, type SubscriptionState } from '../../src/core/newsletter/model/member.ts';
import { SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { t } from '../language/language.ts';
import { hrefOf, usePlace } from '../navigation/router.ts';
import type { Word } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { Select } from '../parts/select.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { noResults, Problem } from '../parts/states.tsx';
import { type Column, ListTable, linkColumn, stateColumn } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { ImportMembers } from './email/import-members.tsx';
import { FindMember, memberPage } from './member.tsx';
import { usePublications } from './newsletters.tsx';

const STATES: Readonly<Record<SubscriptionState, Word>> = {
  subscribed: { name: t('Subscribed'), tone: 'good', meaning: t('It gets the mails.') },
  unsubscribed: { name: t('Unsubscribed'), tone: 'wait', meaning: t('It left; only the member can undo that.') },
  suppressed: { name: t('Suppressed'), tone: 'bad', meaning: t('Its address gets no newsletter.') },
  none: { name: t('No newsletter'), tone: 'none', meaning: t('It subscribes to none.') },
};

const columns = (tenant: string): readonly Column<ListedMember>[] => [
  stateColumn(t('State'), '9rem', ({ state }) => STATES[state]),
  linkColumn(t('Member'), 'minmax(9rem, 2fr)', ({ member_id }) => ({
    href: memberPage(tenant, member_id),
    text: member_id,
    mono: true,
  })),
  { title: t('Gets'), width: 'minmax(8rem, 2fr)', narrow: 'line', cell: ({ gets }) => gets.join(', ') || t('nothing') },
  { title: t('Status'), width: '6rem', narrow: 'line', cell: ({ status }) => status },
  { title: t('Labels'), yields: 1, width: 'minmax(6rem, 1fr)', cell: ({ labels }) => labels.join(', ') || '–' },
  {
    title: t('Since'),
    width: '7rem',
    align: 'right',
    narrow: 'line',
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

/** The members of a tenant by newsletter and by where they stand with it, without addresses and names. */
export function MembersScreen() {
  const { query, set } = usePlace();
  const { role } = useContext(SessionContext);
  const [asked, setAsked] = useState<'find' | 'import'>();
  const { publications, tenants, tenant = '' } = usePublications(query.get('tenant'));
  const own = publications.rows.filter(({ tenant_id }) => tenant_id === tenant).map((one) => one.newsletter_id);
  const newsletter = own.find((id) => id === query.get('newsletter'));
  const state = SUBSCRIPTION_STATES.find((name) => name === query.get('state'));
  // Looking through all members of a tenant costs reads: once is enough.
  const list = useList({
    route: 'GET /api/members',
    query: { tenant, ...(newsletter && { newsletter }), ...(state && { state }), limit: '100' },
    rowsOf: (page) => page.members,
    keyOf: ({ member_id }: ListedMember) => member_id,
    when: tenant !== '',
    once: true,
  });
  const isFiltered = newsletter !== undefined || state !== undefined;
  const close = () => setAsked(undefined);
  return (
    <ScreenFrame
      wide
      title={t('Members')}
      lead={t('Without addresses and names: the page of a member shows them to operators.')}
      actions={
        role === 'operator' && (
          <>
            <Button name={t('Find a member…')} icon="search" onClick={() => setAsked('find')} />
            {tenant !== '' && <Button name={t('Import…')} icon="plus" onClick={() => setAsked('import')} />}
          </>
        )
      }
    >
      {asked === 'find' && <FindMember tenant={tenant} onClose={close} />}
      {asked === 'import' && (
        <ImportMembers
          tenant={tenant}
          newsletters={own}
          newsletter={newsletter}
          onClose={close}
          onDone={list.refresh}
        />
      )}
      {publications.problem !== undefined && <Problem problem={publications.problem} onRetry={publications.refresh} />}
      <div class="line">
        {tenants.length > 1 && (
          <Select
            label={t('Tenant')}
            value={tenant}
            options={tenants}
            all={t('Tenant')}
            onChange={(chosen) => set({ tenant: chosen, newsletter: undefined })}
          />
        )}
        <Select
          label={t('Newsletter')}
          value={newsletter}
          options={own}
          all={t('Newsletter')}
          onChange={(chosen) => set({ newsletter: chosen })}
        />
        <Select
          label={t('State')}
          value={state}
          options={SUBSCRIPTION_STATES}
          all={t('Any state')}
          nameOf={(name) => STATES[name].name}
          onChange={(chosen) => set({ state: chosen })}
        />
      </div>
      <ListTable
        label={t('Members')}
        columns={columns(tenant)}
        list={list}
        hrefOf={({ member_id }) => memberPage(tenant, member_id)}
        empty={
          isFiltered
            ? noResults(hrefOf('/newsletters/members', { tenant }))
            : { icon: 'newsletters', title: t('No members yet'), text: t('Import a file, or add them by the API.') }
        }
      />
      <OpsCommands
        of={{
          [t('With addresses and names, as a file')]: 'members export FILE.csv --tenant TENANT',
          [t('Import a file of any length')]: 'members import FILE.csv --tenant TENANT --newsletter NEWSLETTER',
        }}
      />
    </ScreenFrame>
  );
}
