import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type * as v from 'valibot';
import { onFirstUse, SendsUnderWay, withSignal } from '../../../src/adapters/batching/gather.ts';
import { createBreakerStore } from '../../../src/adapters/dynamodb/breaker/breaker-store.ts';
import {
  createClaimStore,
  createContentStore,
  createRecordStore,
} from '../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createSuccessorStore } from '../../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createPacingStore } from '../../../src/adapters/dynamodb/pacing/pacing-store.ts';
import {
  createIntegrationCredentials,
  type IntegrationCredentials,
} from '../../../src/adapters/secrets/integration-credentials.ts';
import { type Channel, channelsIn } from '../../../src/core/model/channels.ts';
import { systemClock as clock } from '../../../src/core/model/time.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import { ReceiverPacer } from '../../../src/core/pacing/receiver-pacer.ts';
import { createDynamoDb, pipelineState } from '../runtime/clients/dynamodb.ts';
import type { senderEnv } from '../runtime/env.ts';
import type { Observability } from '../runtime/observability.ts';
import type { PacerEnv, PacerPorts } from '../runtime/pacer.ts';
import { createSecretsAndKeys } from '../runtime/secrets-and-keys.ts';
import { bindChannel, type ChannelPorts, gatheredBudgets } from './channel-function.ts';

type SenderEnv = v.InferOutput<typeof senderEnv>;

interface Provider extends Pick<ChannelPorts, 'sender' | 'receiver' | 'addressedBy'> {
  /** The budget that everything shares; for e-mail only. */
  readonly account?: (channel: Channel, env: PacerEnv, dynamodb: DynamoDBClient, ports: PacerPorts) => Pacer;
}

/** The handler of a channel's function, on the tables, queues and secrets that the environment names. */
export function bindOnAws(
  channel: Channel,
  env: SenderEnv,
  observability: Observability,
  providerOf: (credentials: IntegrationCredentials) => Provider,
) {
  const { logger, metrics } = observability;
  metrics.setDefaultDimensions({ channel });
  logger.appendPersistentKeys({ channel });
  const queues = env.LANE_QUEUES[channel];
  if (queues === undefined) throw new Error(`LANE_QUEUES has no ${channel}, whose function this is`);
  const dynamodb = createDynamoDb();
  const keys = createSecretsAndKeys(env, dynamodb);
  const credentials = createIntegrationCredentials(keys.secrets, { prefix: keys.integrationPrefix(channel) });
  const lanes = onFirstUse(async () =>
    (await import('./lane-access.ts')).createLaneAccess(env.LANE_QUEUES, {
      onRefused: (reason, count) => logger.warn('retries not queued; the next sweep finds them', { reason, count }),
    }),
  );
  const { sender, account, ...targets } = providerOf(credentials);
  const sends = new SendsUnderWay();
  return bindChannel(
    channel,
    {
      policy: env.RETRY_POLICY,
      breaker: env.BREAKER,
      send_ms: env.SEND_TIMEOUT_SECONDS * 1000,
      claim_ms: env.CLAIM_SECONDS * 1000,
      queues,
      channels: channelsIn(env.LANE_QUEUES),
    },
    {
      ...targets,
      ...stateOnAws(channel, env, dynamodb, observability, account),
      rows: createClaimStore(dynamodb, env.NOTIFICATION_LOG_TABLE, clock, sends),
      records: createRecordStore(dynamodb, env.NOTIFICATION_RETRY_LOG_TABLE, sends),
      contents: createContentStore(dynamodb, env.NOTIFICATION_CONTENT_TABLE, keys.sealer),
      successors: createSuccessorStore(dynamodb, {
        notification_log: env.NOTIFICATION_LOG_TABLE,
        notification_content: env.NOTIFICATION_CONTENT_TABLE,
      }),
      retries: { send: async (message, delay_seconds) => (await lanes()).retries.send(message, delay_seconds) },
      giveBack: async (url, returned) => (await lanes()).giveBack(url, returned),
      sends,
      sender: { ...sender, retryTerms: credentials.retryTerms },
      mayUse: credentials.mayUse,
      inSendTime: withSignal(env.SEND_TIMEOUT_SECONDS * 1000),
      clock,
      random: Math.random,
      pause: setTimeout,
    },
    observability,
  );
}

/** What the instances of a function tell one another by PipelineState. */
export function stateOnAws(
  channel: Channel,
  env: PacerEnv,
  dynamodb: DynamoDBClient,
  observability: Pick<Observability, 'logger'>,
  account?: Provider['account'],
): Pick<ChannelPorts, 'breakers' | 'budgets'> {
  const state = pipelineState(dynamodb);
  const receivers = new ReceiverPacer({
    store: createPacingStore(state, env.PIPELINE_STATE_TABLE),
    channel,
    clock,
    workers: env.PACING.workers,
    onFault(error) {
      const says = "receivers' budgets could not be read or written; this instance goes on slowly by itself";
      observability.logger.warn(says, { error: error as Error });
    },
  });
  return {
    breakers: createBreakerStore(state, env.PIPELINE_STATE_TABLE, clock),
    budgets: gatheredBudgets({
      pacer: account?.(channel, env, dynamodb, { logger: observability.logger, clock }),
      receivers,
    }),
  };
}
