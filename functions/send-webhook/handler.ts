import { createWebhookSender, webhookTargets } from '../../src/adapters/webhook/sender.ts';
import { bindOnAws } from '../shared/channel/channel-on-aws.ts';
import { postingEnv } from '../shared/runtime/env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';

export const handler = bindFunction(postingEnv, (env, observability) =>
  bindOnAws('webhook', env, observability, (credentials) => ({
    sender: createWebhookSender({
      credentials,
      ports: env.WEBHOOK_PORTS,
      allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS,
    }),
    ...webhookTargets(credentials),
  })),
);
