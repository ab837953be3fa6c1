import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
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
import { BreakerGate, type BreakerGateDeps } from '../../../src/core/breaker/breaker-gate.ts';
import type { BreakerPolicy } from '../../../src/core/breaker/breaker-policy.ts';
import { planOf } from '../../../src/core/delivery/claim-plan.ts';
import { integrationOf } from '../../../src/core/delivery/conduct-attempt.ts';
import type { ClaimStore, ProviderGate } from '../../../src/core/delivery/ports.ts';
import type { Sender } from '../../../src/core/delivery/sender.ts';
import { type Channel, channelsIn, type Lane, type StageLanes } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import { ACCOUNT, type Budgets, PacedGate, type PacedGateDeps } from '../../../src/core/pacing/paced-gate.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import { type ReceiverAsk, ReceiverPacer } from '../../../src/core/pacing/receiver-pacer.ts';
import { createDynamoDb, pipelineState } from '../runtime/clients/dynamodb.ts';
import type { senderEnv } from '../runtime/env.ts';
import type { parseEnv } from '../runtime/env-values.ts';
import { count, createObservability, type Observability, withObservability } from '../runtime/observability.ts';
import type { PacerEnv } from '../runtime/pacer.ts';
import { createSecretsAndKeys } from '../runtime/secrets-and-keys.ts';
import { createHandler } from './channel-function.ts';
import type { LaneAccess } from './lane-access.ts';

/** A function is deployed with its channel, and with all that this has. */
function ownLanes(channel: Channel, queues: StageLanes<string>): Record<Lane, string> {
  const own = queues[channel];
  if (own === undefined) throw new Error(`LANE_QUEUES has no ${channel}, whose function this is`);
  return own;
}

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
      queues: ownLanes(channel, env.LANE_QUEUES),
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
        inSendTime: (send) => withSignal(send_ms, send),
        pause: setTimeout,
      },
    },
    observability,
  );
  return withObservability(handler, observability);
}

/** Milliseconds from a probe's admission to its send, beside what the send may take. */
const UNTIL_SEND_MS = 5_000;

interface BreakerEnv {
  readonly PIPELINE_STATE_TABLE: string;
  readonly BREAKER: BreakerPolicy;
  readonly SEND_TIMEOUT_SECONDS: number;
}

/** The breakers of one instance of a channel function, on the deployed table. */
export function bindBreakers(
  env: BreakerEnv,
  dynamodb: DynamoDBClient,
  provider: Required<Pick<BreakerGateDeps, 'budgetOf'>>,
  { logger, metrics }: Observability,
): BreakerGate {
  const clock = () => new Date();
  return new BreakerGate({
    store: createBreakerStore(pipelineState(dynamodb), env.PIPELINE_STATE_TABLE, clock),
    policy: env.BREAKER,
    clock,
    ...provider,
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
}

interface PacingEnv {
  readonly RETRY_POLICY: RetryPolicy;
}

/** What limits a channel's rate. */
export interface ChannelRate {
  readonly receiver: PacedGateDeps['receiver'];
  /** The budget that everything shares; for e-mail only. */
  readonly account?: (...parts: Parameters<typeof createReceiverPacer>) => Pacer;
}

/** What the provider of a row takes per second, as far as this instance knows: the rate of a breaker's line. */
function budgetOf(
  receiver: ChannelRate['receiver'],
  pacer: Pacer | undefined,
): NonNullable<BreakerGateDeps['budgetOf']> {
  return async (row) => (receiver === ACCOUNT ? pacer?.plannedPerSecond() : (await receiver(row))?.per_second);
}

/** The budgets of a channel's receivers as this instance uses them, on the deployed table. */
export function createReceiverPacer(
  channel: Channel,
  { PIPELINE_STATE_TABLE, PACING }: PacerEnv,
  dynamodb: DynamoDBClient,
  { logger }: Pick<Observability, 'logger'>,
): ReceiverPacer {
  return new ReceiverPacer({
    store: createPacingStore(pipelineState(dynamodb), PIPELINE_STATE_TABLE),
    channel,
    clock: () => new Date(),
    workers: PACING.workers,
    onFault: (error) =>
      logger.warn("receivers' budgets could not be read or written; this instance goes on slowly by itself", {
        error: error as Error,
      }),
  });
}

/** More asks than a batch has. */
const BATCH = 100;

/** The budgets of one instance of a channel function in front of another gate. */
export function bindPacing(
  channel: Channel,
  { RETRY_POLICY: policy }: PacingEnv,
  { pacer, receivers }: { readonly pacer?: Pacer | undefined; readonly receivers: ReceiverPacer },
  {
    receiver,
    inner,
    rows,
    mayUse,
  }: Pick<PacedGateDeps, 'receiver' | 'mayUse'> & { readonly inner: ProviderGate; readonly rows: ClaimStore },
): PacedGate {
  const clock = () => new Date();
  const budgets: Budgets = {
    reserve: gather<Ask, Allowance>(async (asks) => (await pacer?.reserve(asks)) ?? [], {
      max: BATCH,
      wait_ms: SETTLE_WAIT_MS,
    }),
    exceeded: async (limit) => pacer?.exceeded(limit),
    reserveAt: gather<ReceiverAsk, Allowance>((asks) => receivers.reserve(asks), {
      max: BATCH,
      wait_ms: SETTLE_WAIT_MS,
    }),
    blocked: (key, until) => receivers.blocked(key, until),
  };
  const pause = (ms: number) => setTimeout(ms);
  return new PacedGate({
    ...{ inner, channel, budgets, receiver, mayUse, policy, clock, pause },
    planOf: (received) => planOf(received, { rows, clock, policy }),
  });
}
