import type { ChannelPorts, ChannelSettings } from '../../../functions/shared/channel/channel-function.ts';
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
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import type { SuccessorStore } from '../../../src/core/delivery/failover.ts';
import { CLAIM_MS, SEND_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import type { ClaimStore, ContentStore, RecordStore, RetryQueue } from '../../../src/core/delivery/ports.ts';
import type { RetryRecord } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { Env } from './actor.ts';

const nothing = () => {};

/** Logs nothing, but a defect must not hide in the report of a message. @param counted is told of each metric */
export function observed({ fault }: Env, counted: (metric: string) => void = nothing): Observability {
  const error = (_: string, line?: { readonly error?: unknown }) => line?.error !== undefined && fault(line.error);
  const single = { addDimensions: nothing, addMetric: nothing };
  const metrics = { addMetric: counted, singleMetric: () => single, hasStoredMetrics: () => false };
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

/** As a stage has them whose configuration says nothing else. */
export const SETTINGS: ChannelSettings = {
  policy: DEFAULT_RETRY_POLICY,
  breaker: DEFAULT_BREAKER_POLICY,
  send_ms: SEND_MS,
  claim_ms: CLAIM_MS,
  queues: { express: 'https://sqs/1/express', standard: 'https://sqs/1/standard' },
};

/**
 * What a channel's function reaches, all by calls to its environment.
 * @param how the outcomes of a batch share calls, as in the deployed stores, and how those of a call reach the world
 */
export function channelPorts(env: Env, how?: Gathered): Omit<ChannelPorts, 'breakers' | 'budgets' | 'receiver'> {
  const pause = (ms: number) => env.call<void>('time.pause', ms);
  const sends = new SendsUnderWay();
  const outcomes = {
    rows: portOf<ClaimStore>(env, 'rows', 'claim', 'read', 'change', 'settle'),
    records: portOf<RecordStore>(env, 'records', 'putIfAbsent', 'replace', 'find'),
  };
  return {
    ...(how === undefined ? outcomes : gathered(outcomes, { sends, pause, how })),
    contents: portOf<ContentStore>(env, 'contents', 'read'),
    retries: portOf<RetryQueue>(env, 'retries', 'send'),
    successors: portOf<SuccessorStore>(env, 'successors', 'copyContent', 'put'),
    giveBack: (_, returned) => env.call<number>('queue.giveBack', returned),
    sends,
    sender: { send: ({ log_id, attempt, content }) => env.call('provider.send', log_id, attempt, content.recipient) },
    mayUse: async () => true,
    inSendTime: (send) => send(new AbortController().signal),
    clock: env.clock,
    random: env.random,
    pause,
  };
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

interface Gathering extends Pick<ChannelPorts, 'sends' | 'pause'> {
  readonly how: Gathered;
}

/** A twin of delivery-stores.ts: outcomes wait for those of sends that are under way, and share a call. */
function gathered(
  { rows, records }: Pick<ChannelPorts, 'rows' | 'records'>,
  { sends, pause, how }: Gathering,
): Pick<ChannelPorts, 'rows' | 'records'> {
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
  };
}
