import {
  bindChannel,
  type ChannelBudgets,
  type ChannelPorts,
  type ChannelSettings,
} from '../../../functions/shared/channel/channel-function.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import type { BreakerStore } from '../../../src/core/breaker/shared-breakers.ts';
import { FUNCTION_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import { ACCOUNT } from '../../../src/core/pacing/admission.ts';
import type { Allowance } from '../../../src/core/pacing/plan-reservation.ts';
import { doneOf, eventOf } from '../models/event-source.ts';
import { MemoryBreakers } from '../twins/pipeline-state.ts';
import type { Env, Program } from './actor.ts';
import { channelPorts, observed, portOf, SETTINGS } from './ports.ts';

/** What a channel function shares with others in a small world. */
export interface Shared {
  /** Budgets of the account, before the claim, or of each receiver, after it; nothing is limited unless given. */
  readonly pacing?: 'account' | 'receiver';
  /** Breakers that one failure opens; none opens unless given. */
  readonly breakers?: true;
  /** Outcomes of a batch share calls, as in the deployed store. */
  readonly gathering?: true;
  /** An instance takes another batch after its first one, and keeps what it knows. */
  readonly instances?: 'kept';
}

/** An instance of the channel function: one invocation after the other, and what SQS does with their answers. */
export function worker(first: readonly ReceivedMessage[], shared: Shared): Program {
  return async (env) => {
    let begun = env.clock().getTime();
    const handler = instance(shared, env);
    const getRemainingTimeInMillis = () => begun + FUNCTION_MS - env.clock().getTime();
    for (let batch = first; ; begun = env.clock().getTime()) {
      const done = doneOf(batch, await handler(eventOf(batch), { getRemainingTimeInMillis }));
      if (done.length > 0)
        await env.call(
          'queue.delete',
          done.map(({ message_id }) => message_id),
        );
      if (shared.instances === undefined) return;
      batch = revived(await env.call('instance.next'));
    }
  };
}

/** A batch as it was noted: times are texts there. */
function revived(batch: readonly ReceivedMessage[]): ReceivedMessage[] {
  return batch.map((received) => ({ ...received, sent_at: new Date(received.sent_at) }));
}

/** As deployed, on the calls of its environment. */
function instance({ pacing, breakers, gathering }: Shared, env: Env) {
  const ports: ChannelPorts = {
    ...channelPorts(env, gathering && 'one by one'),
    breakers: breakers
      ? portOf<BreakerStore>(env, 'breakers', 'list', 'first', 'read', 'write', 'takeSlot')
      : new MemoryBreakers().store,
    budgets: budgetsOf(env),
    receiver:
      pacing === 'account'
        ? ACCOUNT
        : async ({ tenant_id: tenant }) => (pacing ? { key: 'shared', tenant, per_second: 1 } : undefined),
  };
  return bindChannel('email', { ...SETTINGS, breaker: breakers ? OPENS_AT_ONCE : NEVER_OPENS }, ports, observed(env));
}

/** A window lasts for one batch here. */
const OPENS_AT_ONCE: ChannelSettings['breaker'] = {
  ...DEFAULT_BREAKER_POLICY,
  min_samples: 1,
  drain_per_second: 1,
  most_per_second: 1,
};
const NEVER_OPENS: ChannelSettings['breaker'] = { ...DEFAULT_BREAKER_POLICY, min_samples: Number.POSITIVE_INFINITY };

/** Budgets that grant or refuse as the world likes. */
function budgetsOf(env: Env): ChannelBudgets {
  return {
    // Pacer's own answer when its store fails: everything may be sent.
    reserve: (ask) => env.call<Allowance>('budget.reserve', ask),
    reserveAt: ({ key, lane }) => env.call<Allowance>('budget.reserve', { key, count: 1, use: lane, lane }),
    exceeded: async () => {},
    blocked: async () => {},
    lastingPerSecond: async () => undefined,
  };
}
