import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { gather, SETTLE_WAIT_MS } from '../../../src/adapters/batching/gather.ts';
import { createPacingStore } from '../../../src/adapters/dynamodb/pacing/pacing-store.ts';
import type { BreakerGateDeps } from '../../../src/core/breaker/breaker-gate.ts';
import { planOf } from '../../../src/core/delivery/claim-plan.ts';
import type { ClaimStore } from '../../../src/core/delivery/ports.ts';
import type { ProviderGate } from '../../../src/core/delivery/provider-gate.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import { ACCOUNT, type Budgets, PacedGate, type PacedGateDeps } from '../../../src/core/pacing/paced-gate.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import { type ReceiverAsk, ReceiverPacer } from '../../../src/core/pacing/receiver-pacer.ts';
import { pipelineState } from '../runtime/clients/dynamodb.ts';
import type { Observability } from '../runtime/observability.ts';
import type { PacerEnv } from '../runtime/pacer.ts';

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
export function budgetOf(
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
