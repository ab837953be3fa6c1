import {
  type GatherOptions,
  gather,
  SETTLE_WAIT_MS,
  type SendsUnderWay,
} from '../../../src/adapters/batching/gather.ts';
import { heldSince } from '../../../src/core/breaker/breaker.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import type { BreakerPolicy } from '../../../src/core/breaker/breaker-policy.ts';
import type { BreakerDeps, BreakerStore } from '../../../src/core/breaker/shared-breakers.ts';
import { rowToSend } from '../../../src/core/delivery/claim-plan.ts';
import type { DeliverDeps } from '../../../src/core/delivery/deliver.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { RetryPolicy } from '../../../src/core/model/retry-policy.ts';
import { ACCOUNT, PacedGate } from '../../../src/core/pacing/paced-gate.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import type { Budgets, PacedGateDeps } from '../../../src/core/pacing/ports.ts';
import type { ReceiverAsk, ReceiverPacer } from '../../../src/core/pacing/receiver-pacer.ts';
import { count, type Observability } from '../runtime/observability.ts';
import { type ChannelFunctionDeps, createHandler } from './channel-function.ts';

/** What the stage sets for a channel's function. */
export interface ChannelSettings
  extends Pick<DeliverDeps, 'channels' | 'claim_ms'>,
    Pick<ChannelFunctionDeps, 'queues'> {
  readonly policy: RetryPolicy;
  readonly breaker: BreakerPolicy;
  /** Milliseconds that a send may take. */
  readonly send_ms: number;
}

/** What one instance of a channel's function reaches: the adapters of AWS, or a simulation's twins of them. */
export interface ChannelPorts
  extends Pick<ChannelFunctionDeps, 'giveBack'>,
    Pick<DeliverDeps, 'rows' | 'records' | 'contents' | 'successors' | 'retries' | 'sender' | 'inSendTime'>,
    Pick<DeliverDeps, 'clock' | 'random'>,
    Pick<PacedGateDeps, 'receiver' | 'mayUse'>,
    Pick<BreakerDeps, 'addressedBy'> {
  /** Told of each send: rows and records may wait with an outcome for those of others. */
  readonly sends: SendsUnderWay;
  readonly breakers: BreakerStore;
  readonly budgets: ChannelBudgets;
  /** @param options `ref` false: nothing need await it, so it keeps no process alive */
  readonly pause: (ms: number, value?: undefined, options?: { readonly ref?: boolean }) => Promise<void>;
}

/** The handler of a channel's function: budgets, behind them breakers, behind them the delivery. */
export function bindChannel(
  channel: Channel,
  { policy, breaker, send_ms, queues, ...delivery }: ChannelSettings,
  { breakers, budgets, giveBack, mayUse, receiver, addressedBy, sends, sender, ...ports }: ChannelPorts,
  observability: Observability,
) {
  const { rows, clock, random, pause } = ports;
  const inner = new BreakerGate({
    store: breakers,
    policy: breaker,
    clock,
    random,
    addressedBy,
    budgetOf: async (row) => (receiver === ACCOUNT ? budgets.lastingPerSecond() : (await receiver(row))?.per_second),
    pause: (ms) => pause(ms, undefined, { ref: false }),
    probe_ms: send_ms + UNTIL_SEND_MS,
    ...told(observability),
  });
  const gate = new PacedGate({
    inner,
    channel,
    budgets,
    receiver,
    mayUse,
    policy,
    clock,
    pause,
    rowToSend: (received) => rowToSend(received, { rows, clock, policy }),
  });
  return createHandler(
    {
      pacing: gate,
      giveBack,
      queues,
      deliver: {
        ...ports,
        ...delivery,
        sender: { ...sender, send: (one, signal) => sends.during(() => sender.send(one, signal)) },
        gate,
        policy,
      },
    },
    observability,
  );
}

/** Milliseconds from a probe's admission to its send, beside what the send may take. */
const UNTIL_SEND_MS = 5_000;

/** What operators are told of the breakers. */
function told({ logger, metrics }: Observability): Pick<BreakerDeps, 'onTransition' | 'onFault'> {
  return {
    onTransition(to, breaker) {
      const { id, since, error_type, probe_at } = breaker;
      count(metrics, to === 'opened' ? 'BreakersOpened' : 'BreakersClosed');
      const line = { breaker: id, since, error_type, held: heldSince(breaker) };
      if (to === 'opened') logger.warn('breaker opened: its notifications are held', { ...line, probe_at });
      else logger.info('breaker closed', line);
    },
    onFault: (error) =>
      logger.warn('the state of the breakers could not be read or written', { error: error as Error }),
  };
}

export interface ChannelBudgets extends Budgets {
  /** What the account may send per second while an outage lasts, where that is known. Never rejects. */
  lastingPerSecond(): Promise<number | undefined>;
}

/** More asks than a batch has. */
const TOGETHER = { max: 100, wait_ms: SETTLE_WAIT_MS };

/**
 * The budgets of one instance, which reserve at once what a batch asks for at the same moment.
 * @param pacer of the account; only e-mail has one
 */
export function gatheredBudgets(
  { pacer, receivers }: { readonly pacer?: Pacer | undefined; readonly receivers: ReceiverPacer },
  when: Pick<GatherOptions<unknown>, 'schedule'> = {},
): ChannelBudgets {
  const together = { ...TOGETHER, ...when };
  return {
    reserve: gather<Ask, Allowance>(async (asks) => (await pacer?.reserve(asks)) ?? [], together),
    exceeded: async (limit) => pacer?.exceeded(limit),
    reserveAt: gather<ReceiverAsk, Allowance>((asks) => receivers.reserve(asks), together),
    blocked: (key, until) => receivers.blocked(key, until),
    lastingPerSecond: async () => pacer?.lastingPerSecond(),
  };
}
