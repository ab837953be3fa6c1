import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { gather, SETTLE_WAIT_MS } from '../../../src/adapters/batching/gather.ts';
import type { ProviderGate } from '../../../src/core/delivery/provider-gate.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import { type Budgets, PacedGate, type PacedGateDeps } from '../../../src/core/pacing/paced-gate.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import type { Observability } from '../runtime/observability.ts';
import { createPacer, type PacerEnv } from '../runtime/pacer.ts';

interface PacingEnv extends PacerEnv {
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
  observability: Pick<Observability, 'logger'>,
): PacedGate {
  const clock = () => new Date();
  const pacer = createPacer(channel, env, dynamodb, observability, readLimits);
  const budgets: Budgets = {
    reserve: gather<Ask, Allowance>((asks) => pacer.reserve(asks), { max: BATCH, wait_ms: SETTLE_WAIT_MS }),
    exceeded: (limit) => pacer.exceeded(limit),
    blocked: (key, until) => pacer.blocked(key, until),
  };
  const pause = (ms: number) => setTimeout(ms);
  return new PacedGate({ inner, channel, budgets, receiver, policy: env.RETRY_POLICY, clock, pause });
}
