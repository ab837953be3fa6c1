import { webhookReceiver } from '../../src/adapters/webhook/receiver.ts';
import { createWebhookSender } from '../../src/adapters/webhook/sender.ts';
import { bindChannel } from '../shared/channel/bind-channel.ts';
import { parseEnv, senderEnv } from '../shared/runtime/env.ts';

const env = parseEnv(senderEnv, process.env);

export const handler = bindChannel(
  'webhook',
  env,
  (credentials) => createWebhookSender({ credentials, allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS }),
  (credentials) => ({ receiver: webhookReceiver(credentials) }),
);
