import type { Stored } from '../../src/core/verify/rules/row-rules.ts';
import type { VerifyDeps, VerifyPorts } from '../../src/core/verify/verification.ts';
import { at } from './rows.ts';

export const PAGE = 2;

/** A table in four segments, whose clock only pauses advance; `onRead` is what happens meanwhile. */
export class VerifiedTables {
  readonly rows = new Map<string, Stored>();
  readonly contents: Stored[] = [];
  readonly records = new Map<string, Stored[]>();
  now = 0;
  reads = 0;
  onRead = () => {};
  onRecords = () => {};

  put(...rows: readonly Stored[]): void {
    for (const row of rows) this.rows.set(String(row['log_id']), row);
  }

  #page(all: readonly Stored[], segment: number, after: unknown) {
    this.reads += 1;
    const own = all.filter((_, i) => i % 4 === segment);
    const from = Number((after as { from?: number } | null)?.from ?? 0);
    const items = own.slice(from, from + PAGE);
    this.onRead();
    return { items, read_units: 1, ...(from + PAGE < own.length && { next: { from: from + PAGE } }) };
  }

  deps(changes: Partial<VerifyDeps> = {}): VerifyDeps {
    const ports: VerifyPorts = {
      rows: {
        page: async (segment, after) => this.#page([...this.rows.values()], segment, after),
        read: async (log_ids) => {
          const items = log_ids.map((log_id) => this.rows.get(log_id)).filter((one) => one !== undefined);
          return { items, read_units: log_ids.length };
        },
      },
      contents: { page: async (segment, after) => this.#page(this.contents, segment, after) },
      records: async (log_id) => {
        const items = this.records.get(log_id) ?? [];
        this.onRecords();
        return { items, read_units: 1 };
      },
      letters: {
        channels: [],
        counts: async () => ({ letters: 0, on_the_way: 0 }),
        async *dead() {},
        async *walk() {},
      },
    };
    return {
      ports,
      terms: async () => ({ shards: 8 }),
      clock: () => at(this.now),
      pause: async (ms) => {
        this.now += ms;
      },
      random: () => 0.5,
      rate: 1_000,
      isStopping: () => false,
      ...changes,
    };
  }
}
