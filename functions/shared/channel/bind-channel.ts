import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type * as v from 'valibot';
import { gather, SETTLE_WAIT_MS, SendsUnderWay, withSignal } from '../../../src/adapters/batching/gather.ts';
import { createBreakerStore } from '../../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { createContentStore } from '../../../src/adapters/dynamodb/delivery/content-store.ts';
import { createClaimStore, createRecordStore } from '../../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createSuccessorStore } from '../../../src/adapters/dynamodb/delivery/successor-store.ts';
import { createPacingStore } from '../../../src/adapters/dynamodb/pacing/pacing-store.ts';
import {
  createIntegrationCredentials,
  type IntegrationCredentials,
} from '../../../src/adapters/secrets/integration-credentials.ts';
import { heldSince } from '../../../src/core/breaker/breaker.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import type { BreakerDeps } from '../../../src/core/breaker/shared-breakers.ts';
import { rowToSend } from '../../../src/core/delivery/claim-plan.ts';
import { integrationOf } from '../../../src/core/delivery/conduct-attempt.ts';
import type { ClaimStore } from '../../../src/core/delivery/ports.ts';
import type { Sender } from '../../../src/core/delivery/sender.ts';
import { type Channel, channelsIn } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { ACCOUNT, PacedGate } from '../../../src/core/pacing/paced-gate.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import type { PacedGateDeps } from '../../../src/core/pacing/ports.ts';
import { type ReceiverAsk, ReceiverPacer } from '../../../src/core/pacing/receiver-pacer.ts';
import { createDynamoDb, pipelineState } from '../runtime/clients/dynamodb.ts';
import type { senderEnv } from '../runtime/env.ts';
import { count, type Observability } from '../runtime/observability.ts';
import { onFirstUse } from '../runtime/on-first-use.ts';
import type { PacerEnv } from '../runtime/pacer.ts';
import { createSecretsAndKeys } from '../runtime/secrets-and-keys.ts';
import { createHandler } from './channel-function.ts';

type SenderEnv = v.InferOutput<typeof senderEnv>;

interface Provider {
  readonly sender: Sender;
  readonly receiver: PacedGateDeps['receiver'];
  readonly addressedBy?: BreakerDeps['addressedBy'];
  /** The budget that everything shares; for e-mail only. */
  readonly account?: (
    channel: Channel,
    env: PacerEnv,
    dynamodb: DynamoDBClient,
    observability: Pick<Observability, 'logger'>,
  ) => Pacer;
}

/** The handler of a channel's function, on the real adapters that the environment names. */
export function bindChannel(
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
  const clock = () => new Date();
  const dynamodb = createDynamoDb();
  const keys = createSecretsAndKeys(env, dynamodb);
  const credentials = createIntegrationCredentials(keys.secrets, {
    ...keys.integrationNames,
    onOldName: (secret, rename_to) =>
      logger.warn('the secret of an integration has its old name', { secret, rename_to }),
  });
  const lanes = onFirstUse(async () =>
    (await import('./lane-access.ts')).createLaneAccess(env.LANE_QUEUES, {
      onRefused: (reason, count) => logger.warn('retries not queued; the next sweep finds them', { reason, count }),
    }),
  );
  const { sender, account, ...targets } = providerOf(credentials);
  const sends = new SendsUnderWay();
  const rows = createClaimStore(dynamodb, env.NOTIFICATION_LOG_TABLE, clock, sends);
  const mayUse = (row: NotificationRow) => credentials.mayUse({ tenant_id: row.tenant_id, ...integrationOf(row) });
  const pacer = account?.(channel, env, dynamodb, observability);
  const gate = bindGate(channel, env, { dynamodb, rows, pacer, mayUse, ...targets }, observability);
  return createHandler(
    {
      pacing: gate,
      giveBack: async (url, returned) => (await lanes()).giveBack(url, returned),
      queues,
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
        channels: channelsIn(env.LANE_QUEUES),
        policy: env.RETRY_POLICY,
        clock,
        random: Math.random,
        claim_ms: env.CLAIM_SECONDS * 1000,
        inSendTime: (send) => withSignal(env.SEND_TIMEOUT_SECONDS * 1000, send),
        pause: setTimeout,
      },
    },
    observability,
  );
}

/** Milliseconds from a probe's admission to its send, beside what the send may take. */
const UNTIL_SEND_MS = 5_000;
/** More asks than a batch has. */
const TOGETHER = { max: 100, wait_ms: SETTLE_WAIT_MS };

/** What holds the sends of one instance of a channel function, on the deployed table: budgets, and breakers behind them. */
export function bindGate(
  channel: Channel,
  env: PacerEnv & Pick<SenderEnv, 'BREAKER' | 'RETRY_POLICY' | 'SEND_TIMEOUT_SECONDS'>,
  {
    dynamodb,
    rows,
    receiver,
    addressedBy,
    pacer,
    mayUse,
  }: Pick<PacedGateDeps, 'receiver' | 'mayUse'> & {
    readonly addressedBy?: BreakerDeps['addressedBy'];
    readonly dynamodb: DynamoDBClient;
    readonly rows: ClaimStore;
    readonly pacer?: Pacer | undefined;
  },
  { logger, metrics }: Observability,
): PacedGate {
  const clock = () => new Date();
  const state = pipelineState(dynamodb);
  const policy = env.RETRY_POLICY;
  const inner = new BreakerGate({
    store: createBreakerStore(state, env.PIPELINE_STATE_TABLE, clock),
    policy: env.BREAKER,
    clock,
    ...(addressedBy && { addressedBy }),
    budgetOf: async (row) => (receiver === ACCOUNT ? pacer?.lastingPerSecond() : (await receiver(row))?.per_second),
    // Unreferenced: a pause that nothing awaits any more must not keep the process alive.
    pause: (ms) => setTimeout(ms, undefined, { ref: false }),
    probe_ms: env.SEND_TIMEOUT_SECONDS * 1000 + UNTIL_SEND_MS,
    onTransition(to, breaker) {
      const { id, since, error_type, probe_at } = breaker;
      count(metrics, to === 'opened' ? 'BreakersOpened' : 'BreakersClosed');
      const line = { breaker: id, since, error_type, held: heldSince(breaker) };
      if (to === 'opened') logger.warn('breaker opened: its notifications are held', { ...line, probe_at });
      else logger.info('breaker closed', line);
    },
    onFault: (error) =>
      logger.warn('the state of the breakers could not be read or written', { error: error as Error }),
  });
  const receivers = new ReceiverPacer({
    store: createPacingStore(state, env.PIPELINE_STATE_TABLE),
    channel,
    clock,
    workers: env.PACING.workers,
    onFault: (error) =>
      logger.warn("receivers' budgets could not be read or written; this instance goes on slowly by itself", {
        error: error as Error,
      }),
  });
  const budgets = {
    reserve: gather<Ask, Allowance>(async (asks) => (await pacer?.reserve(asks)) ?? [], TOGETHER),
    exceeded: async (limit: Parameters<Pacer['exceeded']>[0]) => pacer?.exceeded(limit),
    reserveAt: gather<ReceiverAsk, Allowance>((asks) => receivers.reserve(asks), TOGETHER),
    blocked: (key: string, until: number) => receivers.blocked(key, until),
  };
  return new PacedGate({
    inner,
    channel,
    budgets,
    receiver,
    mayUse,
    policy,
    clock,
    pause: (ms) => setTimeout(ms),
    rowToSend: (received) => rowToSend(received, { rows, clock, policy }),
  });
}
