import type { AuditResult } from '../audit/auditor.ts';
import { START } from '../engine/start.ts';
import type { Sample } from '../pipeline/observer.ts';
import type { World } from '../pipeline/world.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { type BudgetResult, judgeBudgets } from './budgets.ts';
import { type Cost, costOf } from './cost.ts';
import { type Drain, drainOf, type Held } from './drain.ts';
import { type Waits, waitsOf } from './waits.ts';

/** What a simulation showed (one object with --json). */
export interface Figures extends AuditResult {
  readonly scenario: string;
  readonly seed: number;
  readonly notifications: number;
  readonly simulated_seconds: number;
  /** How the notifications ended, by reason; `open` are not at their end. */
  readonly ends: Readonly<Record<string, number>>;
  readonly open: number;
  readonly waits: readonly Waits[];
  readonly drain?: Drain;
  /** Requests that providers refused for their rate or quota. */
  readonly throttled_by_providers: number;
  readonly requests: number;
  /** Seconds from the time of a retry to its request. */
  readonly late_p99: number;
  /** What was accepted of what all receivers together take, where they always had more. */
  readonly share_of_rate?: number;
  /** Calls that a partition of DynamoDB refused. */
  readonly throttled_by_tables: number;
  /** Write units on PipelineState per request to a provider, and the most that one item took within a second. */
  readonly pipeline_state: {
    readonly units_per_request: number;
    readonly hottest: { item: string; per_second: number };
  };
  /** Breakers, workers that died, sweeps that failed. */
  readonly events: Readonly<Record<string, number>>;
  readonly cost: Cost;
  readonly budgets: readonly BudgetResult[];
  readonly samples: readonly Sample[];
}

export function figuresOf(world: World, seed: number, held: Held | undefined): Figures {
  const { scenario, observer, auditor, tables, time } = world;
  const figures = {
    scenario: scenario.name,
    seed,
    notifications: tables.size,
    simulated_seconds: Math.round((time.now - START.getTime()) / 1000),
    ends: observer.ends,
    open: tables.size - observer.finished,
    waits: waitsOf(observer),
    ...(held !== undefined && scenario.drains !== undefined && { drain: drainOf(world, held, scenario.drains) }),
    ...auditor.result(),
    throttled_by_providers: world.throttledByProviders,
    requests: observer.requests,
    late_p99: Math.round(observer.late.percentile(0.99)) / 1000,
    ...(scenario.saturated && { share_of_rate: shareOf(scenario.saturated, observer.bySecond) }),
    throttled_by_tables: tables.throttled,
    pipeline_state: { units_per_request: tables.stateUnits / Math.max(1, observer.requests), hottest: tables.hottest },
    events: world.counts,
    cost: costOf(world),
    samples: observer.samples,
  };
  return { ...figures, budgets: judgeBudgets(figures) };
}

function shareOf({ from, until, per_second }: NonNullable<Scenario['saturated']>, accepted: readonly number[]): number {
  const all = accepted.slice(from, until).reduce((sum = 0, count = 0) => sum + count, 0);
  return all / ((until - from) * per_second);
}
