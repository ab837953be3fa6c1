import { LANE_SETTINGS } from '../../../lib/config/lane-config.ts';
import { BASE_SHARDS } from '../../../src/core/model/index-shards.ts';
import { type Happening, HOUR, type NamedPipeline, tenants } from './scenario.ts';

const BULK = { normal: 5, info: 2 };
/** As docs/scale-settings.md computes: answers after 300 ms, and 791 ms for CPU at 256 MB and for gathering. */
const SLOW_RECEIVERS = { providers: { webhook: { latency_ms: [300, 300] } }, batch_ms: 791 } as const;
const BATCHES_PER_SECOND = 1 / 1.091;
const BATCH = LANE_SETTINGS.batchSize.standard.webhook.standard;

/** What docs/scale-settings.md computes, simulated. */
export const PEAKS: readonly NamedPipeline[] = [
  {
    name: 'peak-hour',
    describes: 'a million rows of others that one sweep finds, by the settings of docs/scale-settings.md (16 batches)',
    notifications: 1_000_000,
    make: (count) => {
      const standard = Math.max(1, Math.round((count / 1e6) * 16));
      return {
        arrivals: [
          {
            group: 'all',
            tenants: tenants('tenant', 100),
            channel: 'webhook',
            priorities: BULK,
            receivers: 3,
            count,
            from: 1_000,
            until: 1_750,
            by: 'table',
          },
        ],
        ...SLOW_RECEIVERS,
        concurrency: { webhook: { standard } },
        drains: { from: HOUR / 2, per_second: standard * BATCHES_PER_SECOND * BATCH },
      };
    },
  },
  {
    name: 'large-platform',
    describes: 'the peak of 30 million an hour, as long as it lasts, with 21 shards and 460 batches',
    notifications: 250_000,
    make: (count) => platform(count, 21),
  },
  {
    name: 'large-platform-8-shards',
    describes: 'the same with the default number of shards, which it exceeds',
    notifications: 250_000,
    make: (count) => platform(count, BASE_SHARDS.work),
  },
];

/** Notifications of one priority that arrive at 8,333 a second. */
function platform(count: number, indexShards: number): Happening {
  return {
    arrivals: [
      {
        group: 'all',
        tenants: tenants('tenant', 100),
        channel: 'webhook',
        priorities: { normal: 1 },
        receivers: 3,
        count,
        from: 0,
        until: count / (30e6 / HOUR),
        by: 'api',
      },
    ],
    ...SLOW_RECEIVERS,
    concurrency: { webhook: { standard: 460 } },
    indexShards,
  };
}
