import { setTimeout } from 'node:timers/promises';
import { SendsUnderWay } from '../../../src/adapters/batching/sends-under-way.ts';
import { createClaimStore } from '../../../src/adapters/dynamodb/delivery/claim-store.ts';
import { createContentStore } from '../../../src/adapters/dynamodb/delivery/content-store.ts';
import { createRecordStore } from '../../../src/adapters/dynamodb/delivery/record-store.ts';
import { createSuccessorStore } from '../../../src/adapters/dynamodb/delivery/successor-store.ts';
import {
  createIntegrationCredentials,
  type IntegrationCredentials,
} from '../../../src/adapters/secrets/integration-credentials.ts';
import { integrationOf } from '../../../src/core/delivery/send.ts';
import type { Sender } from '../../../src/core/delivery/sender.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { createDynamoDb } from '../runtime/clients/dynamodb.ts';
import type { parseEnv, senderEnv } from '../runtime/env.ts';
import { createObservability, withObservability } from '../runtime/observability.ts';
import { createSecretsAndKeys } from '../runtime/secrets-and-keys.ts';
import { bindBreakers } from './bind-breakers.ts';
import { bindPacing, budgetOf, type ChannelRate, createReceiverPacer } from './bind-pacing.ts';
import { createHandler } from './channel-function.ts';
import type { LaneAccess } from './lane-access.ts';

/** A channel's Lambda function: the channel's sender, and the real adapters that the environment names. */
export function bindChannel(
  channel: Channel,
  env: ReturnType<typeof parseEnv<typeof senderEnv>>,
  createSender: (credentials: IntegrationCredentials) => Sender,
  rateOf: (credentials: IntegrationCredentials) => ChannelRate,
) {
  const observability = createObservability();
  observability.metrics.setDefaultDimensions({ channel });
  observability.logger.appendPersistentKeys({ channel });
  const clock = () => new Date();
  const dynamodb = createDynamoDb();
  const keys = createSecretsAndKeys(env, dynamodb);
  const credentials = createIntegrationCredentials(keys.secrets, {
    ...keys.integrationNames,
    onOldName: (secret, rename_to) =>
      observability.logger.warn('the secret of an integration has its old name', { secret, rename_to }),
  });
  const send_ms = env.SEND_TIMEOUT_SECONDS * 1000;
  let loading: Promise<LaneAccess> | undefined;
  const lanes = () => {
    loading ??= import('./lane-access.ts').then(({ createLaneAccess }) =>
      createLaneAccess(env.LANE_QUEUES, {
        onRefused: (reason, count) =>
          observability.logger.warn('retries not queued; the next sweep finds them', { reason, count }),
      }),
    );
    return loading;
  };
  const { receiver, account } = rateOf(credentials);
  const pacer = account?.(channel, env, dynamodb, observability);
  const inner = bindBreakers(env, dynamodb, { budgetOf: budgetOf(receiver, pacer) }, observability);
  const mayUse = (row: NotificationRow) => credentials.mayUse({ tenant_id: row.tenant_id, ...integrationOf(row) });
  const sends = new SendsUnderWay();
  const rows = createClaimStore(dynamodb, env.NOTIFICATION_LOG_TABLE, clock, sends);
  const receivers = createReceiverPacer(channel, env, dynamodb, observability);
  const gate = bindPacing(channel, env, { pacer, receivers }, { receiver, inner, rows, mayUse });
  const sender = createSender(credentials);
  const handler = createHandler(
    {
      pacing: gate,
      giveBack: async (url, returned) => (await lanes()).giveBack(url, returned),
      queues: env.LANE_QUEUES[channel],
      deliver: {
        rows,
        records: createRecordStore(dynamodb, env.NOTIFICATION_RETRY_LOG_TABLE, sends),
        contents: createContentStore(dynamodb, env.NOTIFICATION_CONTENT_TABLE, keys.sealer),
        sender: {
          ...sender,
          send: (delivery, signal) => sends.during(() => sender.send(delivery, signal)),
          retryTerms: credentials.retryTerms,
        },
        retries: { send: async (message, delay_seconds) => (await lanes()).retries.send(message, delay_seconds) },
        successors: createSuccessorStore(dynamodb, {
          notification_log: env.NOTIFICATION_LOG_TABLE,
          notification_content: env.NOTIFICATION_CONTENT_TABLE,
        }),
        gate,
        policy: env.RETRY_POLICY,
        clock,
        random: Math.random,
        claim_ms: env.CLAIM_SECONDS * 1000,
        sendTimeout: () => AbortSignal.timeout(send_ms),
        pause: setTimeout,
      },
    },
    observability,
  );
  return withObservability(handler, observability);
}
