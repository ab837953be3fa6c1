import { LANE_SETTINGS } from '../../../lib/config/lane-config.ts';
import { CHANNELS, type Channel, LANES, type Lane, type PerLane } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import type { QueueMessage } from '../../../src/core/model/queue-message.ts';
import { PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import type { DueIndex } from '../../../src/core/model/work-index.ts';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import { Auditor } from '../audit/auditor.ts';
import { createRandom, type Draw, START } from '../engine/virtual-time.ts';
import { ThrottledError } from '../models/capacity.ts';
import type { Machine } from '../models/event-source.ts';
import { Provider } from '../models/provider.ts';
import { SimulatedQueue } from '../models/queue.ts';
import { Simulation } from '../models/simulation.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { MemoryBreakers, MemoryPacing } from '../twins/pipeline-state.ts';
import { rowOf, Tables, type TableWatcher } from '../twins/tables.ts';
import type { Env } from '../world/actor.ts';
import { type Cohort, Observer } from './observer.ts';

/** As lib/constructs/lanes/channel-lanes.ts sets them. */
const SIX_TIMEOUTS_MS = 360_000;
/** Milliseconds for which a lane's function waits for a full batch. */
export const windowOf = (channel: Channel, lane: Lane): number =>
  1_000 * LANE_SETTINGS.batchWindowSeconds.standard[channel][lane];
const QUEUE_OPTIONS = { max_receives: 5, groupOf: ({ tenant_id }: QueueMessage) => tenant_id };
/** Milliseconds of a page of the work index. */
const INDEX_MS = 8;
/** Milliseconds for a row that the dispatcher walks over, sent or not: 8 µs of CPU at 256 MB, a seventh of a core. */
const ROW_MS = 0.055;
/** What a refused call takes, with the client's own retries. */
const REFUSED_MS = 300;

/** What the calls of deployed code do, by their names. */
export type Ports = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

/** All parts of one simulation. */
export class World extends Simulation {
  readonly scenario: Scenario;
  readonly draw: Draw;
  readonly tables: Tables;
  readonly auditor: Auditor;
  readonly observer: Observer;
  readonly breakers = new MemoryBreakers();
  readonly budgets = new MemoryPacing();
  readonly concurrency: PerLane<number>;
  readonly queues: PerLane<SimulatedQueue<QueueMessage>>;
  readonly #providers = new Map<string, Provider>();
  readonly #cohorts: Cohort[] = [];

  constructor(scenario: Scenario, seed: number) {
    super(seed);
    this.scenario = scenario;
    this.draw = createRandom(seed, 'worker');
    const { time } = this;
    const cohort = (row: number) => this.#cohorts[row] ?? UNKNOWN;
    const { clocks = [0] } = scenario;
    const apart = Math.max(...clocks) - Math.min(...clocks);
    this.auditor = new Auditor((row) => cohort(row).priority, apart);
    this.observer = new Observer(START.getTime(), cohort);
    const watcher: TableWatcher = {
      written: (row, before, after) => {
        this.auditor.written(row, before, after, time.now);
        const { send_status, failure_reason } = after as Partial<NotificationRow>;
        if (send_status !== 'SENDING') this.observer.changed(row, String(send_status), failure_reason);
      },
      recorded: (row, record) => this.auditor.recorded(row, { ...record }),
    };
    this.tables = new Tables(time, watcher, scenario.indexShards);
    const perChannel = <T>(of: (channel: Channel, lane: Lane) => T) =>
      Object.fromEntries(
        CHANNELS.map((channel) => [channel, Object.fromEntries(LANES.map((lane) => [lane, of(channel, lane)]))]),
      ) as PerLane<T>;
    this.concurrency = perChannel(
      (channel, lane) => scenario.concurrency?.[channel]?.[lane] ?? LANE_SETTINGS.concurrency.standard[channel][lane],
    );
    this.queues = perChannel(
      (channel, lane) =>
        new SimulatedQueue(time, { ...QUEUE_OPTIONS, visibility_ms: SIX_TIMEOUTS_MS + windowOf(channel, lane) }),
    );
  }

  /** A new notification; its cohort names those whose waits are counted with its own. */
  given(row: number, cohort: Cohort): void {
    this.#cohorts[row] = cohort;
    this.observer.handedOver(row, this.time.now);
  }

  /** Whether the partition of the index takes a new row now; asked only where the scenario sets its shards. */
  takesRow(work_queue: string): boolean {
    if (this.scenario.indexShards === undefined) return true;
    try {
      return this.tables.wait(work_queue, 1) >= 0;
    } catch (error) {
      if (!(error instanceof ThrottledError)) throw error;
      this.count('rows refused');
      return false;
    }
  }

  allQueues(): SimulatedQueue<QueueMessage>[] {
    return CHANNELS.flatMap((channel) => LANES.map((lane) => this.queues[channel][lane]));
  }

  /** What a channel's functions on a lane run on. */
  machine(name: string): Machine {
    return this.machineOf(
      name,
      (worker) => this.auditor.died(worker),
      () => this.isBlackout(),
    );
  }

  /** Puts a message into its lane. */
  queue(message: QueueMessage, delay_seconds: number): void {
    this.send(this.queues[message.channel][PRIORITY_POLICY[message.priority].lane], message, delay_seconds);
  }

  /** An operator sends these dead letters again. */
  redriving(letters: readonly { readonly message: QueueMessage }[]): void {
    for (const { message } of letters) this.auditor.redriven(rowOf(message.log_id), message.log_id);
  }

  /** Whether the region's storage and queues refuse every call now. */
  isBlackout(): boolean {
    const at = (this.time.now - START.getTime()) / 1000;
    return this.scenario.blackouts?.some(({ from, until }) => from <= at && at < until) ?? false;
  }

  /** A call of a worker to storage. @param wait the milliseconds by which its partition delays it */
  storageCall<T>(worker: WorkerProcess, ms: number, wait: () => number, run: () => T | Promise<T>): Promise<T> {
    if (this.isBlackout()) {
      return worker.call(REFUSED_MS, () => {
        this.auditor.refused(worker);
        return refuse('The region is down.');
      });
    }
    try {
      return worker.call(ms + wait(), run);
    } catch (error) {
      if (!(error instanceof ThrottledError)) throw error;
      return worker.call(REFUSED_MS, () => Promise.reject(error));
    }
  }

  provider(row: number): Provider {
    const { channel, integration_config_id = '' } = this.tables.row(row);
    const name = this.scenario.perReceiver?.includes(channel) ? `${channel} ${integration_config_id}` : channel;
    const there = this.#providers.get(name);
    if (there !== undefined) return there;
    const { outages = [], ...options } = this.scenario.providers[channel] ?? { latency_ms: [20, 300] };
    const at = (seconds: number) => START.getTime() + seconds * 1000;
    const absolute = outages.map(({ from, until, answers }) => ({ from: at(from), until: at(until), answers }));
    const made = new Provider({ ...options, outages: absolute }, createRandom(this.seed, `provider ${name}`));
    this.#providers.set(name, made);
    return made;
  }

  /** The work index, as the dispatcher reads it. */
  readonly index: DueIndex = {
    shards: () => this.tables.index.shards(),
    page: async (queue, query) => {
      if (this.isBlackout()) throw new ThrottledError('The region is down.');
      const page = await this.tables.index.page(queue, query);
      // Pages are asked for side by side, and read by one processor.
      this.#walkedUntil = Math.max(this.#walkedUntil, this.time.now) + page.items.length * ROW_MS;
      await this.time.pause(this.#walkedUntil - this.time.now + INDEX_MS);
      return page;
    },
  };
  #walkedUntil = 0;

  get throttledByProviders(): number {
    return [...this.#providers.values()].reduce((sum, { throttled }) => sum + throttled, 0);
  }

  /** What SES answers about the account. */
  accountLimits(): AccountLimits {
    const { per_second = 14, per_day } = this.scenario.account ?? {};
    return {
      per_second,
      ...(per_day !== undefined && { max_24h: per_day }),
      sent_24h: this.#providers.get('email')?.sentToday ?? 0,
      sending: true,
      enforcement: 'HEALTHY',
      production: true,
    };
  }

  /** What deployed code sees of the world. @param wrong_ms by which the clock of its instance is wrong */
  env(ports: Ports, wrong_ms = 0): Env {
    const { time, draw, fault } = this;
    const call = <T>(port: string, ...args: unknown[]) => {
      const run = ports[port];
      if (run === undefined) throw new Error(`The simulation has no ${port}.`);
      return run(...(args as never[])) as Promise<T>;
    };
    return { call, clock: () => new Date(time.now + wrong_ms), random: draw, fault };
  }
}

const UNKNOWN: Cohort = { group: 'unknown', priority: 'normal' };

function refuse(why: string): never {
  throw new ThrottledError(why);
}
