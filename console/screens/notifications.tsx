import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { LIST_STATUSES } from '../../src/application/contract/choices.ts';
import type { OperationFilter } from '../../src/application/contract/operations.ts';
import type { NotificationView } from '../../src/core/operator/views/notification-view.ts';
import { SessionContext } from '../data/session.ts';
import { useList } from '../data/use-list.ts';
import { count, t } from '../language/language.ts';
import { useKeys } from '../navigation/keys.ts';
import { remember, remembered, usePlace } from '../navigation/router.ts';
import { Button } from '../parts/button.tsx';
import { ScreenFrame } from '../parts/screen.tsx';
import { ConditionSelects, Select } from '../parts/select.tsx';
import { OpsCommands } from '../parts/shell-command.tsx';
import { noResults } from '../parts/states.tsx';
import { type Column, ListTable, linkColumn, stateColumn } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { causeWord, channelName, nextTryOf, stateWord, columnText as text } from '../parts/words.ts';
import { ActOnChosen, type Chosen, choice } from './notification/selection.tsx';
import {
  defaultPeriod,
  filtersIn,
  type ListFilters,
  listCommand,
  operationFilter,
  operationKinds,
  PERIOD_NAMES,
  PERIODS,
  pageInList,
  STATUS_NAMES,
  startOf,
} from './notification-filters.ts';
import { NewOperation } from './operations/new-operation.tsx';
import { isAddress, RecipientSearch, SearchField } from './search.tsx';

const columns = (pageOf: (log_id: string) => string): readonly Column<NotificationView>[] => [
  stateColumn(t('State'), '7rem', ({ state }) => stateWord(state)),
  linkColumn(t('Notification'), 'minmax(9rem, 2fr)', (row) => ({
    href: pageOf(text(row, 'log_id')),
    text: text(row, 'log_id'),
    mono: true,
  })),
  {
    title: t('Channel'),
    width: '5.5rem',
    narrow: 'line',
    cell: (row) => channelName(row['channel'] ?? text(row, 'notification_type').toLowerCase()),
  },
  { title: t('Priority'), yields: 1, width: '5rem', narrow: 'line', cell: (row) => text(row, 'priority') || '–' },
  { title: t('Tenant'), yields: 3, width: 'minmax(6rem, 1fr)', narrow: 'line', cell: (row) => text(row, 'tenant_id') },
  {
    title: t('Last error'),
    width: 'minmax(13rem, 3fr)',
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
  { title: t('Attempts'), yields: 4, width: '5rem', align: 'right', cell: (row) => text(row, 'send_attempts') || '0' },
  {
    title: t('Next try'),
    yields: 5,
    width: '6rem',
    align: 'right',
    cell: (row) => <Time at={nextTryOf(row)} />,
  },
  {
    title: t('Created'),
    yields: 2,
    width: '6rem',
    align: 'right',
    narrow: 'head',
    cell: (row) => <Time at={text(row, 'created_at')} />,
  },
];

/** The list of a query, which the page of one of its notifications knows, too. */
export function useNotifications(
  filters: ListFilters,
  from: string | undefined,
  { once = false, when = true, held = false },
) {
  return useList({
    route: 'GET /api/notifications',
    query: { ...filters.api, from, limit: '100' },
    rowsOf: (page) => page.notifications,
    keyOf: (row: NotificationView) => text(row, 'log_id'),
    once,
    when,
    held,
  });
}

export function NotificationsScreen() {
  const { query, set } = usePlace();
  const session = useContext(SessionContext);
  const filters = filtersIn(query);
  const [operation, setOperation] = useState<OperationFilter>();
  const [address, setAddress] = useState<string>();
  const [paused, setPaused] = useState(false);
  const [chosen, setChosen] = useState<Chosen>(new Map());
  const kinds = operationKinds(filters);
  // Once per period: a start that moves with the clock would be another list each time.
  const from = useMemo(
    () => filters.api.from ?? remembered().from ?? startOf(filters.period),
    [filters.api.from, filters.period],
  );
  useEffect(() => {
    if (from !== undefined) remember({ from });
    setChosen(new Map());
  }, [from, query.toString()]);
  // Rows that move while somebody ticks them would be ticked by mistake.
  const held = paused || chosen.size > 0;
  const list = useNotifications(filters, from, { held });
  useKeys(useMemo(() => ({ p: () => setPaused((before) => !before) }), []));
  // An address must not come into the URL: the dialog turns it into its hash.
  const search = (typed: string | undefined) => {
    const isRecipient = typed !== undefined && isAddress(typed);
    set(isRecipient ? { recipient_hash: undefined } : { q: typed?.slice(0, 100) });
    if (isRecipient) setAddress(typed);
  };
  const pageOf = (log_id: string) => pageInList(log_id, { ...Object.fromEntries(query), period: undefined, from });
  return (
    <ScreenFrame
      wide
      title={t('Notifications')}
      actions={
        <>
          <Button
            name={
              held
                ? list.newer > 0
                  ? t('Follow: {n} newer', { n: count(list.newer) })
                  : t('Follow')
                : t('Live: pause')
            }
            icon={held ? 'play' : 'pause'}
            title={t('Shortcut: p')}
            onClick={() => (held ? follow() : setPaused(true))}
          />
          {session.role === 'operator' && kinds.length > 0 && (
            <Button name={t('Act on all that match…')} onClick={() => setOperation(operationFilter(filters, from))} />
          )}
        </>
      }
    >
      <search class="line" aria-label={t('Filter notifications')}>
        <SearchField value={filters.api.q} onSearch={search} />
        <Select
          label={t('State')}
          value={filters.api.status}
          options={LIST_STATUSES}
          all={t('Any state')}
          nameOf={(status) => STATUS_NAMES[status]}
          onChange={(status) => set({ status })}
        />
        <ConditionSelects values={filters.api} onChange={set} />
        <Select
          label={t('Created')}
          value={filters.period}
          options={PERIODS}
          all={defaultPeriod(filters) === 'any' ? t('Any time') : t('Last 24 hours')}
          nameOf={(period) => PERIOD_NAMES[period]}
          onChange={(period) => set({ period })}
        />
        <RecipientSearch filters={filters} address={address} onClosed={() => setAddress(undefined)} onChange={set} />
        {query.size > 0 && (
          <a class="clear" href="/notifications">
            {t('Clear')}
          </a>
        )}
      </search>
      <ListTable
        label={t('Notifications')}
        columns={[...(session.role === 'operator' ? [choice(chosen, setChosen, list.rows)] : []), ...columns(pageOf)]}
        list={list}
        hrefOf={(row) => pageOf(text(row, 'log_id'))}
        empty={
          query.size > 0
            ? noResults('/notifications')
            : {
                icon: 'search',
                title: t('No notifications yet'),
                text: t('None in the last 24 hours. A key lets a program hand them over: POST /v1/notifications.'),
                next: session.lacks?.includes('keys') ? undefined : { href: '/keys', name: t('Send your first') },
              }
        }
      />
      {list.rows.length > 0 && (
        <p class="table-foot faint" role="status">
          {t(list.more ? '{n} loaded; more come as you scroll' : '{n} in all', { n: count(list.rows.length) })}
          {list.by_tenant && t('. The list goes by tenant instead of by time: too many tenants sent on one day')}
        </p>
      )}
      {chosen.size > 0 && <ActOnChosen chosen={chosen} onClear={() => setChosen(new Map())} onDone={list.refresh} />}
      <OpsCommands of={{ [t('The same list')]: listCommand(filters, from) }} />
      {operation && <NewOperation filter={operation} kinds={kinds} onClose={() => setOperation(undefined)} />}
    </ScreenFrame>
  );
  function follow() {
    setPaused(false);
    setChosen(new Map());
  }
}
