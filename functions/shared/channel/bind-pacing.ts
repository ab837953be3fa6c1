import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { gather, SETTLE_WAIT_MS } from '../../../src/adapters/batching/gather.ts';
import { createPacingStore } from '../../../src/adapters/dynamodb/pacing/pacing-store.ts';
import type { ProviderGate } from '../../../src/core/delivery/provider-gate.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import { type Budgets, PacedGate, type PacedGateDeps } from '../../../src/core/pacing/paced-gate.ts';
import { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import type { PacingConfig } from '../runtime/env.ts';
import type { Observability } from '../runtime/observability.ts';

interface PacingEnv {
  readonly PIPELINE_STATE_TABLE: string;
  readonly PACING: PacingConfig;
  readonly RETRY_POLICY: RetryPolicy;
}

/** What limits a channel's rate. */
export interface ChannelRate {
  readonly receiver: PacedGateDeps['receiver'];
  readonly readLimits?: () => Promise<AccountLimits>;
}

/** More asks than a batch has. */
const BATCH = 100;

/** The budgets of one instance of a channel function, on the deployed table, in front of another gate. */
export function bindPacing(
  channel: Channel,
  env: PacingEnv,
  dynamodb: DynamoDBClient,
  { receiver, readLimits, inner }: ChannelRate & { readonly inner: ProviderGate },
  { logger }: Observability,
): PacedGate {
  const clock = () => new Date();
  const { workers, ...policy } = env.PACING;
  const pacer = new Pacer({
    store: createPacingStore(dynamodb, env.PIPELINE_STATE_TABLE),
    channel,
    policy,
    clock,
    random: Math.random,
    workers,
    ...(readLimits && { readLimits }),
    onFault: (error) =>
      logger.warn('the budget could not be read or written; this instance goes on slowly by itself', {
        error: error as Error,
      }),
  });
  const budgets: Budgets = {
    reserve: gather<Ask, Allowance>((asks) => pacer.reserve(asks), { max: BATCH, wait_ms: SETTLE_WAIT_MS }),
    exceeded: (limit) => pacer.exceeded(limit),
    blocked: (key, until) => pacer.blocked(key, until),
  };
  const pause = (ms: number) => setTimeout(ms);
  return new PacedGate({ inner, channel, budgets, receiver, policy: env.RETRY_POLICY, clock, pause });
}
