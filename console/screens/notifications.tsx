import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { CHANNELS, PRIORITIES } from '../../src/core/model/channels.ts';
import { ERROR_TYPES } from '../../src/core/model/error-types.ts';
import type { NotificationView } from '../../src/core/operator/views/notification-view.ts';
import { LIST_STATUSES } from '../../src/operator-service/contract/choices.ts';
import type { OperationFilter } from '../../src/operator-service/contract/operations.ts';
import { opsCommand, SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { hrefOf, navigate, remember, remembered, usePlace } from '../navigation/router.ts';
import { Badge } from '../parts/badge.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { Select } from '../parts/select.tsx';
import { ShellCommands } from '../parts/shell-command.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { count, Time } from '../parts/time.tsx';
import { causeWord, channelName, stateWord } from '../parts/words.ts';
import {
  defaultPeriod,
  filtersIn,
  listCommand,
  operationFilter,
  operationKinds,
  PERIODS,
  STATUS_NAMES,
  startOf,
} from './notification-filters.ts';
import { NewOperation } from './operations/new-operation.tsx';
import { isAddress, RecipientSearch } from './recipient-search.tsx';
import { SearchField } from './search-field.tsx';

const text = (row: NotificationView, name: string) =>
  row[name] === undefined || row[name] === null ? '' : String(row[name]);

const COLUMNS: readonly Column<NotificationView>[] = [
  {
    title: 'State',
    width: '7.5rem',
    narrow: 'head',
    cell: (row) => {
      const { name, tone, meaning } = stateWord(row.state);
      return (
        <Badge tone={tone} title={meaning}>
          {name}
        </Badge>
      );
    },
  },
  {
    title: 'Notification',
    width: 'minmax(9rem, 3fr)',
    narrow: 'head',
    cell: (row) => (
      <a class="mono truncate" href={pageOf(row)} title={text(row, 'log_id')} tabIndex={-1}>
        {text(row, 'log_id')}
      </a>
    ),
  },
  {
    title: 'Channel',
    width: '5.5rem',
    narrow: 'line',
    cell: (row) => channelName(row['channel'] ?? text(row, 'notification_type').toLowerCase()),
  },
  { title: 'Priority', width: '6rem', narrow: 'line', cell: (row) => text(row, 'priority') || '–' },
  {
    title: 'Tenant',
    width: 'minmax(6rem, 1fr)',
    narrow: 'line',
    cell: (row) => (
      <span class="truncate" title={text(row, 'tenant_id')}>
        {text(row, 'tenant_id')}
      </span>
    ),
  },
  {
    title: 'Last error',
    width: 'minmax(15rem, 2fr)',
    narrow: 'line',
    cell: (row) => {
      const type = text(row, 'error_type') || text(row, 'failure_reason');
      return type === '' || row.state === 'delivered' ? (
        <span class="faint">–</span>
      ) : (
        <span class="truncate" title={`${type}: ${text(row, 'error_message')}`}>
          {causeWord(type)}
        </span>
      );
    },
  },
  { title: 'Attempts', width: '5rem', align: 'right', cell: (row) => text(row, 'send_attempts') || '0' },
  {
    title: 'Next try',
    width: '6rem',
    align: 'right',
    cell: (row) => <Time at={row.state === 'waiting' || row.state === 'due' ? text(row, 'work_at') : undefined} />,
  },
  {
    title: 'Created',
    width: '6rem',
    align: 'right',
    narrow: 'head',
    cell: (row) => <Time at={text(row, 'created_at')} />,
  },
];

const pageOf = (row: NotificationView) => `/notifications/${encodeURIComponent(text(row, 'log_id'))}`;

export function NotificationsScreen() {
  const { query } = usePlace();
  const session = useContext(SessionContext);
  const filters = filtersIn(query);
  const [operation, setOperation] = useState<OperationFilter>();
  const [address, setAddress] = useState<string>();
  const kinds = operationKinds(filters);
  // Once per period: a start that moves with the clock would be another list each time.
  const from = useMemo(
    () => filters.api.from ?? remembered().from ?? startOf(filters.period),
    [filters.api.from, filters.period],
  );
  useEffect(() => {
    if (from !== undefined) remember({ from });
  }, [from, query]);
  const list = useList({
    route: 'GET /api/notifications',
    query: { ...filters.api, from, limit: '100' },
    rowsOf: (page) => page.notifications,
    keyOf: (row: NotificationView) => text(row, 'log_id'),
  });
  const set = (change: Partial<Record<string, string | undefined>>) =>
    navigate(hrefOf('/notifications', { ...Object.fromEntries(query), ...change }));
  // An address must not come into the URL: the dialog turns it into its hash.
  const search = (typed: string | undefined) => {
    const isRecipient = typed !== undefined && isAddress(typed);
    set(isRecipient ? { recipient_hash: undefined } : { q: typed?.slice(0, 100) });
    if (isRecipient) setAddress(typed);
  };
  return (
    <ScreenFrame
      title="Notifications"
      actions={
        session.role === 'operator' &&
        kinds.length > 0 && (
          <button type="button" class="button" onClick={() => setOperation(operationFilter(filters, from))}>
            Act on all that match…
          </button>
        )
      }
    >
      <search class="filters" aria-label="Filter notifications">
        <SearchField value={filters.api.q} onSearch={search} />
        <Select
          label="State"
          value={filters.api.status}
          options={LIST_STATUSES}
          all="Any state"
          nameOf={(status) => STATUS_NAMES[status]}
          onChange={(status) => set({ status })}
        />
        <Select
          label="Channel"
          value={filters.api.channel}
          options={CHANNELS}
          all="Any channel"
          nameOf={channelName}
          onChange={(channel) => set({ channel })}
        />
        <Select
          label="Priority"
          value={filters.api.priority}
          options={PRIORITIES}
          all="Any priority"
          onChange={(priority) => set({ priority })}
        />
        <Select
          label="Error"
          value={filters.api.error_type}
          options={ERROR_TYPES}
          all="Any error"
          onChange={(error_type) => set({ error_type })}
        />
        <Select
          label="Created"
          value={filters.period}
          options={PERIODS}
          all={defaultPeriod(filters)}
          nameOf={(period) => `Last ${period}`}
          onChange={(period) => set({ period })}
        />
        <RecipientSearch filters={filters} address={address} onClosed={() => setAddress(undefined)} onChange={set} />
        {query.size > 0 && (
          <a class="clear" href="/notifications">
            Clear
          </a>
        )}
      </search>
      {list.problem !== undefined && <Problem problem={list.problem} onRetry={list.refresh} />}
      {!list.loaded && list.problem === undefined && <Loading what="notifications" lines={12} />}
      {list.loaded && <Rows list={list} />}
      <ShellCommands
        commands={[{ label: 'The same list', command: opsCommand(listCommand(filters, from), session) }]}
      />
      {operation && <NewOperation filter={operation} kinds={kinds} onClose={() => setOperation(undefined)} />}
    </ScreenFrame>
  );
}

function Rows({ list }: { readonly list: ReturnType<typeof useList<'GET /api/notifications', NotificationView>> }) {
  if (list.rows.length === 0)
    return (
      <Empty icon="search" title="Nothing matches">
        <p>No notification has all of these properties. Choose a longer period, or remove a filter.</p>
      </Empty>
    );
  return (
    <>
      <Table
        label="Notifications"
        columns={COLUMNS}
        rows={list.rows}
        keyOf={(row) => text(row, 'log_id')}
        hrefOf={pageOf}
        more={list.more}
        onEnd={list.loadMore}
      />
      <p class="table-foot faint" role="status">
        {list.more ? `${count(list.rows.length)} loaded; more come as you scroll` : `${count(list.rows.length)} in all`}
        {list.by_tenant && '. So many tenants sent on one day that the list goes by tenant instead of by time'}
      </p>
    </>
  );
}
