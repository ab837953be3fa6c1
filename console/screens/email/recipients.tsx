import { SHOWN_STATES } from '../../../src/core/newsletter/model/recipient-state.ts';
import type { RecipientView } from '../../../src/core/newsletter/views/list-recipients.ts';
import { useList } from '../../data/use-list.ts';
import { hrefOf, navigate, usePlace } from '../../navigation/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, Loading, Problem } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { RECIPIENT_WORDS } from './phase-words.ts';

const COLUMNS: readonly Column<RecipientView>[] = [
  {
    title: 'State',
    width: '8rem',
    narrow: 'head',
    cell: ({ state }) => <Badge tone={RECIPIENT_WORDS[state].tone}>{RECIPIENT_WORDS[state].name}</Badge>,
  },
  {
    title: 'Member',
    width: 'minmax(8rem, 2fr)',
    narrow: 'head',
    cell: ({ member_id }) => <span class="mono truncate">{member_id}</span>,
  },
  {
    title: 'Reason',
    width: 'minmax(8rem, 2fr)',
    narrow: 'line',
    cell: ({ reason }) => <span class="truncate">{reason ?? '–'}</span>,
  },
  {
    title: 'Events',
    width: 'minmax(8rem, 2fr)',
    narrow: 'line',
    cell: ({ events }) => <span class="truncate soft">{events.join(', ') || '–'}</span>,
  },
  { title: 'Processed', width: '7rem', align: 'right', cell: ({ processed_at }) => <Time at={processed_at} /> },
];

/** Recipients by state, without addresses and names. */
export function Recipients({ email_id }: { readonly email_id: string }) {
  const { path, query } = usePlace();
  const state = SHOWN_STATES.find((name) => name === query.get('state'));
  const list = useList({
    route: 'GET /api/emails/{email_id}/recipients',
    params: { email_id },
    query: { ...(state && { state }), limit: '100' },
    rowsOf: (page) => page.recipients,
    keyOf: ({ recipient_id }: RecipientView) => recipient_id,
  });
  return (
    <section class="part" aria-labelledby="recipients">
      <header class="part-head">
        <h2 id="recipients">Recipients</h2>
        <Select
          label="State"
          value={state}
          options={SHOWN_STATES}
          all="Any state"
          nameOf={(name) => RECIPIENT_WORDS[name].name}
          onChange={(chosen) => navigate(hrefOf(path, { state: chosen }))}
        />
      </header>
      {list.problem !== undefined && <Problem problem={list.problem} onRetry={list.refresh} />}
      {!list.loaded && list.problem === undefined && <Loading what="recipients" />}
      {list.loaded && list.rows.length === 0 && <Empty icon="search" title="None in this state" />}
      {list.rows.length > 0 && (
        <Table
          label="Recipients"
          columns={COLUMNS}
          rows={list.rows}
          keyOf={({ recipient_id }) => recipient_id}
          more={list.more}
          onEnd={list.loadMore}
        />
      )}
    </section>
  );
}
