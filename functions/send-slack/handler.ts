import { slackReceiver } from '../../src/adapters/slack/receiver.ts';
import { createSlackSender } from '../../src/adapters/slack/sender.ts';
import { bindChannel } from '../shared/channel/bind-channel.ts';
import { parseEnv, senderEnv } from '../shared/runtime/env.ts';

const env = parseEnv(senderEnv, process.env);

export const handler = bindChannel(
  'slack',
  env,
  (credentials) =>
    createSlackSender({
      credentials,
      allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS,
      ...(env.SLACK_API_URL !== undefined && { slackApiUrl: env.SLACK_API_URL }),
    }),
  (credentials) => ({ receiver: slackReceiver(credentials) }),
);
