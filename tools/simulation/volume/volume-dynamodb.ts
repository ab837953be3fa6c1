import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Item } from '../../../src/adapters/dynamodb/table/item.ts';
import type { VirtualTime } from '../engine/virtual-time.ts';

/** A table or an index that holds nothing: an item is made when it is read, so ten million take no memory. */
export interface VolumeTable {
  /** Items of a partition of an index, or of a segment of a scan. */
  readonly size: (partition: string) => number;
  /** The row at a place of it, and the place of a row. */
  readonly rowAt: (partition: string, at: number) => number;
  readonly placeOf: (partition: string, row: number) => number;
  readonly item: (row: number, partition?: string) => Item | Promise<Item>;
  /** Of an item, whatever of it is asked for. */
  readonly bytes: (row: number) => number;
  /** Where a range is asked for: its key, by which a partition is in order. */
  readonly sort?: (row: number) => string;
  /** Rows that have left the index. */
  readonly isGone?: (row: number) => boolean;
  /** What a filter lets through. It is read and charged all the same. @param values of the filter */
  readonly fits?: (row: number, values: readonly string[]) => boolean;
}

const EMPTY: VolumeTable = { size: () => 0, rowAt: () => 0, placeOf: () => 0, item: () => ({}), bytes: () => 0 };

/** Rows that are spread evenly over partitions whose names end with their number. */
export function evenly(count: number, partitions: number): Pick<VolumeTable, 'size' | 'rowAt' | 'placeOf'> {
  const numberOf = (partition: string) => Number(/\d+$/.exec(partition)?.[0]);
  return {
    size: (partition) => Math.max(0, Math.ceil((count - numberOf(partition)) / partitions)),
    rowAt: (partition, at) => at * partitions + numberOf(partition),
    placeOf: (_, row) => Math.floor(row / partitions),
  };
}

export const idOf = (row: number): string => `log-${row}`;
const rowOf = ({ log_id, batch_id }: Item): number => Number(/\d+$/.exec(log_id?.S ?? batch_id?.S ?? '')?.[0]);

/** Milliseconds of a call, and of each megabyte: less than the 24 a second of one partition. */
const CALL_MS = 5;
const MEGABYTE_MS = 50;
const WRITE_MS = 10;
const MEGABYTE = 2 ** 20;
/** DynamoDB ends a page that has reached it. */
const PAGE_BYTES = MEGABYTE;

interface Costs {
  /** Milliseconds of the reading function's processor for each item that it gets. */
  readonly item_ms: number;
  /** How many items each stands for, in time and units. */
  readonly weight?: number;
  /** Write units of a change of an item, its indexes included. */
  readonly change_units?: number;
  /** Told how many items a page or a batch has given. */
  readonly onRead?: (items: number) => void;
}

/** DynamoDB's answers, in virtual time, charged as AWS charges: by the page, filtered or not; by the item in a batch. */
export class VolumeDynamoDb {
  readonly used = { read: 0, write: 0 };
  readonly #time: VirtualTime;
  readonly #tables: Readonly<Record<string, VolumeTable>>;
  readonly #costs: Costs;
  #busyUntil = 0;

  /** @param tables by name; an index as `table/index`, a range of sort keys by what they begin with */
  constructor(time: VirtualTime, tables: Readonly<Record<string, VolumeTable>>, costs: Costs) {
    this.#time = time;
    this.#tables = tables;
    this.#costs = costs;
  }

  get client(): DynamoDBClient {
    return { send: (command: object) => this.#answer(command) } as unknown as DynamoDBClient;
  }

  async #answer(command: object): Promise<object> {
    if (command instanceof QueryCommand) return this.#query(command.input);
    if (command instanceof ScanCommand) {
      const { TableName = '', Segment, Limit, ExclusiveStartKey } = command.input;
      return this.#page(this.#table(TableName), String(Segment), { limit: Limit, after: ExclusiveStartKey });
    }
    if (command instanceof BatchGetItemCommand) return this.#get(command.input);
    if (command instanceof GetItemCommand) {
      await this.#took(1, 0, 0);
      return { ConsumedCapacity: { CapacityUnits: 1 } };
    }
    const { change_units = 1 } = this.#costs;
    if (command instanceof UpdateItemCommand) {
      await this.write(change_units);
      return {};
    }
    if (!(command instanceof BatchExecuteStatementCommand)) throw new Error(`No table here answers ${command}.`);
    const { Statements = [] } = command.input;
    await this.write(change_units * Statements.length);
    return { Responses: Statements.map(() => ({})) };
  }

  /** A write of what no table here holds. */
  async write(units: number): Promise<void> {
    this.used.write += units * (this.#costs.weight ?? 1);
    await this.#time.pause(WRITE_MS);
  }

  /** Nothing is in a table that the scenario does not have. */
  #table(name: string): VolumeTable {
    return this.#tables[name] ?? EMPTY;
  }

  #query({ TableName, IndexName, Limit, ConsistentRead, ...input }: QueryCommandInput): Promise<object> {
    const values = input.ExpressionAttributeValues ?? {};
    const text = (...names: string[]) => names.map((name) => values[name]?.S).find((value) => value !== undefined);
    const begins = input.KeyConditionExpression?.includes('begins_with');
    const upTo = input.KeyConditionExpression?.includes('<=');
    const part = IndexName ?? (begins ? text(':k1') : undefined);
    return this.#page(
      this.#table(part === undefined ? String(TableName) : `${TableName}/${part}`),
      text(':k0', ':queue') ?? '',
      {
        limit: Limit,
        after: input.ExclusiveStartKey,
        lower: upTo ? undefined : text(':k1', ':from'),
        upper: begins ? `${text(':k1')}~` : (text(':k1_to', ':to') ?? text(':k1')),
        only: Object.keys(values).flatMap((name) => (name.startsWith(':f_') ? (values[name]?.S ?? []) : [])),
        consistent: ConsistentRead,
      },
    );
  }

  async #page(table: VolumeTable, partition: string, asked: Asked): Promise<object> {
    const { limit = Number.POSITIVE_INFINITY, after, lower, upper, only = [], consistent } = asked;
    const size = table.size(partition);
    const { sort } = table;
    const place = (is: (key: string) => boolean) =>
      placeWhere(size, (at) => is(sort?.(table.rowAt(partition, at)) ?? ''));
    const end = upper === undefined || !sort ? size : place((key) => key > upper);
    const begin = lower === undefined || !sort ? 0 : place((key) => key >= lower);
    let at = after ? table.placeOf(partition, rowOf(after)) + 1 : begin;
    let [bytes, read, last] = [0, 0, -1];
    const found: (Item | Promise<Item>)[] = [];
    for (; at < end && read < limit && bytes < PAGE_BYTES; at++) {
      const row = table.rowAt(partition, at);
      if (table.isGone?.(row)) continue;
      last = row;
      read += 1;
      bytes += table.bytes(row);
      if (table.fits?.(row, only) ?? true) found.push(table.item(row, partition));
    }
    const CapacityUnits = (Math.max(1, Math.ceil(bytes / 4_096)) / (consistent ? 1 : 2)) * (this.#costs.weight ?? 1);
    const Items = await Promise.all(found);
    await this.#took(CapacityUnits, Items.length, bytes);
    // It knows only by the next page that it has come to the end.
    const isCut = last >= 0 && (read >= limit || bytes >= PAGE_BYTES);
    const next = isCut && { LastEvaluatedKey: await table.item(last, partition) };
    return { Items, ...next, ConsumedCapacity: { CapacityUnits } };
  }

  async #get({ RequestItems = {} }: BatchGetItemCommand['input']): Promise<object> {
    const [[name = '', { Keys = [], ConsistentRead } = {}] = []] = Object.entries(RequestItems);
    const table = this.#table(name);
    const rows = Keys.map(rowOf).filter((row, i) => idOf(row) === Keys[i]?.['log_id']?.S);
    const unitsOf = (bytes: number) => Math.ceil(bytes / 4_096) / (ConsistentRead ? 1 : 2);
    // What is missing is charged like the smallest item.
    const units = rows.reduce((sum, row) => sum + unitsOf(table.bytes(row)), (Keys.length - rows.length) * unitsOf(1));
    const Items = await Promise.all(rows.map((row) => table.item(row)));
    await this.#took(units, rows.length, rows.length * table.bytes(0));
    return { Responses: { [name]: Items }, UnprocessedKeys: {}, ConsumedCapacity: [{ CapacityUnits: units }] };
  }

  /** Calls run side by side; what they give is worked on by one processor. */
  async #took(units: number, items: number, bytes: number): Promise<void> {
    const { item_ms, weight = 1 } = this.#costs;
    const { now } = this.#time;
    this.used.read += units;
    this.#costs.onRead?.(items);
    this.#busyUntil = Math.max(this.#busyUntil, now) + items * item_ms * weight;
    await this.#time.pause(this.#busyUntil - now + CALL_MS + (weight * bytes * MEGABYTE_MS) / MEGABYTE);
  }
}

interface Asked {
  readonly limit: number | undefined;
  readonly after: Item | undefined;
  readonly lower?: string | undefined;
  readonly upper?: string | undefined;
  readonly only?: readonly string[];
  readonly consistent?: boolean | undefined;
}

/** The first place from which on it holds. */
function placeWhere(size: number, holds: (at: number) => boolean): number {
  let low = 0;
  for (let high = size; low < high; ) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
