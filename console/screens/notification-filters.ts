import {
  CONDITIONS,
  type Condition,
  isOfAnyTenant,
  LIST_STATUSES,
  OPERATION_KINDS,
  type OperationKind,
  quoted,
  UNFINISHED_STATUSES,
} from '../../src/application/contract/choices.ts';
import type { OperationFilter } from '../../src/application/contract/operations.ts';
import type { Query } from '../data/api.ts';
import { t } from '../language/language.ts';
import { hrefOf } from '../navigation/router.ts';

type ListQuery = Query<'GET /api/notifications'>;

export const PERIODS = ['1 hour', '7 days', '30 days', '1 year'] as const;
export type Period = (typeof PERIODS)[number];

const HOURS: Readonly<Record<Period, number>> = { '1 hour': 1, '7 days': 168, '30 days': 720, '1 year': 8_760 };

export const PERIOD_NAMES: Readonly<Record<Period, string>> = {
  '1 hour': t('Last 1 hour'),
  '7 days': t('Last 7 days'),
  '30 days': t('Last 30 days'),
  '1 year': t('Last 1 year'),
};

export const STATUS_NAMES: Readonly<Record<(typeof LIST_STATUSES)[number], string>> = {
  unfinished: t('Unfinished'),
  due: t('Due'),
  waiting: t('Waiting'),
  held: t('Held'),
  in_flight: t('In flight'),
  dead: t('Dead'),
  PENDING: t('Pending'),
  SENDING: t('Sending'),
  SUCCESS: t('Delivered'),
  FAILED: t('Failed'),
  RETRY: t('To be retried'),
};

export interface ListFilters {
  readonly api: ListQuery;
  readonly period: Period | undefined;
}

/** The filters of a URL. A value that does not exist is left out, so that an old link shows something. */
export function filtersIn(query: URLSearchParams): ListFilters {
  const one = <T extends string>(name: string, values: readonly T[]) =>
    values.find((value) => value === query.get(name));
  const conditions = Object.entries<Condition>(CONDITIONS).map(([name, { values }]) => [
    name,
    values === undefined ? query.get(name) || undefined : one(name, values),
  ]);
  const all = {
    ...Object.fromEntries(conditions),
    status: one('status', LIST_STATUSES),
    q: query.get('q') || undefined,
  };
  return { api: given(all) as ListQuery, period: one('period', PERIODS) };
}

/** The conditions that are there. */
export function given(filter: object): OperationFilter {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** The page of a notification that knows the list from which it was opened: its next one, and the one before. */
export function pageInList(log_id: string, list: Readonly<Record<string, string | undefined>>): string {
  return hrefOf(`/notifications/${encodeURIComponent(log_id)}`, { in: 'list', ...list });
}

/** Undefined: the API's own period. */
export function startOf(period: Period | undefined): string | undefined {
  return period === undefined ? undefined : hoursBefore(Date.now(), HOURS[period]);
}

const hoursBefore = (time: number, hours: number): string => new Date(time - hours * 3_600_000).toISOString();

/** The API's own period: all that is unfinished or dead, whatever its age, and the last 24 hours of everything else. */
export function defaultPeriod({ api: { status } }: ListFilters): 'any' | 'day' {
  return [...UNFINISHED_STATUSES, 'dead'].some((one) => one === status) ? 'any' : 'day';
}

/** What an operation may do with the notifications of a list: none where it would take others, too. */
const KINDS: Readonly<Record<(typeof LIST_STATUSES)[number], readonly OperationKind[]>> = {
  unfinished: ['retry', 'cancel'],
  due: [],
  waiting: [],
  held: [],
  in_flight: [],
  dead: ['redrive', 'give_up'],
  PENDING: ['retry', 'cancel'],
  SENDING: [],
  SUCCESS: [],
  FAILED: ['redrive', 'give_up'],
  RETRY: ['retry', 'cancel'],
};

export function operationKinds({ api: { status, q, recipient_hash } }: ListFilters): readonly OperationKind[] {
  if (q !== undefined || isOfAnyTenant(recipient_hash)) return [];
  return status === undefined ? OPERATION_KINDS : KINDS[status];
}

/** The same as the list shows: an operation without a period would take what is older, too. */
export function operationFilter(filters: ListFilters, from: string | undefined): OperationFilter {
  const { status: _, q: __, limit: ___, cursor: ____, ...filter } = filters.api;
  const end = filter.to === undefined ? Date.now() : Date.parse(filter.to);
  const start = from ?? (defaultPeriod(filters) === 'any' ? undefined : hoursBefore(end, 24));
  return { ...filter, ...(start !== undefined && { from: start }) };
}

/** As `ops list` takes it, but for the hash of a recipient: the command takes the address itself. */
export function listCommand({ api }: ListFilters, from: string | undefined): string {
  if (api.q !== undefined) return `show ${quoted(api.q)}`;
  const options = Object.entries({ ...api, from }).flatMap(([name, value]) =>
    value === undefined || name === 'recipient_hash' ? [] : [`--${name.replaceAll('_', '-')} ${quoted(value)}`],
  );
  return ['list', ...options].join(' ');
}
