import type { DataKeyStore } from '../../../src/adapters/sealing/data-keys.ts';
import type { Breaker } from '../../../src/core/breaker/breaker.ts';
import type { BreakerStore } from '../../../src/core/breaker/shared-breakers.ts';
import { BASE_SHARDS, type IndexShards, type ShardMark } from '../../../src/core/model/index-shards.ts';
import { nextVersion } from '../../../src/core/model/row-change.ts';
import type { DownProviders } from '../../../src/core/monitor/dead-providers.ts';
import {
  applied,
  type BudgetReader,
  checkSteps,
  type PacingStore,
  type Registers,
} from '../../../src/core/pacing/registers.ts';
import { isAny } from './guards.ts';

/** The breakers of PipelineState in memory: a twin of the DynamoDB store that gives the same answers. */
export class MemoryBreakers {
  readonly breakers = new Map<string, Breaker>();

  readonly store: BreakerStore & DownProviders = {
    list: async () => [...this.breakers.values()],

    first: async (limit) => {
      const breakers = [...this.breakers.values()].slice(0, limit);
      return { breakers, all: breakers.length === this.breakers.size };
    },

    read: async (id) => this.breakers.get(id),

    write: async (breaker) => {
      const stored = this.breakers.get(breaker.id);
      if (!isAny(nextVersion('id', breaker.version), { ...stored })) return false;
      const { express, standard } = breaker.lines;
      const lines = {
        express: { from: express.from, slots: stored?.lines.express.slots ?? 0 },
        standard: { from: standard.from, slots: stored?.lines.standard.slots ?? 0 },
      };
      const { noted: _, ...rest } = breaker;
      this.breakers.set(breaker.id, { ...rest, ...(stored?.noted && { noted: stored.noted }), lines });
      return true;
    },

    note: async (id, noted) => {
      const stored = this.breakers.get(id);
      if (stored !== undefined) this.breakers.set(id, { ...stored, noted });
    },

    takeSlot: async (id, lane) => {
      const stored = this.breakers.get(id);
      if (stored === undefined) return undefined;
      const line = stored.lines[lane];
      const breaker = { ...stored, lines: { ...stored.lines, [lane]: { ...line, slots: line.slots + 1 } } };
      this.breakers.set(id, breaker);
      return { slot: line.slots, breaker };
    },
  };
}

/** The budgets of PipelineState in memory: a twin of the DynamoDB store that gives the same answers. */
export class MemoryPacing {
  /** By id: of a channel, or of one of its receivers. */
  readonly channels = new Map<string, Registers>();
  /** Writes so far; a write whose guard fails costs as much as another. */
  writes = 0;
  readonly writesOf = new Map<string, number>();

  readonly store: PacingStore & BudgetReader = {
    read: async (id) => this.channels.get(id) ?? {},

    receivers: async (channel) =>
      [...this.channels].flatMap(([id, registers]) => (id.startsWith(`${channel}#`) ? [registers] : [])),

    change: async (id, steps) => {
      checkSteps(steps);
      this.writes += 1;
      this.writesOf.set(id, (this.writesOf.get(id) ?? 0) + 1);
      const before = this.channels.get(id) ?? {};
      const after = applied(before, steps);
      if (after !== undefined) this.channels.set(id, after);
      return { applied: after !== undefined, registers: after ?? before };
    },
  };
}

/** ShardMark in memory: a twin of the item in PipelineState, for tests. */
export class MemoryShards implements ShardMark {
  #marked: IndexShards = BASE_SHARDS;

  async read(): Promise<IndexShards> {
    return this.#marked;
  }

  async raise({ work, history }: IndexShards): Promise<IndexShards> {
    this.#marked = { work: Math.max(work, this.#marked.work), history: Math.max(history, this.#marked.history) };
    return this.#marked;
  }
}

/** DataKeys in memory, for tests. */
export function createMemoryDataKeys(): DataKeyStore {
  const keys = new Map<string, Uint8Array>();
  const nameOf = (tenant_id: string, key_id: string) => JSON.stringify([tenant_id, key_id]);
  return {
    find: async (tenant_id, key_id) => keys.get(nameOf(tenant_id, key_id)),
    async add({ tenant_id, key_id }, wrapped) {
      const name = nameOf(tenant_id, key_id);
      const first = keys.get(name);
      if (first === undefined) keys.set(name, Uint8Array.from(wrapped));
      return first;
    },
  };
}
