import { type DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import type { ForeignRow } from '../../../core/model/foreign-row.ts';
import { HISTORY_SHARDS, historyBucket, isGone } from '../../../core/model/history-index.ts';
import { PRIORITIES } from '../../../core/model/priorities.ts';
import type { Clock } from '../../../core/model/time.ts';
import { allShards, type WorkState } from '../../../core/model/work-index.ts';
import { matches, type Period, type SearchFilter } from '../../../core/operator/search-filter.ts';
import { HISTORY_INDEX, TABLES, WORK_INDEX } from '../schema.ts';
import { getItems, MAX_GETS } from '../table/batch.ts';
import { type Item, toForeignRow } from '../table/item.ts';
import { daysOf, historyQuery, workQuery } from './index-queries.ts';

/** A place in an index, right after which a search can go on. */
export interface SearchPosition {
  readonly partition: string;
  readonly sort: string;
  readonly log_id: string;
}

export interface Found {
  readonly row: ForeignRow;
  readonly position: SearchPosition;
}

/** What was found in up to a hundred entries of an index. */
export interface FoundPart {
  readonly found: readonly Found[];
  /**
   * Where an index page ended that its partition goes on after: there is more to read, whether anything fitted or not.
   * Its entry is within the search's keys, but need not have fitted the rest of the filter.
   */
  readonly pageEnd?: SearchPosition;
}

/** The position is of another search: its partition is none of this one's. */
export class ForeignPositionError extends Error {
  override readonly name = 'ForeignPositionError';
}

/**
 * The lookups on history_index and work_index (lookups.ts), in the indexes' own order and able to go on from any row
 * found. It holds one page of index entries and 100 rows at a time, so memory is bounded however many there are.
 */
export interface OperatorSearch {
  /** What was created in the period, newest day first. */
  created(period: Period, filter: SearchFilter, after?: SearchPosition): AsyncGenerator<Found>;
  /** The same, for who must know how much is read though little or nothing is found. */
  createdParts(period: Period, filter: SearchFilter, after?: SearchPosition): AsyncGenerator<FoundPart>;
  /** What is due, or died, in the period: urgent first, oldest first. */
  work(state: WorkState, period: Period, filter: SearchFilter, after?: SearchPosition): AsyncGenerator<Found>;
}

/** Index entries a request. Few requests where a filter leaves little, and little read in vain where few rows are asked for. */
const PAGE_SIZE = 500;

interface Partition {
  readonly name: string;
  readonly query: QueryCommandInput;
}

/** @param consistent reads rows at twice the price, to decide on them. */
export function createOperatorSearch(
  client: DynamoDBClient,
  table: string,
  clock: Clock,
  { consistent }: { readonly consistent: boolean },
): OperatorSearch {
  async function* walk(
    partitions: readonly Partition[],
    [partitionKey, sortKey]: readonly [string, string],
    filter: SearchFilter,
    after: SearchPosition | undefined,
  ): AsyncGenerator<FoundPart> {
    const first = after === undefined ? 0 : partitions.findIndex(({ name }) => name === after.partition);
    if (first < 0) throw new ForeignPositionError('The position is none of this search.');
    for (const [i, { query }] of partitions.slice(first).entries()) {
      let ExclusiveStartKey: Item | undefined =
        i === 0 && after
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
        const entries = page.Items ?? [];
        ExclusiveStartKey = page.LastEvaluatedKey;
        const pageEnd = ExclusiveStartKey && positionOf(ExclusiveStartKey, partitionKey, sortKey);
        // A page that the filter leaves nothing of is told as well.
        for (let start = 0; start === 0 || start < entries.length; start += MAX_GETS) {
          const found = await read(entries.slice(start, start + MAX_GETS), partitionKey, sortKey, filter);
          const isLast = start + MAX_GETS >= entries.length;
          yield { found, ...(isLast && pageEnd && { pageEnd }) };
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
    const keys = entries.map(({ log_id }) => ({ log_id: log_id ?? { S: '' } }));
    const items = await getItems(client, table, keys, { consistent });
    const rows = new Map(items.map((item) => [item['log_id']?.S, toForeignRow(item)]));
    return entries.flatMap((entry) => {
      const row = rows.get(entry['log_id']?.S);
      if (row === undefined || isGone(row, clock()) || !matches(row, filter)) return [];
      return [{ row, position: positionOf(entry, partitionKey, sortKey) }];
    });
  }

  const createdParts: OperatorSearch['createdParts'] = (period, filter, after) =>
    walk(historyPartitions(table, period, filter), keysOf(HISTORY_INDEX), { ...filter, created: period }, after);

  return {
    createdParts,
    created: (period, filter, after) => foundIn(createdParts(period, filter, after)),
    work: (state, period, filter, after) =>
      foundIn(walk(workPartitions(table, state, period, filter), keysOf(WORK_INDEX), filter, after)),
  };
}

async function* foundIn(parts: AsyncIterable<FoundPart>): AsyncGenerator<Found> {
  for await (const { found } of parts) yield* found;
}

function positionOf(entry: Item, partitionKey: string, sortKey: string): SearchPosition {
  const text = (name: string) => entry[name]?.S ?? '';
  return { partition: text(partitionKey), sort: text(sortKey), log_id: text('log_id') };
}

function historyPartitions(table: string, period: Period, filter: SearchFilter): Partition[] {
  const { tenant_id, channel, recipient_hash } = filter;
  const indexed = {
    ...(tenant_id && { tenant_id }),
    ...(channel && { channel }),
    ...(recipient_hash && { recipient_hash }),
  };
  return daysOf(period).flatMap((day) =>
    Array.from({ length: HISTORY_SHARDS }, (_, shard) => {
      const name = historyBucket(day, shard);
      return { name, query: historyQuery(table, name, period, indexed) };
    }),
  );
}

function workPartitions(table: string, state: WorkState, period: Period, filter: SearchFilter): Partition[] {
  const { tenant_id, channel } = filter;
  const indexed = { ...(tenant_id && { tenant_id }), ...(channel && { channel }) };
  return PRIORITIES.filter((priority) => filter.priority === undefined || filter.priority === priority)
    .flatMap((priority) => allShards(state, priority))
    .map((name) => ({ name, query: workQuery(table, name, period, indexed) }));
}

function keysOf(index: typeof HISTORY_INDEX | typeof WORK_INDEX): readonly [string, string] {
  const { partitionKey, sortKey } = TABLES.notification_log.indexes[index];
  return [partitionKey.name, sortKey.name];
}
