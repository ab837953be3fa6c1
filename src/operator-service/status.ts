import { createDueIndex } from '../adapters/dynamodb/sweep/due-index.ts';
import { queueCounts } from '../adapters/sqs/queue-counts.ts';
import { channelsIn } from '../core/model/channels.ts';
import { laneStatus } from '../core/operator/views/lane-status.ts';
import type { OperatorDeps } from './deps.ts';
import { providersNow } from './overview.ts';

/** The exact figures of each lane, which cost a reading of the whole work index; with what slows its provider down. */
export async function readStatus(deps: OperatorDeps) {
  const { deployment, dynamodb, sqs, shards, clock } = deps;
  const now = clock();
  const index = createDueIndex(dynamodb, deployment.tables.notification_log, async () => (await shards()).work);
  const [lanes, providers] = await Promise.all([
    laneStatus({
      index,
      channels: channelsIn(deployment.lane_queues),
      inFlight: async (channel, lane) => {
        const url = deployment.lane_queues[channel]?.[lane];
        return url === undefined ? 0 : (await queueCounts(sqs, url)).in_flight;
      },
      now,
    }),
    providersNow(now, deps),
  ]);
  return { lanes, ...providers };
}
