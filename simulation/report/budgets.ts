import type { Drain } from './drain.ts';
import type { Waits } from './waits.ts';

/** A figure that a scenario must reach. */
interface Budget<F> {
  readonly what: string;
  readonly of: (figures: F) => number;
  readonly at_most?: number;
  readonly at_least?: number;
}

/** The figures that budgets are judged by. */
interface Judged {
  readonly scenario: string;
  readonly notifications: number;
  readonly waits: readonly Waits[];
  readonly drain?: Drain;
  readonly throttled_by_providers: number;
  readonly requests: number;
  readonly late_p99: number;
  readonly share_of_rate?: number;
  readonly throttled_by_tables: number;
  readonly pipeline_state: {
    readonly units_per_request: number;
    readonly hottest: { readonly per_second: number };
  };
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
  'ses-quota': [refused(0.005), writes(0.6)],
  // Workers learn of one another's clocks by the budget: of some hundreds, the first dozen may be refused.
  'redrive-storm-email': [refused(0.02), RATE, writes(0.9)],
  'slack-limit': [
    refused(0.005),
    RATE,
    {
      what: 'p99 until urgent ones are delivered, seconds',
      of: (one) => deliveredP99(one, 'all', 'urgent'),
      at_most: 15,
    },
    writes(1.3),
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

/** The budgets of the scenario (docs/scale.md), and whether they are met. */
export function judgeBudgets(figures: Judged): BudgetResult[] {
  return judge(figures, BUDGETS[figures.scenario] ?? []);
}

export function judge<F>(figures: F, budgets: readonly Budget<F>[]): BudgetResult[] {
  return budgets.map(({ what, of, at_most, at_least }) => {
    const value = of(figures);
    const met = value <= (at_most ?? Number.POSITIVE_INFINITY) && value >= (at_least ?? Number.NEGATIVE_INFINITY);
    return { what, value, ...(at_most !== undefined && { at_most }), ...(at_least !== undefined && { at_least }), met };
  });
}
