import { START } from '../engine/virtual-time.ts';
import type { SharedItems } from '../models/capacity.ts';
import type { Simulation } from '../models/simulation.ts';
import type { Observer, Waits } from '../pipeline/observer.ts';
import type { World } from '../pipeline/world.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { drainOf, type Held } from './drain.ts';

type Judged = ReturnType<typeof measured>;
export type Wait = Judged['waits'][number];

/** What a simulation showed (one object with --json). */
export type Figures = ReturnType<typeof shown> & {
  /** What all of it cost. */
  readonly cost: Cost;
  readonly budgets: readonly BudgetResult[];
};

/** A figure that a scenario must reach. */
interface Budget<F> {
  readonly what: string;
  readonly of: (figures: F) => number;
  readonly at_most?: number;
  readonly at_least?: number;
}

export interface BudgetResult extends Omit<Budget<never>, 'of'> {
  readonly value: number;
  readonly met: boolean;
}

export const atMost = <F = Judged>(at_most: number, what: string, of: (figures: F) => number): Budget<F> => ({
  what,
  of,
  at_most,
});
export const atLeast = <F = Judged>(at_least: number, what: string, of: (figures: F) => number): Budget<F> => ({
  what,
  of,
  at_least,
});

const waitOf = ({ waits }: Judged, group: string) =>
  waits.find((wait) => wait.group === group && wait.priority === 'urgent');

/** However many notifications another tenant hands over. */
const OTHERS_URGENT = atMost(60, "p99 wait of the others' urgent, seconds", (figures) =>
  Math.max(...['others-webhook', 'others-email'].map((group) => waitOf(figures, group)?.first_p99 ?? 0)),
);

/** The most that a provider refuses for its rate: whoever sends to it first does not know that it is at its limit. */
const refused = (most: number) =>
  atMost(most, 'refused for a rate, share of the requests', (one) => one.throttled_by_providers / one.requests);

const RATE = atLeast(0.95, 'share of the allowed rate', ({ share_of_rate = 0 }) => share_of_rate);

const writes = (most: number) =>
  atMost(most, 'write units on PipelineState per request', ({ pipeline_state }) => pipeline_state.units_per_request);

/** In every scenario: DynamoDB takes 1,000 on one item. */
const HOTTEST = atMost(
  500,
  'write units on one item of PipelineState within a second',
  (one: Pick<Judged, 'pipeline_state'>) => one.pipeline_state.hottest.per_second,
);

const BUDGETS: Readonly<Record<string, readonly Budget<Judged>[]>> = {
  // As late as the look ahead that queues it.
  'late-schedules': [atMost(180, 'p99 of retries after their time, seconds', ({ late_p99 }) => late_p99)],
  'noisy-tenant': [OTHERS_URGENT],
  'info-flood': [OTHERS_URGENT],
  'ses-quota': [refused(0.005), writes(0.18)],
  // Workers learn of one another's clocks by the budget: of some hundreds, one of each of fifteen may be refused.
  'redrive-storm-email': [refused(0.025), RATE, writes(0.5)],
  'slack-limit': [
    ...[refused(0.005), RATE],
    atMost(15, 'p99 until urgent ones are delivered, seconds', (one) => waitOf(one, 'all')?.delivered_p99 ?? 0),
    writes(0.6),
  ],
  'peak-hour': [atMost(48, 'minutes for 99 % of the peak', ({ drain }) => (drain?.seconds_99_percent ?? 0) / 60)],
  'large-platform': [atMost(0, 'calls that tables refused', ({ throttled_by_tables }) => throttled_by_tables)],
  outage: [
    atLeast(0.95, "share of the provider's rate while it drains", ({ drain }) => drain?.share_of_rate ?? 0),
    atMost(
      0.01,
      'expired beyond an ideal drain, share of all',
      ({ drain, notifications }) => ((drain?.expired ?? 0) - (drain?.ideal_expired ?? 0)) / notifications,
    ),
  ],
};

export function judge<F extends Pick<Judged, 'pipeline_state'>>(figures: F, budgets: readonly Budget<F>[]) {
  const judged = [...budgets, HOTTEST].map(({ of, ...budget }): BudgetResult => {
    const value = of(figures);
    const { at_most = Number.POSITIVE_INFINITY, at_least = Number.NEGATIVE_INFINITY } = budget;
    return { ...budget, value, met: value <= at_most && value >= at_least };
  });
  return { ...figures, budgets: judged };
}

interface Shown extends Simulation {
  readonly scenario: { readonly name: string; readonly notifications: number };
  readonly tables: { readonly state: SharedItems };
}

/** @param requests to providers @param throttled_by_providers those that were refused for their rate or quota */
export function shown(world: Shown, requests: number, throttled_by_providers: number) {
  const { scenario, seed, time, auditor, tables, counts } = world;
  const { units, hottest } = tables.state;
  return {
    scenario: scenario.name,
    seed,
    notifications: scenario.notifications,
    simulated_seconds: Math.round((time.now - START.getTime()) / 1000),
    ...auditor.result(),
    throttled_by_providers,
    /** Write units per request, and the most that one item took within a second. */
    pipeline_state: { units_per_request: units / Math.max(1, requests), hottest },
    /** Breakers, workers that died, sweeps that failed. */
    events: counts,
  };
}

export function figuresOf(world: World, held: Held | undefined) {
  const figures = measured(world, held);
  return judge(figures, BUDGETS[figures.scenario] ?? []);
}

function measured(world: World, held: Held | undefined) {
  const { scenario, observer, tables } = world;
  const { requests, late, ends, finished, samples } = observer;
  return {
    ...shown(world, requests, world.throttledByProviders),
    /** How the notifications ended, by reason; `open` are not at their end. */
    ends,
    open: tables.size - finished,
    waits: waitsOf(observer),
    ...(held !== undefined && scenario.drains !== undefined && { drain: drainOf(world, held, scenario.drains) }),
    requests,
    /** Seconds from the time of a retry to its request. */
    late_p99: Math.round(late.percentile(0.99)) / 1000,
    /** What was accepted of what all receivers together take, where they always had more. */
    ...(scenario.saturated && { share_of_rate: shareOf(scenario.saturated, world.bySecond) }),
    /** Calls that a partition of DynamoDB refused. */
    throttled_by_tables: tables.throttled,
    cost: costOf(world, tables.units, tables.size),
    samples,
  };
}

function shareOf({ from, until, per_second }: NonNullable<Scenario['saturated']>, accepted: readonly number[]): number {
  const all = accepted.slice(from, until).reduce((sum = 0, count = 0) => sum + count, 0);
  return all / ((until - from) * per_second);
}

/** By group and priority, in seconds since they were handed over: until the first request, and until a receiver accepted. */
function waitsOf({ first, delivered }: Observer) {
  return [...first].map(([name, waits]) => {
    const [group = '', priority = ''] = name.split(' ');
    const until = delivered.get(name);
    const [first_p50, first_p99, first_max] = percentiles(waits);
    const [delivered_p50, delivered_p99, delivered_max] = percentiles(until);
    const sent = { group, priority, sent: waits.count, first_p50, first_p99, first_max };
    return { ...sent, delivered: until?.count ?? 0, delivered_p50, delivered_p99, delivered_max };
  });
}

function percentiles(waits?: Waits) {
  const of = (share: number) => Math.round(waits?.percentile(share) ?? 0) / 1000;
  return [of(0.5), of(0.99), of(1)] as const;
}

/** US dollars per million, in us-east-1 (docs/reference/costs.md). */
const PER_MILLION = {
  write_units: 0.625,
  read_units: 0.125,
  sqs_requests: 0.4,
  lambda_requests: 0.2,
  lambda_gb_seconds: 13.3334,
};
type Used = Readonly<Record<keyof typeof PER_MILLION, number>>;

export interface Cost extends Used {
  readonly usd: number;
  readonly usd_per_million_notifications: number;
}

/** What the simulated calls cost; the API, logs and the provider are not part of it. */
export function costOf(
  world: Pick<Simulation, 'sources' | 'allQueues'>,
  units: { readonly write: number; readonly read: number },
  sent: number,
): Cost {
  const { sources } = world;
  const used: Used = {
    write_units: units.write,
    read_units: Math.ceil(units.read),
    // Lambda's pollers receive, and delete what the function has handled.
    sqs_requests: world.allQueues().reduce((sum, { requests }) => sum + requests, 0),
    lambda_requests: sources.reduce((sum, { invocations }) => sum + invocations, 0),
    lambda_gb_seconds: Math.ceil(sources.reduce((sum, { gb_seconds }) => sum + gb_seconds, 0)),
  };
  const prices = Object.entries(PER_MILLION) as [keyof Used, number][];
  const usd = prices.reduce((sum, [name, price]) => sum + (used[name] * price) / 1e6, 0);
  return { ...used, usd, usd_per_million_notifications: (usd / Math.max(1, sent)) * 1e6 };
}
