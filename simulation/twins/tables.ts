import { isDeepStrictEqual } from 'node:util';
import { CLAIM_COLUMNS } from '../../src/adapters/dynamodb/table/guards.ts';
import type { ClaimStore, RecordStore } from '../../src/core/delivery/ports.ts';
import type { NotificationRow, RetryRecord } from '../../src/core/model/notification.ts';
import type { RowChange } from '../../src/core/model/row-change.ts';
import { msOf } from '../engine/iso-time.ts';
import type { VirtualTime } from '../engine/virtual-time.ts';
import { Capacity } from '../models/capacity.ts';
import { type Routing, RowColumns, rowOf } from './row-columns.ts';
import { WorkIndex } from './work-index.ts';

/** What the tables tell those who watch them. */
export interface TableWatcher {
  claimed(row: number, until: number): void;
  recorded(record: RetryRecord, row: number): void;
  changed(row: number, status: string, failure_reason: string | undefined): void;
}

/** Units that a partition of an index takes per second. */
const PARTITION_UNITS = 1_000;

/**
 * NotificationLog and NotificationRetryLog for a million notifications: the twins of src/adapters/memory in typed arrays.
 * The calls take effect at once; the worker's model adds their duration.
 */
export class Tables {
  readonly columns: RowColumns;
  readonly index: WorkIndex;
  readonly #time: VirtualTime;
  readonly #watcher: TableWatcher;
  readonly #capacities = new Map<string, Capacity>();
  /** The last record of each row whose attempt is not settled: what a takeover looks for. */
  readonly #records = new Map<number, RetryRecord>();
  size = 0;
  writeUnits = 0;
  readUnits = 0;

  /** @param shards partitions per state and priority of the work index; the defaults unless given */
  constructor(time: VirtualTime, size: number, watcher: TableWatcher, shards?: number) {
    this.#time = time;
    this.#watcher = watcher;
    this.columns = new RowColumns(size, shards);
    this.index = new WorkIndex(time, this.columns, size);
  }

  get throttled(): number {
    return [...this.#capacities.values()].reduce((sum, { throttled }) => sum + throttled, 0);
  }

  /** @param routing its place in `columns.routing` */
  insert(routing: number, columns: Partial<NotificationRow>): number {
    const row = this.size++;
    this.columns.add(row, routing, columns);
    this.writeUnits += 3;
    this.index.changed(row);
    return row;
  }

  routing(routing: Routing): number {
    return this.columns.routing.push(routing) - 1;
  }

  readonly rows: ClaimStore = {
    claim: async ({ log_id, due }, claim_until, claim_id) => {
      const row = rowOf(log_id);
      const read = this.columns.read(row);
      this.writeUnits += 1;
      const { send_status } = read;
      const claimable =
        read.work_queue?.startsWith('due#') === true &&
        read.work_at === due &&
        send_status !== 'SENDING' &&
        send_status !== 'SUCCESS' &&
        read.attempts_left > 0;
      if (!claimable) return { claimed: send_status === 'SENDING' && read.claim_id === claim_id, row: read };
      const set = {
        send_status: 'SENDING',
        claim_until,
        claim_id,
        send_attempts: read.send_attempts + 1,
        attempts_left: read.attempts_left - 1,
        last_attempt: read.last_attempt + 1,
      } as const;
      this.columns.set(row, set);
      this.columns.remove(row, ['next_retry_at']);
      this.#watcher.claimed(row, msOf(claim_until));
      const { next_retry_at: _, ...rest } = read;
      return { claimed: true, row: { ...rest, ...set } };
    },
    read: async (log_id) => {
      this.readUnits += 1;
      return this.columns.read(rowOf(log_id));
    },
    change: async (was, change) => {
      const now = this.columns.read(rowOf(was.log_id));
      this.writeUnits += 1;
      if (!CLAIM_COLUMNS.every((name) => now[name] === was[name] || isDeepStrictEqual(now[name], was[name])))
        return false;
      this.#apply(rowOf(was.log_id), change);
      if (change.set.claim_until) this.#watcher.claimed(rowOf(was.log_id), msOf(change.set.claim_until));
      return true;
    },
    settle: async (claimed, change) => {
      const row = rowOf(claimed.log_id);
      this.writeUnits += 1;
      if (!this.columns.isHeld(row, claimed.last_attempt)) return false;
      this.#apply(row, change);
      this.#records.delete(row);
      return true;
    },
  };

  readonly records: RecordStore = {
    putIfAbsent: async (record) => {
      const there = this.#records.get(rowOf(record.original_log_id));
      if (there?.retry_attempt === record.retry_attempt) return false;
      this.#record(record);
      return true;
    },
    replace: async (record) => {
      this.#record(record);
      return true;
    },
    find: async (log_id, attempt) => {
      this.readUnits += 0.5;
      const record = this.#records.get(rowOf(log_id));
      return record?.retry_attempt === attempt ? record : undefined;
    },
  };

  /** Milliseconds that a write to the row's partition of the work index waits. @throws ThrottledError */
  indexWait(log_id: string): number {
    const queue = this.columns.workQueue(rowOf(log_id));
    return queue === undefined ? 0 : this.wait(queue, 1);
  }

  wait(partition: string, units: number): number {
    let capacity = this.#capacities.get(partition);
    if (capacity === undefined) {
      capacity = new Capacity(PARTITION_UNITS);
      this.#capacities.set(partition, capacity);
    }
    return capacity.take(units, this.#time.now);
  }

  #record(record: RetryRecord): void {
    const row = rowOf(record.original_log_id);
    this.writeUnits += 1;
    this.#records.set(row, record);
    this.#watcher.recorded(record, row);
  }

  #apply(row: number, { set, remove = [] }: RowChange): void {
    const before = this.columns.workQueue(row);
    const beforeAt = this.columns.work_at[row];
    this.columns.set(row, set);
    this.columns.remove(row, remove);
    const after = this.columns.workQueue(row);
    if (before !== after || (after !== undefined && beforeAt !== this.columns.work_at[row])) {
      this.writeUnits += (before === undefined ? 0 : 1) + (after === undefined ? 0 : 1);
      this.index.changed(row);
    }
    if (set.send_status !== undefined) this.#watcher.changed(row, set.send_status, set.failure_reason);
  }
}
