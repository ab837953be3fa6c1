import type { Clock } from '../model/time.ts';

/** The state of a channel's budgets: named numbers and texts, which several workers change side by side. */
export type Registers = Readonly<Record<string, number | string>>;

/** A condition on a register's value before the change. It fails on an absent register unless `or_absent` is set. */
export interface Guard {
  readonly at_least?: number;
  readonly at_most?: number;
  readonly or_absent?: true;
}

export type Step = { readonly name: string; readonly guard?: Guard } & (
  | { readonly set: number | string }
  /** Adds to the value, or to `base` if the register is absent. */
  | { readonly add: number; readonly base: number }
  | { readonly remove: true }
);

/**
 * DynamoDB takes 300 operators and 4 KB per expression; a condition needs five operators and up to 65 characters per step.
 * A longer change is a mistake of ours: it would be refused on AWS alone.
 */
export const MOST_STEPS = 50;

/** PipelineState, as budgets need it: the registers of the channel of e-mail, or of one receiver of another channel. */
export interface PacingStore {
  read(id: string): Promise<Registers>;
  /**
   * Makes all steps at once, if all guards hold; the names differ, and there are at most MOST_STEPS.
   * @returns the registers after the change or, when a guard fails, as they are
   */
  change(id: string, steps: readonly Step[]): Promise<{ readonly applied: boolean; readonly registers: Registers }>;
}

/** For those who only look. */
export interface BudgetReader extends Pick<PacingStore, 'read'> {
  /** The registers of all receivers of the channel that were reserved for lately. */
  receivers(channel: string): Promise<readonly Registers[]>;
}

function holds(value: number | string | undefined, guard: Guard): boolean {
  if (value === undefined) return guard.or_absent === true;
  const { at_least = Number.NEGATIVE_INFINITY, at_most = Number.POSITIVE_INFINITY } = guard;
  return Number(value) >= at_least && Number(value) <= at_most;
}

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

/** @throws Error for a change that DynamoDB would refuse */
export function checkSteps(steps: readonly Step[]): void {
  if (steps.length > MOST_STEPS)
    throw new Error(`A change of a budget has ${steps.length} steps; at most ${MOST_STEPS} fit.`);
}

/**
 * The time that all workers of a budget go by: that of the worker whose clock is furthest ahead. If each went by its own
 * clock, one that is ahead would give itself slots that the others find too far away, for as long as it works.
 */
export class SharedClock {
  readonly #clock: Clock;
  /** Milliseconds by which this worker's clock is behind. */
  #behind = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Epoch milliseconds by which slots are planned. */
  now(): number {
    return this.#own() + this.#behind;
  }

  /** A planned time by this worker's own clock. */
  own(at: number): number {
    return at - this.#behind;
  }

  /** A time of this worker's own clock as it is planned. */
  shared(at: number): number {
    return at + this.#behind;
  }

  /** What is read is a moment old, so no clock is ever driven ahead by this. */
  learn(registers: Registers): void {
    this.#behind = Math.max(this.#behind, (numberIn(registers, 'clock') ?? 0) - this.#own());
  }

  #own(): number {
    return this.#clock().getTime();
  }
}

/** Tells the others by which time a change was planned. */
export const clockStep = (now: number): Step => ({ name: 'clock', set: now });
