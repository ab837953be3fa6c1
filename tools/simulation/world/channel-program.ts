import { createHandler, type Pacing } from '../../../functions/shared/channel/channel-function.ts';
import type { Observability } from '../../../functions/shared/runtime/observability.ts';
import {
  GatheredError,
  type GatherOptions,
  gather,
  RECORD_HOLD_MS,
  SETTLE_WAIT_MS,
  SETTLEMENT_HOLD_MS,
  SendsUnderWay,
} from '../../../src/adapters/batching/gather.ts';
import type { Returned } from '../../../src/adapters/sqs/lanes.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import type { BreakerStore } from '../../../src/core/breaker/shared-breakers.ts';
import { rowToSend } from '../../../src/core/delivery/claim-plan.ts';
import type { SuccessorStore } from '../../../src/core/delivery/failover.ts';
import { CLAIM_MS, FUNCTION_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { ContentStore } from '../../../src/core/delivery/ports.ts';
import {
  type ClaimStore,
  PASS_THROUGH,
  type ProviderGate,
  type RecordStore,
  type RetryQueue,
} from '../../../src/core/delivery/ports.ts';
import type { Sender } from '../../../src/core/delivery/sender.ts';
import type { RetryRecord } from '../../../src/core/model/notification.ts';
import type { ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../../src/core/model/retry-policy.ts';
import { ACCOUNT, PacedGate } from '../../../src/core/pacing/paced-gate.ts';
import type { Allowance } from '../../../src/core/pacing/plan-reservation.ts';
import type { Budgets, PacedGateDeps } from '../../../src/core/pacing/ports.ts';
import { doneOf, eventOf } from '../models/event-source.ts';
import type { Env, Program } from './actor.ts';

/** How a channel function is put together, and what it shares with others. */
export interface Composition {
  /** Before the claim by a budget of the account, after it by one of each receiver, or not at all. */
  readonly pacing?: 'account' | 'receiver';
  readonly breakers?: true;
  /** Outcomes of a batch share calls, as in the deployed store. */
  readonly gathering?: true;
  /** An instance takes another batch after its first one, and keeps what it knows. */
  readonly instances?: 'kept';
}

const PROBE_MS = 25_000;
/** One failure opens a breaker: a window lasts for one batch here. */
const BREAKER_POLICY = { ...DEFAULT_BREAKER_POLICY, min_samples: 1, drain_per_second: 1, most_per_second: 1 };
const QUEUES = { express: 'https://sqs/1/express', standard: 'https://sqs/1/standard' };

const nothing = () => {};

/** Logs nothing, but a defect must not hide in the report of a message. */
export function observed({ fault }: Env): Observability {
  const error = (_: string, line?: { readonly error?: unknown }) => line?.error !== undefined && fault(line.error);
  const single = { addDimensions: nothing, addMetric: nothing };
  const metrics = { addMetric: nothing, singleMetric: () => single };
  return { logger: { info: nothing, warn: nothing, error }, metrics } as unknown as Observability;
}

/** Handlers that bind themselves to their environment on import, as Lambda loads them. */
export async function loadedIn<T>(environment: Readonly<Record<string, string>>, load: () => Promise<T>): Promise<T> {
  const own = { ...process.env };
  Object.assign(process.env, environment);
  const loaded = await load();
  for (const name of Object.keys(environment)) {
    if (own[name] === undefined) delete process.env[name];
    else process.env[name] = own[name];
  }
  return loaded;
}

/** A port whose calls all go to the world. */
export function portOf<T extends object>(env: Env, room: string, ...methods: (keyof T & string)[]): T {
  const call =
    (method: string) =>
    (...args: unknown[]) =>
      env.call(`${room}.${method}`, ...args);
  return Object.fromEntries(methods.map((method) => [method, call(method)])) as unknown as T;
}

/** An instance of the channel function: one invocation after the other, and what SQS does with their answers. */
export function worker(first: readonly ReceivedMessage[], composition: Composition): Program {
  return async (env) => {
    let begun = env.clock().getTime();
    const handler = instance(composition, env);
    const getRemainingTimeInMillis = () => begun + FUNCTION_MS - env.clock().getTime();
    for (let batch = first; ; begun = env.clock().getTime()) {
      const done = doneOf(batch, await handler(eventOf(batch), { getRemainingTimeInMillis }));
      if (done.length > 0)
        await env.call(
          'queue.delete',
          done.map(({ message_id }) => message_id),
        );
      if (composition.instances === undefined) return;
      batch = revived(await env.call('instance.next'));
    }
  };
}

/** A batch as it was noted: times are texts there. */
function revived(batch: readonly ReceivedMessage[]): ReceivedMessage[] {
  return batch.map((received) => ({ ...received, sent_at: new Date(received.sent_at) }));
}

function instance({ pacing, breakers, gathering }: Composition, env: Env) {
  const { clock, random } = env;
  const pause = (ms: number) => env.call<void>('time.pause', ms);
  const store = portOf<BreakerStore>(env, 'breakers', 'list', 'first', 'read', 'write', 'takeSlot');
  const inner: ProviderGate = breakers
    ? new BreakerGate({ store, policy: BREAKER_POLICY, clock, random, pause, probe_ms: PROBE_MS })
    : PASS_THROUGH;
  const receiver: PacedGateDeps['receiver'] =
    pacing === 'account' ? ACCOUNT : async ({ tenant_id }) => ({ key: 'shared', tenant: tenant_id, per_second: 1 });
  const paced = pacing && pacedGate(env, { inner, channel: 'email', budgets: budgetsOf(env), receiver });
  return channelHandler(env, { gate: paced ?? inner, pacing: paced, gathered: gathering && 'one by one' });
}

/** What a composition of the channel function consists of, beside the ports of its environment. */
interface Parts {
  readonly gate: ProviderGate;
  readonly pacing?: Pacing | undefined;
  /** Whether the outcomes of a batch are gathered, and how the calls of one batch reach the world. */
  readonly gathered?: Gathered | undefined;
}

/** The deployed handler, whose calls all go to its environment. */
export function channelHandler(env: Env, { gate, pacing, gathered: how }: Parts): ReturnType<typeof createHandler> {
  const { clock, random } = env;
  const pause = (ms: number) => env.call<void>('time.pause', ms);
  const ports: Outcomes = {
    rows: portOf<ClaimStore>(env, 'rows', 'claim', 'read', 'change', 'settle'),
    records: portOf<RecordStore>(env, 'records', 'putIfAbsent', 'replace', 'find'),
    sender: { send: ({ log_id, attempt, content }) => env.call('provider.send', log_id, attempt, content.recipient) },
  };
  return createHandler(
    {
      ...(pacing && { pacing }),
      giveBack: (_, returned: readonly Returned[]) => env.call<number>('queue.giveBack', returned),
      queues: QUEUES,
      deliver: {
        ...(how === undefined ? ports : gathered(ports, pause, how)),
        contents: portOf<ContentStore>(env, 'contents', 'read'),
        retries: portOf<RetryQueue>(env, 'retries', 'send'),
        successors: portOf<SuccessorStore>(env, 'successors', 'copyContent', 'put'),
        gate,
        policy,
        clock,
        random,
        claim_ms: CLAIM_MS,
        inSendTime: (send) => send(new AbortController().signal),
        pause,
      },
    },
    observed(env),
  );
}

/** A gate whose plans read the rows of its environment. */
export function pacedGate(
  env: Env,
  given: Pick<PacedGateDeps, 'inner' | 'channel' | 'budgets' | 'receiver'>,
): PacedGate {
  const { clock } = env;
  const rows = portOf<ClaimStore>(env, 'rows', 'claim', 'read', 'change', 'settle');
  const pause = (ms: number) => env.call<void>('time.pause', ms);
  return new PacedGate({
    ...given,
    mayUse: async () => true,
    rowToSend: (received) => rowToSend(received, { rows, clock, policy }),
    policy,
    clock,
    pause,
  });
}

/** Budgets that grant or refuse as the world likes. */
function budgetsOf(env: Env): Budgets {
  return {
    // Pacer's own answer when its store fails: everything may be sent.
    reserve: (ask) => env.call<Allowance>('budget.reserve', ask),
    reserveAt: ({ key, lane }) => env.call<Allowance>('budget.reserve', { key, count: 1, use: lane, lane }),
    exceeded: async () => {},
    blocked: async () => {},
  };
}

interface Outcomes {
  readonly rows: ClaimStore;
  readonly records: RecordStore;
  readonly sender: Sender;
}

/** In the time of the world. */
export const scheduleBy =
  (pause: (ms: number) => Promise<void>): NonNullable<GatherOptions<unknown>['schedule']> =>
  (run, ms) => {
    let cancelled = false;
    void pause(ms).then(() => cancelled || run());
    return () => {
      cancelled = true;
    };
  };

type Gathered = 'one by one' | 'at once';

/** As delivery-stores.ts gathers: outcomes wait for those of sends that are under way, and share a call. */
function gathered({ rows, records, sender }: Outcomes, pause: (ms: number) => Promise<void>, how: Gathered): Outcomes {
  const sends = new SendsUnderWay();
  const options = { max: 25, wait_ms: SETTLE_WAIT_MS, schedule: scheduleBy(pause) };
  const each = async <I>(batch: readonly I[], run: (item: I) => Promise<boolean>) => {
    const tried = (item: I) => run(item).catch((error) => new GatheredError(error));
    if (how === 'at once') return Promise.all(batch.map(tried));
    const results: (boolean | GatheredError)[] = [];
    for (const item of batch) results.push(await tried(item));
    return results;
  };
  const putIfAbsent = gather<RetryRecord, boolean>((batch) => each(batch, (record) => records.putIfAbsent(record)), {
    ...options,
    hold: { sends, most_ms: RECORD_HOLD_MS },
  });
  const settle = gather<Parameters<ClaimStore['settle']>, boolean>(
    (batch) => each(batch, (args) => rows.settle(...args)),
    { ...options, hold: { sends, most_ms: SETTLEMENT_HOLD_MS } },
  );
  return {
    rows: { ...rows, settle: (row, change) => settle([row, change]) },
    records: { ...records, putIfAbsent },
    sender: { ...sender, send: (delivery, signal) => sends.during(() => sender.send(delivery, signal)) },
  };
}
