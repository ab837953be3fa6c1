import { type DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { historyBucket, isGone, tenantKey, tenantOfKey } from '../../../core/model/history-index.ts';
import type { IndexShards } from '../../../core/model/index-shards.ts';
import type { ForeignRow } from '../../../core/model/notification.ts';
import { type Clock, parseTime } from '../../../core/model/time.ts';
import { type WorkState, workPartitions } from '../../../core/model/work-index.ts';
import { ALWAYS, matches, type Period, type SearchFilter } from '../../../core/operator/search-filter.ts';
import type { Item } from '../table/item.ts';
import { itemsOf, rowsById } from '../table/reads.ts';
import { daysOf, historyQuery, jumpQuery, pagesOf, workQuery } from './index-queries.ts';
import {
  type Entry,
  type EntryPage,
  type Group,
  type ListPlace,
  type Order,
  Run,
  readMerged,
  TooManyTenantsError,
} from './merge-runs.ts';

export interface OrderedQuery {
  readonly filter: SearchFilter;
  /** What no column says of a row. */
  readonly fits: (row: ForeignRow) => boolean;
  readonly limit: number;
  readonly after?: ListPlace | undefined;
  /** Reads until the page is full, whatever that costs. */
  readonly full?: boolean;
}

/** Most queries that look for the tenants of one day: half a second and 500 read units. */
const MOST_TENANT_QUERIES = 1_000;
/** Most days that are read side by side where little was found. */
const MOST_DAYS = 8;

/**
 * Lists notifications in the order of time over all partitions of an index: those created in a period and the dead ones
 * with the newest first (the dead by their death), the unfinished with what is due first. history_index lies by tenant
 * and time, so the shards of one tenant are merged backwards. Over all tenants, those of the day are found first: a query
 * jumps over all that a tenant has, so that a shard costs as many queries as it has tenants or pages, whichever is
 * fewer, and what each has newest comes with it.
 */
export class OrderedSearch {
  readonly #client: DynamoDBClient;
  readonly #table: string;
  readonly #clock: Clock;
  readonly #shards: () => Promise<IndexShards>;

  constructor(client: DynamoDBClient, table: string, clock: Clock, shards: () => Promise<IndexShards>) {
    this.#client = client;
    this.#table = table;
    this.#clock = clock;
    this.#shards = shards;
  }

  /** What was created in the period, newest first. @throws TooManyTenantsError for a filter without a tenant */
  created(period: Period, query: OrderedQuery) {
    const created = { ...query, filter: { ...query.filter, created: period } };
    return this.#merge(this.#daysInGroups(period, query), created, 'newest');
  }

  /** The dead, the last death first; or what is due, the most overdue first. */
  async work(state: WorkState, query: OrderedQuery) {
    const order = state === 'dead' ? 'newest' : 'oldest';
    const partitions = workPartitions(state, (await this.#shards()).work, query.filter.priority);
    const runs = partitions.map((partition) => this.#workRun(partition, order, query));
    async function* group() {
      yield { runs };
    }
    return this.#merge(group(), query, order);
  }

  async #ask(query: QueryCommandInput, start?: Item): Promise<{ readonly items: Item[]; readonly next?: Item }> {
    const command = new QueryCommand({ ...query, ...(start && { ExclusiveStartKey: start }) });
    const answer = await this.#client.send(command);
    const { LastEvaluatedKey: next } = answer;
    return { items: itemsOf(answer), ...(next && { next }) };
  }

  async #pageOf(
    query: QueryCommandInput,
    entryOf: (item: Item) => Entry,
    start: Item | undefined,
    isOwn: (item: Item) => boolean = () => true,
  ): Promise<EntryPage> {
    const { items, next } = await this.#ask(query, start);
    const rest = next && { reached: entryOf(next), more: () => this.#pageOf(query, entryOf, next, isOwn) };
    return { entries: items.filter(isOwn).map(entryOf), ...rest };
  }

  async #rowsOf(log_ids: readonly string[], filter: SearchFilter): Promise<(ForeignRow | undefined)[]> {
    const rows = await rowsById(this.#client, this.#table, log_ids);
    return log_ids.map((log_id) => {
      const row = rows.get(log_id);
      return row !== undefined && !isGone(row, this.#clock()) && matches(row, filter) ? row : undefined;
    });
  }

  async #merge(groups: AsyncIterable<Group>, { filter, fits, ...page }: OrderedQuery, order: Order) {
    return readMerged(groups, order, page, async (log_ids) =>
      (await this.#rowsOf(log_ids, filter)).map((row) => (row !== undefined && fits(row) ? row : undefined)),
    );
  }

  /** The days of the period, newest first: one, and more side by side while they hold little. */
  async *#daysInGroups(period: Period, query: OrderedQuery): AsyncGenerator<Group> {
    const count = (await this.#shards()).history;
    const { filter, after } = query;
    const to = after === undefined ? period.to : after.run === END_OF_DAY ? before(after.time) : after.time;
    const days = [...daysOf({ from: period.from, to }, this.#clock())];
    for (let start = 0, size = 1; start < days.length; start += size, size = Math.min(2 * size, MOST_DAYS)) {
      const some = days.slice(start, start + size);
      const runs = await Promise.all(
        some.map((day) => {
          const cost = { queries: 0 };
          const ofShard = (_: unknown, shard: number) =>
            filter.tenant_id === undefined
              ? this.#runsOfAll({ day, shard, period, query }, cost)
              : this.#runsOfTenant({ day, shard, period, query, tenant_id: filter.tenant_id });
          return Promise.all(Array.from({ length: count }, ofShard));
        }),
      );
      const end = { time: `${some.at(-1)}T00:00:00.000Z`, run: END_OF_DAY, log_id: END_OF_DAY };
      // The period may begin within its oldest day: a place at the end of that day would lie outside the period.
      yield { runs: runs.flat(2), ...(start + size < days.length && { end }) };
    }
  }

  /** One; two where rows from before have another key. */
  #runsOfTenant({ tenant_id, ...rest }: Omit<TenantRun, 'name' | 'tenant_key'>): Run[] {
    const tenant_key = tenantKey(tenant_id);
    const name = String(rest.shard);
    const run = this.#runOfTenant({ ...rest, tenant_id, tenant_key, name });
    const before = { ...rest, tenant_id, tenant_key: tenant_id, name: `${name}~before` };
    return tenant_key === tenant_id ? [run] : [run, this.#runOfTenant(before)];
  }

  #runOfTenant({ day, shard, period, query, ...tenant }: TenantRun, read?: TenantPage): Run {
    const { tenant_id, tenant_key, name } = tenant;
    const { after } = query;
    const to = after === undefined || name >= after.run ? (after?.time ?? period.to) : before(after.time);
    const range = { from: period.from, to: to < period.to ? to : period.to };
    if (range.from > range.to) return new Run(name, { entries: [] });
    const bucket = historyBucket(day, shard);
    const asked = pagesOf(historyQuery(this.#table, bucket, range, query.filter, tenant_key), query.limit, 'newest');
    // Keys of a tenant whose name goes on with a day lie within the range, too.
    const isOwn = (item: Item) => tenantOf(item) === tenant_id;
    const isWithin = ({ time }: Entry) => time >= range.from && time <= range.to;
    const isOwnPlace = after?.run === name && after.time.startsWith(day);
    const entries = read?.items.map(createdEntry).filter(isWithin) ?? [];
    // What the search for tenants read is the run's first page, unless the list goes on within it.
    const next = read?.next;
    const reached = next && createdEntry(next);
    const goesOn = reached !== undefined && isWithin(reached);
    if (read !== undefined && !isOwnPlace && (next === undefined || entries.length > 0 || goesOn)) {
      return new Run(name, {
        entries,
        ...(goesOn && { reached, more: () => this.#pageOf(asked, createdEntry, next, isOwn) }),
      });
    }
    const start = isOwnPlace && {
      log_id: { S: after.log_id },
      history_bucket: { S: bucket },
      tenant_created_at: { S: `${tenant_key}#${after.time}` },
    };
    return new Run(name, { entries: [], more: () => this.#pageOf(asked, createdEntry, start || undefined, isOwn) });
  }

  /** A run per tenant of the shard. @throws TooManyTenantsError */
  async #runsOfAll(of: DayShard, cost: { queries: number }): Promise<Run[]> {
    const { day, shard, period, query } = of;
    const runs: Run[] = [];
    let sorted_before: string | undefined;
    for (;;) {
      cost.queries += 1;
      if (cost.queries > MOST_TENANT_QUERIES && query.full !== true) throw new TooManyTenantsError();
      const asked = historyQuery(this.#table, historyBucket(day, shard), period, query.filter);
      const { items, next } = await this.#ask(pagesOf(jumpQuery(asked, sorted_before), query.limit, 'newest'));
      const last = next && tenantOf(next);
      const tenants = new Set([...items.map(tenantOf), ...(last === undefined ? [] : [last])]);
      for (const tenant_id of tenants) {
        const own = items.filter((item) => tenantOf(item) === tenant_id);
        const tenant = { ...of, tenant_id, tenant_key: tenantKey(tenant_id), name: `${shard}.${tenant_id}` };
        runs.push(this.#runOfTenant(tenant, { items: own, ...(tenant_id === last && { next }) }));
      }
      if (last === undefined) return runs;
      // With the T, a tenant whose name is this one's and the day is not jumped over; one that goes on has a mark.
      sorted_before = `${tenantKey(last)}#${day}T`;
    }
  }

  #workRun(partition: string, order: Order, query: OrderedQuery): Run {
    const { filter, after } = query;
    const name = partition.slice(partition.indexOf('#') + 1).replace('#', '.');
    const isOwnPlace = after?.run === name;
    const time =
      after && (name >= after.run ? after.time : order === 'newest' ? before(after.time) : `${after.time}\0`);
    const period =
      time === undefined ? ALWAYS : order === 'newest' ? { ...ALWAYS, to: time } : { ...ALWAYS, from: time };
    if (period.from > period.to) return new Run(name, { entries: [] });
    const asked = workQuery(this.#table, partition, period, filter);
    const start = isOwnPlace && {
      log_id: { S: after.log_id },
      work_queue: { S: partition },
      work_at: { S: after.time },
    };
    const pages = pagesOf(asked, query.limit, order);
    return new Run(name, { entries: [], more: () => this.#pageOf(pages, workEntry, start || undefined) });
  }
}

interface DayShard {
  readonly day: string;
  readonly shard: number;
  readonly period: Period;
  readonly query: OrderedQuery;
}

interface TenantRun extends DayShard {
  readonly tenant_id: string;
  readonly tenant_key: string;
  readonly name: string;
}

interface TenantPage {
  readonly items: readonly Item[];
  readonly next?: Item | undefined;
}

/** Behind every run, as their names begin with a digit or a lower-case letter. */
export const END_OF_DAY = '~';
/** Characters of `2026-11-01T09:00:00.000Z`. */
const ISO_LENGTH = 24;

function createdEntry(item: Item): Entry {
  return { time: item['tenant_created_at']?.S?.slice(-ISO_LENGTH) ?? '', log_id: item['log_id']?.S ?? '' };
}

const workEntry = (item: Item): Entry => ({ time: item['work_at']?.S ?? '', log_id: item['log_id']?.S ?? '' });

const tenantOf = (item: Item): string => tenantOfKey(item['tenant_created_at']?.S ?? '');

/** The moment before, as times are compared as texts. One of another form is repeated rather than left out. */
function before(time: string): string {
  const at = parseTime(time);
  return at === undefined ? time : new Date(at.getTime() - 1).toISOString();
}
