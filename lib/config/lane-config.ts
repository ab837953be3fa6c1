import * as v from 'valibot';
import { CHANNELS, LANES, type PerLane } from '../../src/core/model/channels.ts';
import { sectionOf, wholeBetween } from './config-checks.ts';

/** A value for both lanes of each channel. */
function same(value: number): PerLane<number> {
  const both = { express: value, standard: value };
  return { email: both, slack: both, teams: both, webhook: both };
}

/**
 * Concurrent batches per lane. Slack accepts about one message per second and channel, Teams four, so
 * more than Lambda's minimum would only collect refusals. The account's SES rate bounds e-mail; courtesy to receivers
 * bounds webhooks.
 */
const DEFAULT_CONCURRENCY: PerLane<number> = {
  email: { express: 10, standard: 5 },
  slack: { express: 2, standard: 2 },
  teams: { express: 2, standard: 2 },
  webhook: { express: 20, standard: 10 },
};

/**
 * Seconds. Urgent mail waits for no other; elsewhere a batch also shows sooner that its receiver is down
 * (docs/decisions/aws/lanes-and-functions.md#0191).
 */
const DEFAULT_WINDOW: PerLane<number> = { ...same(1), email: { express: 0, standard: 1 } };

/** A batch that Lambda receives at once: ten messages per call of SQS. */
const RECEIVED_AT_ONCE = 10;

const perLane = (schema: v.GenericSchema<number>, standard: PerLane<number>) =>
  v.optional(
    sectionOf(CHANNELS, (channel) =>
      v.optional(
        sectionOf(LANES, (lane) => v.optional(schema, standard[channel][lane])),
        {},
      ),
    ),
    {},
  );

/** What the event sources of the lanes are set to. */
export const LANE_KEYS = {
  concurrency: perLane(wholeBetween(2, 1000, 'concurrent batches'), DEFAULT_CONCURRENCY),
  // 100 bodies of 256 KB take 26 of 256 MB, and a batch's posts leave side by side
  // (docs/decisions/aws/lanes-and-functions.md#0148).
  batchSize: perLane(wholeBetween(1, 100, 'notifications'), same(RECEIVED_AT_ONCE)),
  batchWindowSeconds: perLane(wholeBetween(0, 20, 'seconds'), DEFAULT_WINDOW),
};

/** The first lane whose batch Lambda would refuse, because it takes several receives and thus a window. */
export function laneWithoutWindow(given: {
  readonly batchSize: PerLane<number>;
  readonly batchWindowSeconds: PerLane<number>;
}): string | undefined {
  const lanes = CHANNELS.flatMap((channel) => LANES.map((lane) => ({ channel, lane })));
  const wrong = lanes.find(
    ({ channel, lane }) =>
      given.batchSize[channel][lane] > RECEIVED_AT_ONCE && given.batchWindowSeconds[channel][lane] === 0,
  );
  return wrong && `${wrong.channel}.${wrong.lane}`;
}
