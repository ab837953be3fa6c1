/** Entries of a second, sorted when they are read. Those that have moved on stay until there are too many of them. */
interface Second {
  /** Milliseconds within the second, and row: one number each. */
  entries: number[];
  sorted: boolean;
  gone: number;
}

/** Where a page ended. */
export interface Position {
  readonly at: number;
  readonly row: number;
}

const ROWS = 2 ** 24;
const KEPT_GONE = 64;
const entryOf = ({ at, row }: Position) => (at % 1000) * ROWS + row;

/** A partition of the work index: rows by the time of their work. */
export class WorkPartition {
  readonly #seconds = new Map<number, Second>();
  /** The keys of `#seconds`, ascending. */
  readonly #order: number[] = [];
  readonly #has: (row: number, at: number) => boolean;

  /** @param has whether the index has the row in this partition at this time, in epoch milliseconds */
  constructor(has: (row: number, at: number) => boolean) {
    this.#has = has;
  }

  add(row: number, at: number): void {
    const key = Math.floor(at / 1000);
    let second = this.#seconds.get(key);
    if (second === undefined) {
      second = { entries: [], sorted: true, gone: 0 };
      this.#seconds.set(key, second);
      this.#order.splice(firstFrom(this.#order, key), 0, key);
    }
    second.entries.push(entryOf({ at, row }));
    second.sorted = false;
  }

  /** The row has left the time; its entry is skipped from now on. */
  leave(at: number): void {
    const key = Math.floor(at / 1000);
    const second = this.#seconds.get(key);
    if (second === undefined) return;
    second.gone += 1;
    if (second.gone >= second.entries.length) {
      this.#seconds.delete(key);
      this.#order.splice(firstFrom(this.#order, key), 1);
    } else if (second.gone > KEPT_GONE && second.gone * 2 > second.entries.length) this.#tidy(second, key);
  }

  /** Rows behind the position, oldest first, that are due by `until`; one more than `limit` if there are more. */
  read(after: Position, until: number, limit: number): Position[] {
    const found: Position[] = [];
    const first = Math.floor(after.at / 1000);
    for (let i = firstFrom(this.#order, first); i < this.#order.length && found.length <= limit; i++) {
      const key = this.#order[i] ?? 0;
      if (key * 1000 > until) break;
      const second = this.#seconds.get(key);
      if (second === undefined) continue;
      if (!second.sorted) this.#tidy(second, key);
      const { entries } = second;
      for (let j = key === first ? firstFrom(entries, entryOf(after) + 1) : 0; j < entries.length; j++) {
        if (found.length > limit) break;
        const entry = entries[j] ?? 0;
        const row = entry % ROWS;
        const at = key * 1000 + Math.floor(entry / ROWS);
        if (at <= until && this.#has(row, at)) found.push({ at, row });
      }
    }
    return found;
  }

  #tidy(second: Second, key: number): void {
    const here = second.entries.filter((entry) => this.#has(entry % ROWS, key * 1000 + Math.floor(entry / ROWS)));
    const sorted = Float64Array.from(new Set(here)).sort();
    second.entries = Array.from(sorted);
    second.sorted = true;
    second.gone = 0;
  }
}

/** The first place of an ascending list whose value is not smaller. */
function firstFrom(values: readonly number[], value: number): number {
  let low = 0;
  for (let high = values.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
