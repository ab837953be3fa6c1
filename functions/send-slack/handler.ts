import { createSlackSender, slackReceiver } from '../../src/adapters/slack/sender.ts';
import { bindOnAws } from '../shared/channel/channel-on-aws.ts';
import { postingEnv } from '../shared/runtime/env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';

export const handler = bindFunction(postingEnv, (env, observability) =>
  bindOnAws('slack', env, observability, (credentials) => ({
    sender: createSlackSender({
      credentials,
      ports: env.WEBHOOK_PORTS,
      allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS,
      ...(env.SLACK_API_URL !== undefined && { slackApiUrl: env.SLACK_API_URL }),
    }),
    receiver: slackReceiver(credentials),
  })),
);
