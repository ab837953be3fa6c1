import type { DueIndex, WorkPage } from '../../src/core/model/work-index.ts';
import { msOf, textOf } from '../engine/iso-time.ts';
import type { VirtualTime } from '../engine/virtual-time.ts';
import { logIdOf, type RowColumns } from './row-columns.ts';
import { type Position, WorkPartition } from './work-partition.ts';

/** A global index follows its table by so many milliseconds. */
const LAG_MS = 100;
const READ_MS = 8;
const TIDY_AFTER = 4_096;

/** The work index of a simulated NotificationLog: each entry is a moment behind its row. */
export class WorkIndex implements DueIndex {
  readonly #time: VirtualTime;
  readonly #columns: RowColumns;
  readonly #partitions = new Map<string, WorkPartition>();
  /** Where the index has each row: the partition, and the time in epoch milliseconds. */
  readonly #queues: (string | undefined)[] = [];
  readonly #ats: Float64Array;
  /** Rows that have changed, with the time at which the index follows. */
  #behind: { readonly row: number; readonly from: number }[] = [];
  #followed = 0;
  readUnits = 0;

  constructor(time: VirtualTime, columns: RowColumns, size: number) {
    this.#time = time;
    this.#columns = columns;
    this.#ats = new Float64Array(size);
  }

  /** The row's place has changed. */
  changed(row: number): void {
    this.#behind.push({ row, from: this.#time.now + LAG_MS });
    if (this.#behind.length - this.#followed > TIDY_AFTER) this.#follow();
  }

  async shards(): Promise<number> {
    return this.#columns.shards;
  }

  async page(work_queue: string, query: Parameters<DueIndex['page']>[1]): Promise<WorkPage> {
    await this.#time.pause(READ_MS);
    this.#follow();
    const { from, until, limit, after } = query;
    const begin: Position =
      after === undefined
        ? { at: from === undefined ? 0 : msOf(from), row: -1 }
        : { at: Number(after['at']), row: Number(after['row']) };
    const found = this.#partitions.get(work_queue)?.read(begin, msOf(until), limit) ?? [];
    // About 150 bytes per entry, eventually consistent: 8 KB for a unit.
    this.readUnits += Math.max(0.5, Math.ceil((Math.min(found.length, limit) * 150) / 4_096) / 2);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const items = page.map(({ at, row }) => {
      const { tenant_id, channel, priority } = this.#columns.routingOf(row);
      const queued_for = this.#columns.queuedFor(row);
      const work_at = textOf(at);
      const item = { log_id: logIdOf(row), tenant_id, channel, priority, work_at };
      return queued_for === undefined ? item : { ...item, queued_for };
    });
    return { items, ...(found.length > limit && last !== undefined && { next: { at: last.at, row: last.row } }) };
  }

  #follow(): void {
    while (this.#followed < this.#behind.length) {
      const change = this.#behind[this.#followed];
      if (change === undefined || change.from > this.#time.now) break;
      this.#followed += 1;
      this.#move(change.row);
    }
    if (this.#followed > TIDY_AFTER) {
      this.#behind = this.#behind.slice(this.#followed);
      this.#followed = 0;
    }
  }

  #move(row: number): void {
    const [was, wasAt] = [this.#queues[row], this.#ats[row] ?? 0];
    const queue = this.#columns.workQueue(row);
    const at = this.#columns.work_at[row] ?? 0;
    if (was === queue && wasAt === at) return;
    this.#queues[row] = queue;
    this.#ats[row] = at;
    if (was !== undefined) this.#partitions.get(was)?.leave(wasAt);
    if (queue !== undefined) this.#partition(queue).add(row, at);
  }

  #partition(queue: string): WorkPartition {
    const there = this.#partitions.get(queue);
    if (there !== undefined) return there;
    const has = (row: number, at: number) => this.#queues[row] === queue && this.#ats[row] === at;
    const made = new WorkPartition(has);
    this.#partitions.set(queue, made);
    return made;
  }
}
