import type { Channel, StageLanes } from '../../../src/core/model/channels.ts';
import type { ChannelLanes } from './channel-lanes.ts';

/** The channels that the stage has. */
export type Channels = { readonly [C in Channel]?: ChannelLanes };

/** Queue URLs by channel and lane. */
export function laneUrls(channels: Channels): StageLanes<string> {
  const urls = ({ express, standard }: ChannelLanes) => ({ express: express.queueUrl, standard: standard.queueUrl });
  return Object.fromEntries(Object.entries(channels).map(([channel, lanes]) => [channel, urls(lanes)]));
}

/** The queue ARNs of all lanes. */
export function laneArns(channels: Channels): string[] {
  return Object.values(channels).flatMap(({ express, standard }) => [express.queueArn, standard.queueArn]);
}
