import { createSlackSender, slackReceiver } from '../../src/adapters/slack/sender.ts';
import { bindChannel } from '../shared/channel/bind-channel.ts';
import { postingEnv } from '../shared/runtime/env.ts';
import { parseEnv } from '../shared/runtime/env-values.ts';

const env = parseEnv(postingEnv, process.env);

export const handler = bindChannel(
  'slack',
  env,
  (credentials) =>
    createSlackSender({
      credentials,
      ports: env.WEBHOOK_PORTS,
      allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS,
      ...(env.SLACK_API_URL !== undefined && { slackApiUrl: env.SLACK_API_URL }),
    }),
  (credentials) => ({ receiver: slackReceiver(credentials) }),
);
