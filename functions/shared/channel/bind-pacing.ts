import { setTimeout } from 'node:timers/promises';
import { gather, SETTLE_WAIT_MS } from '../../../src/adapters/batching/gather.ts';
import type { BreakerGateDeps } from '../../../src/core/breaker/breaker-gate.ts';
import { planOf } from '../../../src/core/delivery/claim-plan.ts';
import type { ClaimStore } from '../../../src/core/delivery/ports.ts';
import type { ProviderGate } from '../../../src/core/delivery/provider-gate.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import { ACCOUNT, type Budgets, PacedGate, type PacedGateDeps } from '../../../src/core/pacing/paced-gate.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';

interface PacingEnv {
  readonly RETRY_POLICY: RetryPolicy;
}

/** What limits a channel's rate. */
export interface ChannelRate {
  readonly receiver: PacedGateDeps['receiver'];
  readonly readLimits?: () => Promise<AccountLimits>;
}

/** What the provider of a row takes per second, as far as this instance knows: the rate of a breaker's line. */
export function budgetOf(receiver: ChannelRate['receiver'], pacer: Pacer): NonNullable<BreakerGateDeps['budgetOf']> {
  return async (row) => (receiver === ACCOUNT ? pacer.plannedPerSecond() : (await receiver(row))?.per_second);
}

/** More asks than a batch has. */
const BATCH = 100;

/** The budgets of one instance of a channel function in front of another gate. */
export function bindPacing(
  channel: Channel,
  { RETRY_POLICY: policy }: PacingEnv,
  pacer: Pacer,
  {
    receiver,
    inner,
    rows,
    mayUse,
  }: Pick<PacedGateDeps, 'receiver' | 'mayUse'> & { readonly inner: ProviderGate; readonly rows: ClaimStore },
): PacedGate {
  const clock = () => new Date();
  const budgets: Budgets = {
    reserve: gather<Ask, Allowance>((asks) => pacer.reserve(asks), { max: BATCH, wait_ms: SETTLE_WAIT_MS }),
    exceeded: (limit) => pacer.exceeded(limit),
    blocked: (key, until) => pacer.blocked(key, until),
  };
  const pause = (ms: number) => setTimeout(ms);
  return new PacedGate({
    ...{ inner, channel, budgets, receiver, mayUse, policy, clock, pause },
    planOf: (received) => planOf(received, { rows, clock, policy }),
  });
}
