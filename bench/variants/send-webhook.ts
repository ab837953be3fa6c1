import { setTimeout } from 'node:timers/promises';
import { ownLanes } from '../../functions/shared/channel/bind-channel.ts';
import { createHandler } from '../../functions/shared/channel/channel-function.ts';
import { createLaneAccess } from '../../functions/shared/channel/lane-access.ts';
import { createDynamoDb } from '../../functions/shared/runtime/clients/dynamodb.ts';
import { parseEnv, senderEnv } from '../../functions/shared/runtime/env.ts';
import { createObservability, withObservability } from '../../functions/shared/runtime/observability.ts';
import { createSecretsAndKeys } from '../../functions/shared/runtime/secrets-and-keys.ts';
import { createContentStore } from '../../src/adapters/dynamodb/delivery/content-store.ts';
import { createClaimStore, createRecordStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createSuccessorStore } from '../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createIntegrationCredentials } from '../../src/adapters/secrets/integration-credentials.ts';
import { createWebhookSender } from '../../src/adapters/webhook/sender.ts';
import { PASS_THROUGH } from '../../src/core/delivery/ports.ts';

/**
 * The webhook function without one part, to measure the cost of that part. BENCH_WITHOUT names the part: `decryption`
 * (every recipient is BENCH_RECIPIENT) or `post` (every send succeeds at once).
 */
const env = parseEnv(senderEnv, process.env);
const without = process.env['BENCH_WITHOUT'] ?? '';
const recipient = process.env['BENCH_RECIPIENT'] ?? '';

const observability = createObservability();
const clock = () => new Date();
const dynamodb = createDynamoDb();
const lanes = createLaneAccess(env.LANE_QUEUES, {});
const keys = createSecretsAndKeys(env, dynamodb);
const unsealed = { ...keys.sealer, open: async () => recipient };
const credentials = createIntegrationCredentials(keys.secrets, keys.integrationNames);

const channelFunction = createHandler(
  {
    giveBack: lanes.giveBack,
    queues: ownLanes('webhook', env.LANE_QUEUES),
    deliver: {
      rows: createClaimStore(dynamodb, env.NOTIFICATION_LOG_TABLE, clock),
      records: createRecordStore(dynamodb, env.NOTIFICATION_RETRY_LOG_TABLE),
      contents: createContentStore(
        dynamodb,
        env.NOTIFICATION_CONTENT_TABLE,
        without === 'decryption' ? unsealed : keys.sealer,
      ),
      sender:
        without === 'post'
          ? { send: async () => ({ ok: true, response_code: '200' }) }
          : createWebhookSender({ credentials, allowPrivateTargets: env.ALLOW_PRIVATE_TARGETS }),
      retries: lanes.retries,
      gate: PASS_THROUGH,
      successors: createSuccessorStore(dynamodb, {
        notification_log: env.NOTIFICATION_LOG_TABLE,
        notification_content: env.NOTIFICATION_CONTENT_TABLE,
      }),
      policy: env.RETRY_POLICY,
      clock,
      random: Math.random,
      claim_ms: env.CLAIM_SECONDS * 1000,
      sendTimeout: () => AbortSignal.timeout(env.SEND_TIMEOUT_SECONDS * 1000),
      pause: setTimeout,
    },
  },
  observability,
);

export const handler = withObservability(channelFunction, observability);
