import { START } from '../engine/virtual-time.ts';
import type { Observer } from '../pipeline/observer.ts';
import type { World } from '../pipeline/world.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { costOf } from './cost.ts';
import { drainOf, type Held } from './drain.ts';

type Judged = ReturnType<typeof measured>;

/** What a simulation showed (one object with --json). */
export type Figures = Judged & { readonly budgets: readonly BudgetResult[] };

/** A figure that a scenario must reach. */
interface Budget<F> {
  readonly what: string;
  readonly of: (figures: F) => number;
  readonly at_most?: number;
  readonly at_least?: number;
}

export interface BudgetResult {
  readonly what: string;
  readonly value: number;
  readonly at_most?: number;
  readonly at_least?: number;
  readonly met: boolean;
}

const firstP99 = ({ waits }: Judged, group: string, priority: string) =>
  waits.find((wait) => wait.group === group && wait.priority === priority)?.first_p99 ?? 0;

const deliveredP99 = ({ waits }: Judged, group: string, priority: string) =>
  waits.find((wait) => wait.group === group && wait.priority === priority)?.delivered_p99 ?? 0;

/** However many notifications another tenant hands over. */
const OTHERS_URGENT: Budget<Judged> = {
  what: "p99 wait of the others' urgent, seconds",
  of: (figures) => Math.max(firstP99(figures, 'others-webhook', 'urgent'), firstP99(figures, 'others-email', 'urgent')),
  at_most: 60,
};

/** The most that a provider refuses for its rate: whoever sends to it first does not know that it is at its limit. */
const refused = (at_most: number): Budget<Judged> => ({
  what: 'refused for a rate, share of the requests',
  of: ({ throttled_by_providers, requests }) => throttled_by_providers / requests,
  at_most,
});

const HOTTEST: Budget<Judged> = {
  what: 'write units on one item of PipelineState within a second',
  of: ({ pipeline_state }) => pipeline_state.hottest.per_second,
  at_most: 500,
};

const RATE: Budget<Judged> = {
  what: 'share of the allowed rate',
  of: ({ share_of_rate = 0 }) => share_of_rate,
  at_least: 0.95,
};

const writes = (at_most: number): Budget<Judged> => ({
  what: 'write units on PipelineState per request',
  of: ({ pipeline_state }) => pipeline_state.units_per_request,
  at_most,
});

const BUDGETS: Readonly<Record<string, readonly Budget<Judged>[]>> = {
  // As late as the look ahead that queues it.
  'late-schedules': [
    { what: 'p99 of retries after their time, seconds', of: ({ late_p99 }) => late_p99, at_most: 180 },
  ],
  'noisy-tenant': [OTHERS_URGENT],
  'info-flood': [OTHERS_URGENT],
  'ses-quota': [refused(0.005), writes(0.18)],
  // Workers learn of one another's clocks by the budget: of some hundreds, one of each of fifteen may be refused.
  'redrive-storm-email': [refused(0.025), RATE, writes(0.5)],
  'slack-limit': [
    refused(0.005),
    RATE,
    {
      what: 'p99 until urgent ones are delivered, seconds',
      of: (one) => deliveredP99(one, 'all', 'urgent'),
      at_most: 15,
    },
    writes(0.6),
    HOTTEST,
  ],
  'peak-hour': [
    { what: 'minutes for 99 % of the peak', of: ({ drain }) => (drain?.seconds_99_percent ?? 0) / 60, at_most: 48 },
  ],
  'large-platform': [
    { what: 'calls that tables refused', of: ({ throttled_by_tables }) => throttled_by_tables, at_most: 0 },
  ],
  outage: [
    {
      what: "share of the provider's rate while it drains",
      of: ({ drain }) => drain?.share_of_rate ?? 0,
      at_least: 0.95,
    },
    {
      what: 'expired beyond an ideal drain, share of all',
      of: ({ drain, notifications }) => ((drain?.expired ?? 0) - (drain?.ideal_expired ?? 0)) / notifications,
      at_most: 0.01,
    },
  ],
};

export function judge<F>(figures: F, budgets: readonly Budget<F>[]): BudgetResult[] {
  return budgets.map(({ what, of, at_most, at_least }) => {
    const value = of(figures);
    const met = value <= (at_most ?? Number.POSITIVE_INFINITY) && value >= (at_least ?? Number.NEGATIVE_INFINITY);
    return { what, value, ...(at_most !== undefined && { at_most }), ...(at_least !== undefined && { at_least }), met };
  });
}

export function figuresOf(world: World, seed: number, held: Held | undefined): Figures {
  const figures = measured(world, seed, held);
  return { ...figures, budgets: judge(figures, BUDGETS[figures.scenario] ?? []) };
}

function measured(world: World, seed: number, held: Held | undefined) {
  const { scenario, observer, auditor, tables, time } = world;
  return {
    scenario: scenario.name,
    seed,
    notifications: tables.size,
    simulated_seconds: Math.round((time.now - START.getTime()) / 1000),
    /** How the notifications ended, by reason; `open` are not at their end. */
    ends: observer.ends,
    open: tables.size - observer.finished,
    waits: waitsOf(observer),
    ...(held !== undefined && scenario.drains !== undefined && { drain: drainOf(world, held, scenario.drains) }),
    ...auditor.result(),
    /** Requests that providers refused for their rate or quota. */
    throttled_by_providers: world.throttledByProviders,
    requests: observer.requests,
    /** Seconds from the time of a retry to its request. */
    late_p99: Math.round(observer.late.percentile(0.99)) / 1000,
    /** What was accepted of what all receivers together take, where they always had more. */
    ...(scenario.saturated && { share_of_rate: shareOf(scenario.saturated, observer.bySecond) }),
    /** Calls that a partition of DynamoDB refused. */
    throttled_by_tables: tables.throttled,
    /** Write units on PipelineState per request to a provider, and the most that one item took within a second. */
    pipeline_state: { units_per_request: tables.stateUnits / Math.max(1, observer.requests), hottest: tables.hottest },
    /** Breakers, workers that died, sweeps that failed. */
    events: world.counts,
    cost: costOf(world),
    samples: observer.samples,
  };
}

function shareOf({ from, until, per_second }: NonNullable<Scenario['saturated']>, accepted: readonly number[]): number {
  const all = accepted.slice(from, until).reduce((sum = 0, count = 0) => sum + count, 0);
  return all / ((until - from) * per_second);
}

export type Waits = ReturnType<typeof waitsOf>[number];

/** By group and priority, in seconds since they were handed over: until the first request, and until a receiver accepted. */
function waitsOf(observer: Observer) {
  return [...observer.first].map(([name, first]) => {
    const [group = '', priority = ''] = name.split(' ');
    const delivered = observer.delivered.get(name);
    return {
      group,
      priority,
      sent: first.count,
      first_p50: seconds(first.percentile(0.5)),
      first_p99: seconds(first.percentile(0.99)),
      first_max: seconds(first.max),
      delivered: delivered?.count ?? 0,
      delivered_p50: seconds(delivered?.percentile(0.5)),
      delivered_p99: seconds(delivered?.percentile(0.99)),
      delivered_max: seconds(delivered?.max),
    };
  });
}

const seconds = (ms = 0) => Math.round(ms) / 1000;
