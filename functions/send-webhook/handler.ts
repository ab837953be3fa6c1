import { createWebhookSender, webhookReceiver } from '../../src/adapters/webhook/sender.ts';
import { bindChannel } from '../shared/channel/bind-channel.ts';
import { postingEnv } from '../shared/runtime/env.ts';
import { parseEnv } from '../shared/runtime/env-values.ts';

const env = parseEnv(postingEnv, process.env);

export const handler = bindChannel(
  'webhook',
  env,
  (credentials) =>
    createWebhookSender({ credentials, ports: env.WEBHOOK_PORTS, allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS }),
  (credentials) => ({ receiver: webhookReceiver(credentials) }),
);
