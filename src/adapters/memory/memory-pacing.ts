import {
  applied,
  type BudgetReader,
  checkSteps,
  type PacingStore,
  type Registers,
} from '../../core/pacing/registers.ts';

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
