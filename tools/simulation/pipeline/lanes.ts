import { bindChannel, type ChannelPorts, gatheredBudgets } from '../../../functions/shared/channel/channel-function.ts';
import { LANE_SETTINGS } from '../../../lib/config/lane-config.ts';
import { gather, SETTLE_WAIT_MS } from '../../../src/adapters/batching/gather.ts';
import type { Returned } from '../../../src/adapters/sqs/lanes.ts';
import type { BreakerStore } from '../../../src/core/breaker/shared-breakers.ts';
import type { SendResult } from '../../../src/core/delivery/ports.ts';
import { CHANNELS, type Channel, LANES, type Lane } from '../../../src/core/model/channels.ts';
import type { QueueMessage } from '../../../src/core/model/queue-message.ts';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import { ACCOUNT } from '../../../src/core/pacing/admission.ts';
import { Pacer } from '../../../src/core/pacing/pacer.ts';
import { DEFAULT_PACING_POLICY } from '../../../src/core/pacing/pacing-policy.ts';
import type { AdmissionDeps } from '../../../src/core/pacing/ports.ts';
import { ReceiverPacer } from '../../../src/core/pacing/receiver-pacer.ts';
import type { PacingStore } from '../../../src/core/pacing/registers.ts';
import type { Send } from '../audit/promises.ts';
import { EventSource, type Handler } from '../models/event-source.ts';
import { requestsFor, type SimulatedQueue } from '../models/queue.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import { rowOf } from '../twins/tables.ts';
import type { Env } from '../world/actor.ts';
import { channelPorts, observed, portOf, SETTINGS, scheduleBy } from '../world/ports.ts';
import { type Ports, type World, windowOf } from './world.ts';

/** As lib/constructs/lanes sets them. */
const TIMEOUT_MS = 60_000;
const MEMORY_GB = 0.25;
/** Calls per notification: claim, content, send and its answer, record, settlement. */
const CALLS_EACH = 6;
/** More asks than a batch has. */
const MOST_ASKS = 100;
/** Milliseconds of a call to DynamoDB and to SQS. */
const TABLE_MS = 6;
const QUEUE_MS = 8;

/** A waiting line of a breaker, and the slot that it gives. */
interface Line {
  readonly id: string;
  readonly lane: Lane;
}
type Slot = Awaited<ReturnType<BreakerStore['takeSlot']>>;

const CONTENT = { subject: 'secret subject', body: 'secret body', format: 'PLAIN' } as const;

/** Puts the function of each channel on its lanes. */
export function connectLanes(world: World): void {
  for (const channel of CHANNELS) for (const lane of LANES) world.sources.push(source(channel, lane, world));
}

function source(channel: Channel, lane: Lane, world: World): EventSource<QueueMessage> {
  const queue = world.queues[channel][lane];
  const { scenario } = world;
  const batch = LANE_SETTINGS.batchSize.standard[channel][lane];
  return new EventSource(world.machine(`${channel} ${lane}`), queue, channelFunction(channel, queue, world), {
    concurrency: world.concurrency[channel][lane],
    batch,
    window_ms: windowOf(channel, lane),
    timeout_ms: TIMEOUT_MS,
    settle_ms: QUEUE_MS,
    memory_gb: MEMORY_GB,
    faults: () => ({ deaths: scenario.deaths ?? 0, calls: CALLS_EACH * batch }),
  });
}

/** A channel's function as it is deployed, bound to the world through a process that can die. */
function channelFunction(channel: Channel, queue: SimulatedQueue<QueueMessage>, world: World) {
  const { clocks = [0], batch_ms } = world.scenario;
  let instances = 0;
  return (worker: WorkerProcess): Handler => {
    const wrong_ms = clocks[instances++ % clocks.length] ?? 0;
    let left_ms = () => 0;
    const env = world.env(
      portsOf(worker, queue, world, () => left_ms()),
      wrong_ms,
    );
    const counted = (metric: string) => COUNTED[metric] && world.count(COUNTED[metric]);
    const ports = { ...channelPorts(env, 'at once'), ...stateOf(channel, env, world) };
    const handler = bindChannel(channel, SETTINGS, ports, observed(env, counted));
    return async (event, context) => {
      left_ms = () => context.getRemainingTimeInMillis();
      if (batch_ms !== undefined) await world.time.pause(batch_ms);
      return handler(event, context);
    };
  };
}

const COUNTED: Readonly<Record<string, string>> = {
  BreakersOpened: 'breakers opened',
  BreakersClosed: 'breakers closed',
};

/** What the calls of the function do, and what they take. */
function portsOf(
  worker: WorkerProcess,
  queue: SimulatedQueue<QueueMessage>,
  world: World,
  left_ms: () => number,
): Ports {
  const { tables, time, breakers, budgets } = world;
  type Wait = (first: never, method: string) => number;
  /** The calls of a store, by their names, with what their partition lets them wait. */
  const stored = (room: string, store: object, wait: Wait = () => 0): Ports =>
    Object.fromEntries(
      Object.entries(store).map(([method, run]) => [
        `${room}.${method}`,
        (...args: never[]) =>
          world.storageCall(
            worker,
            TABLE_MS,
            () => wait(args[0] as never, method),
            () => run(...args),
          ),
      ]),
    );
  const state = (item: string, method: string) => {
    if (/^(write|change|takeSlots)$/.test(method)) tables.state.written(item, time.now);
    return tables.wait(`state ${item}`, 1);
  };
  const waitOfBreaker = (wanted: unknown, method: string) => {
    if (method !== 'takeSlots') return state('breakers', method);
    const lines = new Set((wanted as readonly Line[]).map(({ id, lane }) => `${id} ${lane}`));
    return Math.max(...[...lines].map((line) => state(`breaker ${line.split(' ')[0]}`, method)));
  };
  const takeSlots = (wanted: readonly Line[]) =>
    Promise.all(wanted.map(({ id, lane }) => breakers.store.takeSlot(id, lane)));
  const moves = /^(change|settle)$/;
  return {
    ...stored('rows', tables.rows, ({ log_id }: { log_id: string }, method) =>
      moves.test(method) ? tables.indexWait(log_id) : 0,
    ),
    ...stored('records', tables.records),
    ...stored('breakers', { ...breakers.store, takeSlots }, waitOfBreaker),
    ...stored('pacing', budgets.store, (name: string, method) => state(`budget ${name}`, method)),
    ...stored('contents', {
      read: ({ log_id }: { log_id: string }) => {
        tables.readUnits += 0.5;
        return { ...CONTENT, recipient: `${log_id}@example.com` };
      },
    }),
    'retries.send': (message: QueueMessage, delay_seconds: number) =>
      world.storageCall(
        worker,
        QUEUE_MS,
        () => 0,
        () => world.queue(message, delay_seconds),
      ),
    'queue.giveBack': (returned: readonly Returned[]) =>
      worker.call(QUEUE_MS, () => {
        queue.requests += requestsFor(returned.length);
        for (const { receipt_handle, after_seconds } of returned) queue.returnAfter(receipt_handle, after_seconds);
        return 0;
      }),
    'time.pause': time.pause,
    'provider.send': (log_id: string, attempt: number, recipient: string) =>
      request({ log_id, attempt, recipient, left_ms: left_ms() }, worker, world),
    'account.limits': () => worker.call(TABLE_MS, () => world.accountLimits()),
  };
}

/** One request to the provider. It takes effect when it arrives; a process that dies meanwhile gets no answer. */
async function request(
  send: Pick<Send, 'log_id' | 'attempt' | 'recipient' | 'left_ms'>,
  worker: WorkerProcess,
  world: World,
): Promise<SendResult> {
  const { auditor, observer, time, tables } = world;
  const { log_id, attempt } = send;
  const row = rowOf(log_id);
  const taken = await worker.call(1, () => {
    const { now } = time;
    const sent = { ...send, by: worker.name, now, late: worker.dead };
    auditor.sent(row, sent, worker, { ...tables.row(row) }, tables.recordOf(log_id, attempt - 1));
    observer.requested(row, now, Date.parse(tables.row(row).work_at ?? ''));
    const taken = world.provider(row).take(time.now);
    if (taken.accepted) {
      auditor.accepted(row, sent);
      observer.acceptedBy(row, time.now);
      world.accepted();
    }
    return taken;
  });
  const { result, accepted, after_ms } = taken;
  await worker.call(after_ms, () => {});
  const { retry_after_ms } = result.ok ? {} : result;
  const limited = retry_after_ms !== undefined && !result.ok && result.error_type === 'RATE_LIMITED';
  const what = { overloaded: result.response_code === '503', limited, lost: accepted && !result.ok };
  auditor.answered(row, { now: time.now, ok: result.ok, ...what, retry_after_ms });
  return result;
}

/** The budgets and breakers of one instance. */
function stateOf(channel: Channel, env: Env, world: World): Pick<ChannelPorts, 'breakers' | 'budgets' | 'receiver'> {
  const { clock, random } = env;
  const schedule = scheduleBy((ms) => env.call<void>('time.pause', ms));
  const store = portOf<PacingStore>(env, 'pacing', 'read', 'change');
  const { express, standard } = world.concurrency[channel];
  const shared = { store, channel, clock, workers: express + standard };
  const limits = channel === 'email' && { readLimits: () => env.call<AccountLimits>('account.limits') };
  const pacer = new Pacer({ ...shared, ...limits, policy: DEFAULT_PACING_POLICY, random });
  // As breaker-store.ts: one write takes all slots of a line that a batch needs at the same moment.
  const takeSlots = gather<Line, Slot>((wanted) => env.call('breakers.takeSlots', wanted), {
    max: MOST_ASKS,
    wait_ms: SETTLE_WAIT_MS,
    schedule,
  });
  return {
    breakers: {
      ...portOf<BreakerStore>(env, 'breakers', 'list', 'first', 'read', 'write', 'takeSlot'),
      takeSlot: (id, lane) => takeSlots({ id, lane }),
    },
    budgets: gatheredBudgets({ pacer, receivers: new ReceiverPacer(shared) }, { schedule }),
    receiver: channel === 'email' ? ACCOUNT : receiverOf(channel),
  };
}

/** The rates that the senders know. */
function receiverOf(channel: Channel): AdmissionDeps['receiver'] {
  const per_second = { email: undefined, slack: 1, teams: 4, webhook: undefined }[channel];
  return async ({ integration_config_id: key }) =>
    per_second === undefined || key === undefined ? undefined : { key, per_second };
}
