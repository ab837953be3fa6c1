import type { Channel } from '../../src/core/model/channels.ts';
import { type NewsletterScenario, NO_FAULTS } from './scenarios/newsletter-scenario.ts';
import { PEAKS } from './scenarios/peaks.ts';
import {
  type Arrivals,
  type Happening,
  HOUR,
  type NamedPipeline,
  type Scenario,
  type Titled,
  tenants,
} from './scenarios/scenario.ts';
import { BACKLOGS } from './volume/backlog.ts';
import { FLOOD_OF_DEATHS } from './volume/deaths.ts';
import { EVERYTHING } from './volume/everything.ts';
import { LARGE_MAILING, SHARED_FALLBACK } from './volume/shared-by-many.ts';
import type { NamedVolume } from './volume/volume.ts';

interface NamedNewsletter extends Titled {
  readonly newsletter: (members: number) => Omit<NewsletterScenario, keyof Titled>;
}

export type NamedScenario = NamedPipeline | NamedNewsletter | NamedVolume;

const MIX = { urgent: 1, important: 2, normal: 5, info: 2 };
/** E-mails a second that the account allows in a flood. */
const RATE = 200;
/** E-mails a second of a small account, as SES grants it first. */
const SMALL_RATE = 14;
/** As far apart as AWS's are at most. */
const CLOCKS = [0, 2_500, -2_500, 0, 1_500, 0, 0, -1_000, 0, 0] as const;
const LATENCY = [20, 300] as const;

/** By the API, evenly, from this many tenants. */
const overAnHour = (count: number, channel: Channel, from: number, more: Partial<Arrivals> = {}): Arrivals[] => [
  {
    group: 'all',
    tenants: tenants('tenant', from),
    channel,
    priorities: MIX,
    count,
    from: 0,
    until: HOUR,
    by: 'api',
    ...more,
  },
];

const SCENARIOS: readonly NamedPipeline[] = [
  {
    name: 'steady',
    describes: 'webhooks of 100 tenants over an hour; 2 % fail at first, one worker in 2,000 dies',
    notifications: 1_000_000,
    make: (count) => ({
      arrivals: overAnHour(count, 'webhook', 100, { receivers: 3 }),
      providers: { webhook: { latency_ms: LATENCY, overloaded: 0.02, invalid: 0.001, lost_answers: 0.0005 } },
      concurrency: { webhook: { express: 20, standard: 20 } },
      deaths: 0.0005,
    }),
  },
  {
    name: 'late-schedules',
    describes: 'webhooks of which a third fail at first, while EventBridge is up to three minutes late',
    notifications: 50_000,
    make: (count) => ({
      arrivals: overAnHour(count, 'webhook', 20, { priorities: { normal: 1 } }),
      providers: { webhook: { latency_ms: LATENCY, overloaded: 0.33 } },
      late_ms: 180_000,
    }),
  },
  {
    name: 'outage',
    describes: 'an hour in which SES answers errors; then it takes 280 a second per million, and nothing new arrives',
    notifications: 250_000,
    make: (count) => ({
      arrivals: overAnHour(count, 'email', 100),
      providers: {
        email: {
          latency_ms: [40, 120],
          per_second: count / HOUR,
          refuses: 'as_ses',
          outages: [{ from: 0, until: HOUR, answers: 'errors' }],
        },
      },
      account: { per_second: Math.max(1, (count / 1e6) * 280) },
      concurrency: { email: { express: 20, standard: 20 } },
      drains: { from: HOUR, per_second: Math.max(1, (count / 1e6) * 280) },
    }),
  },
  {
    name: 'noisy-tenant',
    describes: 'one tenant hands over 100,000 urgent webhooks and as many e-mails at once; 100 others go on',
    notifications: 300_000,
    make: (count) => flood(count, { urgent: 1 }, 2 / 3),
  },
  {
    name: 'info-flood',
    describes: 'one tenant hands over 500,000 webhooks and as many e-mails as info at once; 100 others go on',
    notifications: 1_100_000,
    make: (count) => flood(count, { info: 1 }, 10 / 11),
  },
  {
    name: 'slack-limit',
    describes: 'fifty Slack channels get more than one message a second each for half an hour',
    notifications: 120_000,
    make: (count) => ({
      arrivals: overAnHour(count, 'slack', 50, { until: HOUR / 2 }),
      providers: { slack: { latency_ms: [80, 250], per_second: 1, refuses: 'with_retry_after' } },
      perReceiver: ['slack'],
      saturated: { from: 300, until: HOUR / 2, per_second: 50 },
      concurrency: { slack: { express: 10, standard: 10 } },
    }),
  },
  {
    name: 'ses-quota',
    describes: 'the day\u2019s e-mails exceed the quota of the account by a quarter',
    notifications: 100_000,
    make: (count) => ({
      arrivals: overAnHour(count, 'email', 50),
      providers: {
        email: { latency_ms: [40, 120], per_second: 100, per_day: Math.round(count * 0.8), refuses: 'as_ses' },
      },
      account: { per_second: 100, per_day: Math.round(count * 0.8) },
    }),
  },
  {
    name: 'redrive-storm',
    describes: 'webhooks die while their receivers refuse them for good; then an operator redrives all at once',
    notifications: 100_000,
    make: (count) => ({
      arrivals: overAnHour(count, 'webhook', 20, { receivers: 3 }),
      providers: { webhook: { latency_ms: LATENCY, outages: [{ from: 0, until: 2 * HOUR, answers: 'unauthorized' }] } },
      redrives: [2.5 * HOUR],
    }),
  },
  {
    name: 'redrive-storm-email',
    describes: 'e-mails die while SES refuses them for good; then all are redriven, and SES takes 14 a second',
    notifications: 20_000,
    make: (count) => ({
      arrivals: overAnHour(count, 'email', 20),
      providers: {
        email: {
          latency_ms: [40, 120],
          per_second: SMALL_RATE,
          refuses: 'as_ses',
          outages: [{ from: 0, until: 2 * HOUR, answers: 'unauthorized' }],
        },
      },
      account: { per_second: SMALL_RATE },
      clocks: CLOCKS,
      saturated: { from: 2.5 * HOUR + 60, until: 2.5 * HOUR + 1_200, per_second: SMALL_RATE },
      redrives: [2.5 * HOUR],
    }),
  },
  {
    name: 'regional-blackout',
    describes: 'storage and queues refuse every call for twenty minutes, amid webhooks and rows of other programs',
    notifications: 200_000,
    make: (count) => {
      const api = Math.round(count / 2);
      const all = { group: 'all', tenants: tenants('tenant', 50), channel: 'webhook', priorities: MIX } as const;
      return {
        arrivals: [
          { ...all, receivers: 2, count: api, from: 0, until: HOUR, by: 'api' },
          { ...all, group: 'rows', receivers: 2, count: count - api, from: 0, until: HOUR, by: 'table' },
        ],
        providers: { webhook: { latency_ms: LATENCY } },
        blackouts: [{ from: 0.75 * HOUR, until: 0.75 * HOUR + 1_200 }],
        deaths: 0.001,
      };
    },
  },
];

/** A flood of one tenant within a minute, and others who hand over as much as ever until it is over. */
function flood(count: number, priorities: Arrivals['priorities'], share: number): Happening {
  const each = Math.round((count * share) / 2);
  const others = Math.round((count - each * 2) / 2);
  const noisy = { group: 'noisy', tenants: ['noisy'], priorities, from: 120, until: 180, by: 'api' } as const;
  const rest = { tenants: tenants('tenant', 100), priorities: MIX, from: 0, until: 900, by: 'api' } as const;
  return {
    arrivals: [
      { ...noisy, channel: 'webhook', count: each },
      { ...noisy, channel: 'email', count: each },
      { ...rest, group: 'others-webhook', channel: 'webhook', count: others },
      { ...rest, group: 'others-email', channel: 'email', count: count - each * 2 - others },
    ],
    providers: {
      webhook: { latency_ms: LATENCY },
      email: { latency_ms: [40, 120], per_second: RATE, refuses: 'as_ses' },
    },
    account: { per_second: RATE },
  };
}

/**
 * Newsletters may use 70 % of a day's quota, which holds up the last tenth here; then mails go as they leave the last 24
 * hours.
 */
const NEWSLETTER: NamedNewsletter = {
  name: 'newsletter-million',
  describes: 'a newsletter at 280 a second; workers die, answers get lost, the quota of a day ends before it does',
  notifications: 1_000_000,
  newsletter: (members) => ({
    provider: {
      latency_ms: [100, 400],
      per_second: 280,
      per_day: Math.ceil((members * 0.9) / 0.7),
      overloaded: 0.001,
      lost_answers: 0.001,
      transient: 0.0005,
      refused: 0.0005,
    },
    faults: { ...NO_FAULTS, deaths: 0.002, failing: 0.0002 },
    events: { lost: 0.02, bounced: 0.005, complained: 0.0002 },
    unsubscribe_per_minute: 5,
  }),
};

/** So much that no table here holds it: what works on it reads items that are made for it. */
const VOLUMES: readonly NamedVolume[] = [...BACKLOGS, FLOOD_OF_DEATHS, SHARED_FALLBACK, LARGE_MAILING, ...EVERYTHING];

export const CATALOGUE: ReadonlyMap<string, NamedScenario> = new Map(
  [...SCENARIOS, ...PEAKS, NEWSLETTER, ...VOLUMES].map((one) => [one.name, one]),
);

export function scenarioOf({ name, describes, notifications, make }: NamedPipeline, count = notifications): Scenario {
  return { name, describes, notifications: count, ...make(count) };
}

export function newsletterOf(
  { name, describes, notifications, newsletter }: NamedNewsletter,
  count = notifications,
): NewsletterScenario {
  return { name, describes, notifications: count, ...newsletter(count) };
}
