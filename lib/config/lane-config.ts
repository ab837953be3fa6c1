import { CHANNELS, LANES, type PerLane, perChannel } from '../../src/core/model/channels.ts';
import type { Settings } from './setting-types.ts';

/** A value for both lanes of each channel. */
const same = (value: number): PerLane<number> => perChannel(() => ({ express: value, standard: value }));

/**
 * Concurrent batches per lane. Slack accepts about one message per second and channel, Teams four, so
 * more than two, Lambda's minimum, would only collect refusals. The account's SES rate bounds e-mail; courtesy to receivers
 * bounds webhooks.
 */
const DEFAULT_CONCURRENCY: PerLane<number> = {
  ...same(2),
  email: { express: 10, standard: 5 },
  webhook: { express: 20, standard: 10 },
};

/**
 * Seconds. Urgent mail waits for no other; elsewhere a batch also shows sooner that its receiver is down
 * (docs/decisions/aws/lanes-and-functions.md#0191).
 */
const DEFAULT_WINDOW: PerLane<number> = { ...same(1), email: { express: 0, standard: 1 } };

/** A batch that Lambda receives at once: ten messages per call of SQS. */
const RECEIVED_AT_ONCE = 10;

/** 25 claims are one call to DynamoDB. In the other lanes urgency or the provider's rate comes first. */
const DEFAULT_BATCH: PerLane<number> = { ...same(RECEIVED_AT_ONCE), webhook: { express: 10, standard: 25 } };

/** What the event sources of the lanes are set to. */
export const LANE_SETTINGS = {
  /** Simultaneous batches, express/standard. @ja バッチの同時実行数（express/standard） */
  concurrency: { from: 2, to: 1000, unit: 'concurrent batches', whole: true, standard: DEFAULT_CONCURRENCY },
  // 50 webhooks with bodies of 256 KB take 220 of 256 MB, 100 would take 310 (npm run bench -- --only memory).
  /**
   * Most notifications per [batch](docs/decisions/aws/lanes-and-functions.md#0148).
   * @ja 1 [バッチ](docs/decisions/aws/lanes-and-functions.md#0148)あたりの最大件数
   */
  batchSize: { from: 1, to: 50, unit: 'notifications', whole: true, standard: DEFAULT_BATCH },
  /**
   * Seconds that Lambda waits for a full batch; at least 1 for batches of more than ten.
   * @ja バッチが埋まるのを待つ秒数。10 件を超えるバッチでは 1 以上
   */
  batchWindowSeconds: { from: 0, to: 20, unit: 'seconds', whole: true, standard: DEFAULT_WINDOW },
} as const satisfies Settings;

/** The first lane whose batch Lambda would refuse, because it takes several receives and thus a window. */
export function laneWithoutWindow({
  batchSize,
  batchWindowSeconds,
}: Readonly<Record<'batchSize' | 'batchWindowSeconds', PerLane<number>>>): string | undefined {
  return CHANNELS.flatMap((channel) =>
    LANES.filter((lane) => batchSize[channel][lane] > RECEIVED_AT_ONCE && batchWindowSeconds[channel][lane] === 0).map(
      (lane) => `${channel}.${lane}`,
    ),
  )[0];
}
