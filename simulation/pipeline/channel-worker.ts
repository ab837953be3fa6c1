import { BreakerGate } from '../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../src/core/breaker/breaker-policy.ts';
import type { BreakerStore } from '../../src/core/breaker/shared-breakers.ts';
import { planOf } from '../../src/core/delivery/claim-plan.ts';
import type { DeliverDeps } from '../../src/core/delivery/deliver.ts';
import { deliverBatch } from '../../src/core/delivery/deliver-batch.ts';
import type { Disposition } from '../../src/core/delivery/delivery-report.ts';
import { CLAIM_MS } from '../../src/core/delivery/policy/attempt-times.ts';
import type { ClaimStore } from '../../src/core/delivery/ports.ts';
import type { Delivery, SendResult } from '../../src/core/delivery/sender.ts';
import type { Channel } from '../../src/core/model/channels.ts';
import { copyOf, type QueueMessage } from '../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { ACCOUNT, PacedGate, type PacedGateDeps } from '../../src/core/pacing/paced-gate.ts';
import { Pacer } from '../../src/core/pacing/pacer.ts';
import { DEFAULT_PACING_POLICY } from '../../src/core/pacing/pacing-policy.ts';
import type { Allowance, Ask } from '../../src/core/pacing/plan-reservation.ts';
import { type ReceiverAsk, ReceiverPacer } from '../../src/core/pacing/receiver-pacer.ts';
import type { PacingStore } from '../../src/core/pacing/registers.ts';
import type { QueueFunction } from '../models/event-source.ts';
import type { SimulatedQueue } from '../models/queue.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { rowOf } from '../twins/row-columns.ts';
import type { World } from './world.ts';

/** As lib/constructs/lanes/channel-lanes.ts sets them. */
const PROBE_MS = 25_000;
/** Milliseconds of a call to DynamoDB and to SQS. */
const TABLE_MS = 6;
const QUEUE_MS = 8;
/** How long asks of a batch are gathered. */
const GATHER_MS = 3;

const CONTENT = { subject: 'secret subject', body: 'secret body', format: 'PLAIN' } as const;

/** A channel's function: the real core, bound to the twins through a process that can die. */
export function channelFunction(
  channel: Channel,
  queue: SimulatedQueue<QueueMessage>,
  world: World,
): QueueFunction<QueueMessage> {
  return {
    start(worker) {
      const rows = rowsOf(worker, world);
      const gate = gateOf(channel, rows, worker, world);
      const deps = deliverDeps(rows, worker, world, gate);
      return async (batch, remaining) => {
        const { batch_ms = 0 } = world.scenario;
        if (batch_ms > 0) await world.time.pause(batch_ms);
        const { now, later } = await gate.screen(batch);
        const [reports] = await Promise.all([
          deliverBatch(now, { ...deps, timeLeft: remaining }),
          ...later.map(({ received, delay_seconds }) =>
            worker.call(QUEUE_MS, () => world.send(copyOf(received), delay_seconds)),
          ),
        ]);
        await worker.call(QUEUE_MS, () => {
          queue.requests += 1;
          for (const { received } of later) queue.delete(received.message_id);
          now.forEach(({ message_id }, i) => {
            settle(queue, message_id, reports[i]?.disposition ?? { do: 'dead_letter' });
          });
        });
      };
    },
  };
}

function settle(queue: SimulatedQueue<QueueMessage>, message_id: string, disposition: Disposition): void {
  if (disposition.do === 'done') queue.delete(message_id);
  else queue.returnAfter(message_id, disposition.do === 'return' ? disposition.after_seconds : 0);
}

function rowsOf(worker: WorkerProcess, world: World): ClaimStore {
  const { tables } = world;
  const onRow = <T>(log_id: string, run: () => T | Promise<T>) =>
    world.storageCall(worker, TABLE_MS, () => tables.indexWait(log_id), run);
  const plain = <T>(run: () => T | Promise<T>) => world.storageCall(worker, TABLE_MS, () => 0, run);
  return {
    claim: (message, until, by) => plain(() => tables.rows.claim(message, until, by)),
    read: (log_id) => plain(() => tables.rows.read(log_id)),
    change: (row, change) => onRow(row.log_id, () => tables.rows.change(row, change)),
    settle: (row, change) => onRow(row.log_id, () => tables.rows.settle(row, change)),
  };
}

function deliverDeps(
  rows: ClaimStore,
  worker: WorkerProcess,
  world: World,
  gate: PacedGate,
): Omit<DeliverDeps, 'timeLeft'> {
  const { tables, time, draw } = world;
  const plain = <T>(run: () => T | Promise<T>) => world.storageCall(worker, TABLE_MS, () => 0, run);
  return {
    rows,
    records: {
      putIfAbsent: (record) => plain(() => tables.records.putIfAbsent(record)),
      replace: (record, read) => plain(() => tables.records.replace(record, read)),
      find: (log_id, attempt) => plain(() => tables.records.find(log_id, attempt)),
    },
    contents: {
      read: ({ log_id }) =>
        plain(() => {
          tables.readUnits += 0.5;
          return { ...CONTENT, recipient: `${log_id}@example.test` };
        }),
    },
    successors: { copyContent: async () => undefined, put: async (row) => row },
    retries: {
      send: (message, delay_seconds) =>
        world.storageCall(
          worker,
          QUEUE_MS,
          () => 0,
          () => world.send(message, delay_seconds),
        ),
    },
    sender: { send: (delivery) => request(delivery, worker, world) },
    gate,
    policy: DEFAULT_RETRY_POLICY,
    clock: time.clock,
    random: draw,
    claim_ms: CLAIM_MS,
    sendTimeout: () => new AbortController().signal,
    pause: time.pause,
  };
}

/** One request to the provider. It takes effect when it arrives; a process that dies meanwhile gets no answer. */
async function request(delivery: Delivery, worker: WorkerProcess, world: World): Promise<SendResult> {
  const { auditor, observer, time } = world;
  const row = rowOf(delivery.log_id);
  const taken = await worker.call(1, () => {
    auditor.requested(row, worker, time.now);
    observer.requested(row, time.now);
    const taken = world.provider(delivery).take(time.now);
    if (taken.accepted) {
      auditor.accepted(row);
      observer.acceptedBy(row, time.now);
    }
    return taken;
  });
  const { result, accepted, after_ms } = taken;
  await worker.call(after_ms, () => {});
  const retry_after_ms = result.ok ? undefined : result.retry_after_ms;
  const overloaded = !result.ok && result.response_code === '503';
  auditor.answered(row, { now: time.now, ok: result.ok, lost: accepted && !result.ok, overloaded, retry_after_ms });
  return result;
}

function gateOf(channel: Channel, rows: ClaimStore, worker: WorkerProcess, world: World): PacedGate {
  const { time, draw, breakers, budgets, scenario } = world;
  const { pause, clock } = time;
  const state = <T>(partition: string, run: () => T | Promise<T>) =>
    world.storageCall(worker, TABLE_MS, () => world.tables.wait(`state ${partition}`, 1), run);
  const write = <T>(partition: string, run: () => T | Promise<T>) => {
    world.tables.writeUnits += 1;
    return state(partition, run);
  };
  const breakerStore: BreakerStore = {
    list: () => state('breakers', () => breakers.store.list()),
    first: (limit) => state('breakers', () => breakers.store.first(limit)),
    read: (id, options) => state('breakers', () => breakers.store.read(id, options)),
    write: (breaker) => write('breakers', () => breakers.store.write(breaker)),
    takeSlot: (id, lane) => write('breakers', () => breakers.store.takeSlot(id, lane)),
  };
  const pacingStore: PacingStore = {
    read: (name) => state(`budget ${name}`, () => budgets.store.read(name)),
    change: (name, steps) => write(`budget ${name}`, () => budgets.store.change(name, steps)),
  };
  const { express, standard } = world.concurrency[channel];
  const pacer = new Pacer({
    store: pacingStore,
    channel,
    policy: DEFAULT_PACING_POLICY,
    clock,
    random: draw,
    workers: express + standard,
    ...(channel === 'email' && { readLimits: () => worker.call(TABLE_MS, () => world.accountLimits()) }),
  });
  const receivers = new ReceiverPacer({ store: pacingStore, channel, clock, workers: express + standard });
  const reserve = gathered(pause, (asks: readonly Ask[]) => pacer.reserve(asks));
  const reserveAt = gathered(pause, (asks: readonly ReceiverAsk[]) => receivers.reserve(asks));
  const receiver = channel === 'email' ? ACCOUNT : receiverOf(channel, scenario.integrationRate);
  const inner = new BreakerGate({
    store: breakerStore,
    policy: DEFAULT_BREAKER_POLICY,
    clock,
    pause,
    random: draw,
    probe_ms: PROBE_MS,
    budgetOf: async (row) => (receiver === ACCOUNT ? pacer.plannedPerSecond() : (await receiver(row))?.per_second),
    onTransition: (to) => world.count(`breakers ${to}`),
  });
  return new PacedGate({
    inner,
    channel,
    budgets: {
      reserve,
      exceeded: (limit) => pacer.exceeded(limit),
      reserveAt,
      blocked: (key, until) => receivers.blocked(key, until),
    },
    receiver,
    mayUse: async () => true,
    planOf: (received) => planOf(received, { rows, clock, policy: DEFAULT_RETRY_POLICY }),
    policy: DEFAULT_RETRY_POLICY,
    clock,
    pause,
  });
}

/** The rates that the senders know. */
function receiverOf(channel: Channel, integrationRate: number | undefined): PacedGateDeps['receiver'] {
  const per_second = { email: undefined, slack: 1, teams: 4, webhook: integrationRate }[channel];
  return async ({ integration_config_id: key }) =>
    per_second === undefined || key === undefined ? undefined : { key, per_second };
}

/** One call for what is asked within a few milliseconds, as src/adapters/batching/gather.ts makes it. */
function gathered<A>(pause: (ms: number) => Promise<void>, run: (asks: readonly A[]) => Promise<readonly Allowance[]>) {
  let waiting: { readonly ask: A; readonly resolve: (allowance: Allowance) => void }[] = [];
  return (ask: A): Promise<Allowance> =>
    new Promise((resolve) => {
      waiting.push({ ask, resolve });
      if (waiting.length > 1) return;
      void pause(GATHER_MS).then(async () => {
        const all = waiting;
        waiting = [];
        const allowances = await run(all.map(({ ask }) => ask));
        all.forEach(({ resolve }, i) => {
          resolve(allowances[i] ?? { slots: [], waits: [] });
        });
      });
    });
}
