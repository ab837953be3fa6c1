import type { ClaimStore, RecordStore } from '../../../src/core/delivery/ports.ts';
import { retryLogId } from '../../../src/core/delivery/retry-record.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import type { VirtualTime } from '../engine/virtual-time.ts';
import { Capacity, SharedItems } from '../models/capacity.ts';
import { MemoryTables } from './memory-tables.ts';
import { WorkIndex } from './work-index.ts';

type Stored = Readonly<Record<string, unknown>>;

/** What the tables tell those who watch them. Rows are named by their numbers. */
export interface TableWatcher {
  written(row: number, before: Stored, after: Stored): void;
  recorded(row: number, record: RetryRecord): void;
}

const DIGITS = 8;
/** Units that a partition of an index takes per second. */
const PARTITION_UNITS = 1_000;

const logIds: string[] = [];

export function logIdOf(row: number): string {
  logIds[row] ??= `n${String(row).padStart(DIGITS, '0')}`;
  return logIds[row];
}

export const rowOf = (log_id: string): number => Number(log_id.slice(1));

/**
 * The tables of the pipeline in memory, with an index for a million rows, what their calls cost, and watchers. The calls
 * take effect at once; the worker's model adds their duration.
 */
export class Tables {
  readonly memory: MemoryTables;
  readonly index: WorkIndex;
  readonly rows: ClaimStore;
  readonly records: RecordStore;
  readonly #time: Pick<VirtualTime, 'now' | 'clock'>;
  readonly #watcher: TableWatcher;
  readonly #capacities = new Map<string, Capacity>();
  /** PipelineState. */
  readonly state = new SharedItems();
  /** Of the other tables. */
  writeUnits = 0;
  readUnits = 0;

  /** @param shards partitions per state and priority of the work index; the defaults unless given */
  constructor(time: Pick<VirtualTime, 'now' | 'clock'>, watcher: TableWatcher, shards: number = BASE_SHARDS.work) {
    this.#time = time;
    this.#watcher = watcher;
    this.memory = new MemoryTables(time.clock);
    const { log, retryLog, rows, records } = this.memory;
    this.index = new WorkIndex(time, log, shards);
    watch(log, (log_id, before, after) => this.#changed(log_id, before, after));
    watch(retryLog, (_, __, record) => watcher.recorded(rowOf(record.original_log_id), record));
    this.rows = {
      claim: (...args) => this.#wrote(rows.claim(...args)),
      read: (log_id) => this.#read(1, rows.read(log_id)),
      change: (...args) => this.#wrote(rows.change(...args)),
      settle: (...args) => this.#wrote(rows.settle(...args)),
    };
    this.records = {
      putIfAbsent: (record) => this.#wrote(records.putIfAbsent(record)),
      replace: (...args) => this.#wrote(records.replace(...args)),
      find: (...args) => this.#read(0.5, records.find(...args)),
    };
  }

  get size(): number {
    return this.memory.log.size;
  }

  /** Of all tables and indexes. */
  get units() {
    return { write: this.writeUnits + this.state.units, read: this.readUnits + this.index.readUnits };
  }

  get throttled(): number {
    return [...this.#capacities.values()].reduce((sum, { throttled }) => sum + throttled, 0);
  }

  /** The row and its entries in two indexes. */
  insert(row: NotificationRow): void {
    this.writeUnits += 3;
    this.memory.log.set(row.log_id, { ...row });
  }

  row(row: number): NotificationRow {
    const found = this.memory.row(logIdOf(row));
    if (found === undefined) throw new Error(`There is no row ${row}.`);
    return found;
  }

  /** The records of all attempts of a row. */
  recordsOf({ log_id, last_attempt }: NotificationRow): Stored[] {
    return Array.from({ length: last_attempt + 1 }, (_, attempt) => this.recordOf(log_id, attempt) ?? []).flat();
  }

  recordOf(log_id: string, attempt: number): Stored | undefined {
    const record = this.memory.retryLog.get(retryLogId(log_id, attempt));
    return record && { ...record };
  }

  /** Milliseconds that a write to the row's partition of the work index waits. @throws ThrottledError */
  indexWait(log_id: string): number {
    const queue = this.memory.log.get(log_id)?.['work_queue'];
    return queue === undefined ? 0 : this.wait(String(queue), 1);
  }

  /** Milliseconds that a call to the partition waits. @throws ThrottledError */
  wait(partition: string, units: number): number {
    let capacity = this.#capacities.get(partition);
    if (capacity === undefined) {
      capacity = new Capacity(PARTITION_UNITS);
      this.#capacities.set(partition, capacity);
    }
    return capacity.take(units, this.#time.now);
  }

  /** A write whose condition fails costs as much. */
  #wrote<T>(answer: T): T {
    this.writeUnits += 1;
    return answer;
  }

  #read<T>(units: number, answer: T): T {
    this.readUnits += units;
    return answer;
  }

  #changed(log_id: string, before: Stored | undefined, after: Stored): void {
    const moved = before?.['work_queue'] !== after['work_queue'] || before?.['work_at'] !== after['work_at'];
    if (moved) this.index.changed(log_id);
    if (before === undefined) return;
    for (const { work_queue } of moved ? [before, after] : []) if (work_queue !== undefined) this.writeUnits += 1;
    this.#watcher.written(rowOf(log_id), before, after);
  }
}

/** Tells of each value that is set. */
function watch<V>(map: Map<string, V>, onSet: (key: string, before: V | undefined, after: V) => void): void {
  const set = map.set.bind(map);
  map.set = (key, value) => {
    const before = map.get(key);
    set(key, value);
    onSet(key, before, value);
    return map;
  };
}
