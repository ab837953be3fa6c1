/** The state of a channel's budgets: named numbers and texts, which several workers change side by side. */
export type Registers = Readonly<Record<string, number | string>>;

/** A condition on a register's value before the change. It fails on an absent register unless `or_absent` is set. */
export interface Guard {
  readonly at_least?: number;
  readonly at_most?: number;
  readonly or_absent?: true;
}

/** One change of one register. */
export type Step = { readonly name: string; readonly guard?: Guard } & (
  | { readonly set: number | string }
  /** Adds to the value, or to `base` if the register is absent. */
  | { readonly add: number; readonly base: number }
  | { readonly remove: true }
);

/** PipelineState, as budgets need it: the registers of each channel. */
export interface PacingStore {
  read(channel: string): Promise<Registers>;
  /**
   * Makes all steps at once, if all guards hold; the names differ.
   * @returns the registers after the change or, when a guard fails, as they are
   */
  change(
    channel: string,
    steps: readonly Step[],
  ): Promise<{ readonly applied: boolean; readonly registers: Registers }>;
}

export function holds(value: number | string | undefined, guard: Guard): boolean {
  if (value === undefined) return guard.or_absent === true;
  const { at_least = Number.NEGATIVE_INFINITY, at_most = Number.POSITIVE_INFINITY } = guard;
  return Number(value) >= at_least && Number(value) <= at_most;
}

/** The registers after the steps; undefined when a guard fails. */
export function applied(registers: Registers, steps: readonly Step[]): Registers | undefined {
  if (steps.some(({ name, guard }) => guard !== undefined && !holds(registers[name], guard))) return undefined;
  const after: Record<string, number | string> = { ...registers };
  for (const step of steps) {
    if ('set' in step) after[step.name] = step.set;
    else if ('add' in step) after[step.name] = Number(registers[step.name] ?? step.base) + step.add;
    else delete after[step.name];
  }
  return after;
}

export function numberIn(registers: Registers, name: string): number | undefined {
  const value = registers[name];
  return typeof value === 'number' ? value : undefined;
}
