import type { Channel } from '../../../src/core/model/channels.ts';
import type { DueIndex, WorkPage } from '../../../src/core/model/work-index.ts';
import { readEntries } from '../../../src/core/model/work-rules.ts';

/** Milliseconds by which a global index follows its table. */
const LAG_MS = 100;
const TIDY_AFTER = 4_096;

/** Where the index has a row. An entry that is not the row's present one has left the index. */
interface Entry {
  readonly log_id: string;
  readonly queue: string;
  readonly at: string;
}

type Log = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** The work index of a simulated NotificationLog: each entry is a moment behind its row. */
export class WorkIndex implements DueIndex {
  readonly #time: { readonly now: number };
  readonly #log: Log;
  readonly #shards: number;
  readonly #partitions = new Map<string, Partition>();
  readonly #entries = new Map<string, Entry>();
  /** Rows that have changed, with the time at which the index follows. */
  #behind: { readonly log_id: string; readonly from: number }[] = [];
  #followed = 0;
  readUnits = 0;

  constructor(time: { readonly now: number }, log: Log, shards: number) {
    this.#time = time;
    this.#log = log;
    this.#shards = shards;
  }

  /** The row's place has changed. */
  changed(log_id: string): void {
    this.#behind.push({ log_id, from: this.#time.now + LAG_MS });
    if (this.#behind.length - this.#followed > TIDY_AFTER) this.#follow();
  }

  async shards(): Promise<number> {
    return this.#shards;
  }

  async page(
    work_queue: string,
    { from = '', until, limit, after, channels }: Parameters<DueIndex['page']>[1],
  ): Promise<WorkPage> {
    this.#follow();
    const begin =
      after === undefined ? { at: from, log_id: '' } : { at: String(after['at']), log_id: String(after['log_id']) };
    const found = this.#partitions.get(work_queue)?.read(begin, until, limit) ?? [];
    // About 150 bytes per entry, eventually consistent: 8 KB for a unit.
    this.readUnits += Math.max(0.5, Math.ceil((Math.min(found.length, limit) * 150) / 4_096) / 2);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const entries = page.flatMap(({ log_id, at }) => {
      const { tenant_id, channel, priority, queued_for } = this.#log.get(log_id) ?? {};
      if (channels?.includes(channel as Channel) === false) return [];
      return [{ log_id, tenant_id, channel, priority, work_at: at, ...(queued_for !== undefined && { queued_for }) }];
    });
    const next = found.length > limit && last !== undefined ? { at: last.at, log_id: last.log_id } : undefined;
    return { ...readEntries(work_queue, entries, until), ...(next && { next }) };
  }

  #follow(): void {
    while (this.#followed < this.#behind.length) {
      const change = this.#behind[this.#followed];
      if (change === undefined || change.from > this.#time.now) break;
      this.#followed += 1;
      this.#move(change.log_id);
    }
    if (this.#followed > TIDY_AFTER) {
      this.#behind = this.#behind.slice(this.#followed);
      this.#followed = 0;
    }
  }

  #move(log_id: string): void {
    const was = this.#entries.get(log_id);
    const { work_queue, work_at } = this.#log.get(log_id) ?? {};
    if (was?.queue === work_queue && was?.at === work_at) return;
    this.#entries.delete(log_id);
    if (was !== undefined) this.#partitions.get(was.queue)?.leave();
    if (work_queue === undefined) return;
    const entry = { log_id, queue: String(work_queue), at: String(work_at) };
    this.#entries.set(log_id, entry);
    this.#partition(entry.queue).add(entry);
  }

  #partition(queue: string): Partition {
    const partition =
      this.#partitions.get(queue) ?? new Partition((entry) => this.#entries.get(entry.log_id) === entry);
    this.#partitions.set(queue, partition);
    return partition;
  }
}

type Position = Pick<Entry, 'at' | 'log_id'>;

/** The entries of a partition, oldest first: most come at the end. Those that have left go when they are the greater part. */
class Partition {
  readonly #isThere: (entry: Entry) => boolean;
  #entries: Entry[] = [];
  #left = 0;

  constructor(isThere: (entry: Entry) => boolean) {
    this.#isThere = isThere;
  }

  add(entry: Entry): void {
    this.#entries.splice(this.#placeOf(entry), 0, entry);
  }

  leave(): void {
    this.#left += 1;
    if (this.#left <= TIDY_AFTER || this.#left * 2 < this.#entries.length) return;
    this.#entries = this.#entries.filter(this.#isThere);
    this.#left = 0;
  }

  /** Entries behind the position, oldest first, that are due by `until`; one more than `limit` if there are more. */
  read(after: Position, until: string, limit: number): Entry[] {
    const first = this.#entries.findIndex(this.#isThere);
    this.#left -= this.#entries.splice(0, first < 0 ? this.#entries.length : first).length;
    const found: Entry[] = [];
    for (let i = this.#placeOf(after); found.length <= limit; i++) {
      const entry = this.#entries[i];
      if (entry === undefined || entry.at > until) break;
      if (this.#isThere(entry)) found.push(entry);
    }
    return found;
  }

  /** The first place behind the position. */
  #placeOf(position: Position): number {
    let low = 0;
    for (let high = this.#entries.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (compare(this.#entries[middle] ?? position, position) > 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function compare(a: Position, b: Position): number {
  if (a.at !== b.at) return a.at < b.at ? -1 : 1;
  return a.log_id === b.log_id ? 0 : a.log_id < b.log_id ? -1 : 1;
}
