import type { Channel, PerLane } from '../../../src/core/model/channels.ts';
import type { ChannelLanes } from './channel-lanes.ts';

export type Channels = Readonly<Record<Channel, ChannelLanes>>;

/** Queue URLs by channel and lane. */
export function laneUrls(channels: Channels): PerLane<string> {
  const urls = ({ express, standard }: ChannelLanes) => ({ express: express.queueUrl, standard: standard.queueUrl });
  return {
    email: urls(channels.email),
    slack: urls(channels.slack),
    teams: urls(channels.teams),
    webhook: urls(channels.webhook),
  };
}

/** The queue ARNs of all lanes. */
export function laneArns(channels: Channels): string[] {
  return Object.values(channels).flatMap(({ express, standard }) => [express.queueArn, standard.queueArn]);
}
