import type { Breaker } from '../../core/breaker/breaker.ts';
import type { BreakerStore } from '../../core/breaker/shared-breakers.ts';

/** The breakers of PipelineState in memory: a twin of the DynamoDB store that gives the same answers. */
export class MemoryBreakers {
  readonly breakers = new Map<string, Breaker>();

  readonly store: BreakerStore = {
    list: async () => [...this.breakers.values()],

    first: async (limit) => {
      const breakers = [...this.breakers.values()].slice(0, limit);
      return { breakers, all: breakers.length === this.breakers.size };
    },

    read: async (id) => this.breakers.get(id),

    write: async (breaker) => {
      const stored = this.breakers.get(breaker.id);
      if (stored !== undefined && stored.version !== breaker.version - 1) return false;
      const { express, standard } = breaker.lines;
      const lines = {
        express: { from: express.from, slots: stored?.lines.express.slots ?? 0 },
        standard: { from: standard.from, slots: stored?.lines.standard.slots ?? 0 },
      };
      this.breakers.set(breaker.id, { ...breaker, lines });
      return true;
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
