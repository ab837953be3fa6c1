import { applied, type PacingStore, type Registers } from '../../core/pacing/registers.ts';

/** The budgets of PipelineState in memory: a twin of the DynamoDB store that gives the same answers. */
export class MemoryPacing {
  readonly channels = new Map<string, Registers>();
  /** Writes so far; a write whose guard fails costs as much as another. */
  writes = 0;

  readonly store: PacingStore = {
    read: async (channel) => this.channels.get(channel) ?? {},

    change: async (channel, steps) => {
      this.writes += 1;
      const before = this.channels.get(channel) ?? {};
      const after = applied(before, steps);
      if (after !== undefined) this.channels.set(channel, after);
      return { applied: after !== undefined, registers: after ?? before };
    },
  };
}
