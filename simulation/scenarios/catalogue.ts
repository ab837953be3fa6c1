import { HOUR, type Scenario, tenants } from './scenario.ts';

export interface NamedScenario {
  readonly name: string;
  readonly describes: string;
  /** Notifications unless the command line says otherwise. */
  readonly notifications: number;
  readonly make: (notifications: number) => Omit<Scenario, 'name' | 'describes' | 'notifications'>;
}

const MIX = { urgent: 1, important: 2, normal: 5, info: 2 };
const LATENCY = [20, 300] as const;

const SCENARIOS: readonly NamedScenario[] = [
  {
    name: 'steady',
    describes: 'webhooks of 100 tenants over an hour; 2 % fail at first, one worker in 2,000 dies',
    notifications: 1_000_000,
    make: (count) => ({
      arrivals: [
        {
          ...{ group: 'all', tenants: tenants('tenant', 100), channel: 'webhook', priorities: MIX, receivers: 3 },
          ...{ count, from: 0, until: HOUR, by: 'api' },
        },
      ],
      providers: { webhook: { latency_ms: LATENCY, overloaded: 0.02, invalid: 0.001, lost_answers: 0.0005 } },
      concurrency: { webhook: { express: 20, standard: 20 } },
      deaths: 0.0005,
    }),
  },
  {
    name: 'outage',
    describes: 'an hour in which SES answers errors; then it takes 280 a second, and nothing new arrives',
    notifications: 1_000_000,
    make: (count) => ({
      arrivals: [
        {
          ...{ group: 'all', tenants: tenants('tenant', 100), channel: 'email', priorities: MIX },
          ...{ count, from: 0, until: HOUR, by: 'api' },
        },
      ],
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
    describes: 'one tenant hands over a tenth of all as urgent at once, by webhook and e-mail; 100 others go on',
    notifications: 300_000,
    make: (count) => {
      const noisy = Math.round(count / 3);
      const others = Math.round((count - noisy * 2) / 2);
      const flood = { group: 'noisy', tenants: ['noisy'], priorities: { urgent: 1 }, from: 300, until: 360 };
      const rest = { group: 'others', tenants: tenants('tenant', 100), priorities: MIX, from: 0, until: HOUR };
      return {
        arrivals: [
          { ...flood, channel: 'webhook', count: noisy, by: 'api' },
          { ...flood, channel: 'email', count: noisy, by: 'api' },
          { ...rest, channel: 'webhook', count: others, by: 'api' },
          { ...rest, channel: 'email', count: count - noisy * 2 - others, by: 'api' },
        ],
        providers: {
          webhook: { latency_ms: LATENCY },
          email: { latency_ms: [40, 120], per_second: 200, refuses: 'as_ses' },
        },
        account: { per_second: 200 },
      };
    },
  },
];

export const CATALOGUE: ReadonlyMap<string, NamedScenario> = new Map(SCENARIOS.map((one) => [one.name, one]));

export function scenarioOf({ name, describes, notifications, make }: NamedScenario, count = notifications): Scenario {
  return { name, describes, notifications: count, ...make(count) };
}
