import { type DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { historyBucket, isGone } from '../../../core/model/history-index.ts';
import type { IndexShards } from '../../../core/model/index-shards.ts';
import type { ForeignRow } from '../../../core/model/notification.ts';
import { ExplainedError } from '../../../core/model/problem.ts';
import { type Clock, parseTime } from '../../../core/model/time.ts';
import { workPartitions as partitionsOf, type WorkState } from '../../../core/model/work-index.ts';
import type { OperationRows } from '../../../core/operator/operations/operation.ts';
import { matches, type Period, type SearchFilter } from '../../../core/operator/search-filter.ts';
import { HISTORY_INDEX, TABLES, WORK_INDEX } from '../schema.ts';
import type { Item } from '../table/item.ts';
import { itemsOf, MAX_GETS, rowsById } from '../table/reads.ts';
import { daysOf, historyQuery, readPage, workQuery } from './index-queries.ts';

/** A place in an index. A search can continue right after it. */
export interface SearchPosition {
  readonly partition: string;
  readonly sort: string;
  readonly log_id: string;
}

interface Found {
  readonly row: ForeignRow;
  readonly position: SearchPosition;
}

/** What was found in up to a hundred entries of an index. */
interface FoundPart {
  readonly found: readonly Found[];
  /** Rows that were read, found or not. */
  readonly read: number;
  /** The last of the entries; undefined: there were none. */
  readonly end?: SearchPosition;
  /**
   * The last entry of an index page whose partition has more pages. The entry lies within the keys of the search, but
   * it need not match the filter, so the part may hold no row.
   */
  readonly pageEnd?: SearchPosition;
}

/** The position belongs to another search: its partition is not part of this one. */
export class ForeignPositionError extends ExplainedError {
  override readonly name = 'ForeignPositionError';
  override readonly message = 'The position belongs to another search.';
}

/**
 * Searches history_index and work_index in the order of the index, for bulk operations, which need no other, and can
 * continue after any row found. Lists are in the order of time (newest-first.ts). With readCopies they answer the table
 * document's seven lookups (his-notification-log-table.md, インデックス定義; docs/architecture.md, "Lookups"). Every row read
 * costs half a read unit besides the index. The search holds one page of index entries and 100 rows at a time.
 */
export interface OperatorSearch {
  /** What was created in the period, newest day first. A tenant narrows the index read; the rest filters. */
  created(period: Period, filter: SearchFilter, after?: SearchPosition): AsyncGenerator<FoundPart>;
  /** What is due, or died, in the period: urgent first, oldest first. */
  work(state: WorkState, period: Period, filter: SearchFilter, after?: SearchPosition): AsyncGenerator<FoundPart>;
}

/** Index entries per request: large enough to need few requests when little matches, small enough to waste little. */
const PAGE_SIZE = 500;

export interface SearchOptions {
  /** Reads rows consistently, at twice the price, for callers that decide on them. */
  readonly consistent: boolean;
  /** The partitions of the indexes: as many as the stage ever had. */
  readonly shards: () => Promise<IndexShards>;
}

export function createOperatorSearch(
  client: DynamoDBClient,
  table: string,
  clock: Clock,
  { consistent, shards }: SearchOptions,
): OperatorSearch {
  async function* walk(
    partitions: Iterable<string>,
    queryOf: (partition: string) => QueryCommandInput,
    [partitionKey, sortKey]: readonly [string, string],
    filter: SearchFilter,
    after: SearchPosition | undefined,
  ): AsyncGenerator<FoundPart> {
    for (const name of partitions) {
      const query = queryOf(name);
      let ExclusiveStartKey: Item | undefined =
        after?.partition === name
          ? { log_id: { S: after.log_id }, [partitionKey]: { S: after.partition }, [sortKey]: { S: after.sort } }
          : undefined;
      do {
        const page = await client.send(
          new QueryCommand({
            ...query,
            ProjectionExpression: `log_id, ${partitionKey}, ${sortKey}`,
            Limit: PAGE_SIZE,
            ...(ExclusiveStartKey && { ExclusiveStartKey }),
          }),
        );
        const entries = itemsOf(page);
        ExclusiveStartKey = page.LastEvaluatedKey;
        const pageEnd = ExclusiveStartKey && positionOf(ExclusiveStartKey, partitionKey, sortKey);
        // A page without matching entries yields a part, too.
        for (let start = 0; start === 0 || start < entries.length; start += MAX_GETS) {
          const some = entries.slice(start, start + MAX_GETS);
          const found = await read(some, partitionKey, sortKey, filter);
          const last = some.at(-1);
          const isLast = start + MAX_GETS >= entries.length;
          yield {
            found,
            read: some.length,
            ...(last && { end: positionOf(last, partitionKey, sortKey) }),
            ...(isLast && pageEnd && { pageEnd }),
          };
        }
      } while (ExclusiveStartKey !== undefined);
    }
  }

  async function read(
    entries: readonly Item[],
    partitionKey: string,
    sortKey: string,
    filter: SearchFilter,
  ): Promise<Found[]> {
    const log_ids = entries.flatMap(({ log_id }) => log_id?.S ?? []);
    const rows = await rowsById(client, table, log_ids, { consistent });
    return entries.flatMap((entry) => {
      const row = rows.get(entry['log_id']?.S ?? '');
      if (row === undefined || isGone(row, clock()) || !matches(row, filter)) return [];
      return [{ row, position: positionOf(entry, partitionKey, sortKey) }];
    });
  }

  return {
    async *created(period, filter, after) {
      const buckets = historyBuckets((await shards()).history, period, clock(), after?.partition);
      const query = (name: string) => historyQuery(table, name, period, filter);
      yield* walk(buckets, query, keysOf(HISTORY_INDEX), { ...filter, created: period }, after);
    },
    async *work(state, period, filter, after) {
      const names = partitionsOf(state, (await shards()).work, filter.priority);
      const first = after === undefined ? 0 : names.indexOf(after.partition);
      if (first < 0) throw new ForeignPositionError();
      const query = (name: string) => workQuery(table, name, period, filter);
      yield* walk(names.slice(first), query, keysOf(WORK_INDEX), filter, after);
    },
  };
}

function positionOf(entry: Item, partitionKey: string, sortKey: string): SearchPosition {
  const text = (name: string) => entry[name]?.S ?? '';
  return { partition: text(partitionKey), sort: text(sortKey), log_id: text('log_id') };
}

/**
 * The buckets of the period, newest day first, from the one of a position on. Made one by one, as a caller may ask for
 * ten thousand years. @throws ForeignPositionError
 */
function* historyBuckets(shards: number, period: Period, now: Date, after?: string): Generator<string, void> {
  const [day = '', shard = ''] = after?.split('#') ?? [];
  const isOurs = Number(shard) < shards && day >= period.from.slice(0, 10) && day <= period.to.slice(0, 10);
  if (after !== undefined && !(isOurs && isBucket(day, shard))) throw new ForeignPositionError();
  for (const one of daysOf(period, now)) {
    for (let i = 0; i < shards; i += 1) {
      if (after === undefined || one < day || (one === day && i >= Number(shard))) yield historyBucket(one, i);
    }
  }
}

function isBucket(day: string, shard: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(day) && /^(0|[1-9]\d?)$/.test(shard) && parseTime(`${day}T00:00Z`) !== undefined;
}

function keysOf(index: typeof HISTORY_INDEX | typeof WORK_INDEX): readonly [string, string] {
  const { partitionKey, sortKey } = TABLES.notification_log.indexes[index];
  return [partitionKey.name, sortKey.name];
}

/** OperationRows on NotificationLog's indexes. @param shards their partitions: the most there ever were */
export function createOperationRows(
  client: DynamoDBClient,
  table: string,
  clock: Clock,
  shards: () => Promise<IndexShards>,
): OperationRows {
  const search = createOperatorSearch(client, table, clock, { consistent: true, shards });
  return {
    async page({ source, period, filter, after, limit }) {
      // Only this adapter makes positions.
      const position = after as SearchPosition | undefined;
      const parts =
        source === 'created' ? search.created(period, filter, position) : search.work(source, period, filter, position);
      // An operation asks for the next page anyway: to learn whether there is one would read its rows twice.
      const { rows, next } = await readPage(parts, limit, () => true, { eager: true });
      return { rows, ...(next && { next: { ...next } }) };
    },
  };
}
