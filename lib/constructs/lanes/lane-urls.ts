import type { LaneQueues } from '../../../functions/shared/runtime/env.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { ChannelLanes } from './channel-lanes.ts';

/** Queue URLs by channel and lane. */
export function laneUrls(channels: Readonly<Record<Channel, ChannelLanes>>): LaneQueues {
  const urls = ({ express, standard }: ChannelLanes) => ({ express: express.queueUrl, standard: standard.queueUrl });
  return {
    email: urls(channels.email),
    slack: urls(channels.slack),
    teams: urls(channels.teams),
    webhook: urls(channels.webhook),
  };
}
