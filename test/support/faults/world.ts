import { RECORD_LIMIT_MS } from '../../../src/adapters/dynamodb/delivery/time-limit.ts';
import { MemoryBreakers } from '../../../src/adapters/memory/memory-breakers.ts';
import { createMemoryIntake } from '../../../src/adapters/memory/memory-intake.ts';
import { MemoryQueue } from '../../../src/adapters/memory/memory-queue.ts';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import { type DeliverBatchDeps, deliverBatch } from '../../../src/core/delivery/deliver-batch.ts';
import type { DeliveryReport } from '../../../src/core/delivery/delivery-report.ts';
import { successorId } from '../../../src/core/delivery/failover.ts';
import type { ClaimStore } from '../../../src/core/delivery/ports.ts';
import type { ProviderGate } from '../../../src/core/delivery/provider-gate.ts';
import { applyDeliveryEvent } from '../../../src/core/delivery-events/apply-delivery-event.ts';
import type { DeliveryEvent } from '../../../src/core/delivery-events/delivery-event.ts';
import { indexRow } from '../../../src/core/indexing/index-row.ts';
import { accept } from '../../../src/core/intake/accept.ts';
import { arrived } from '../../../src/core/model/delivery-by-attempt.ts';
import type { QueuedMessage } from '../../../src/core/model/lanes.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import type { Priority } from '../../../src/core/model/priorities.ts';
import { Problem } from '../../../src/core/model/problem.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { BASE_SHARDS, MOST_SHARDS, shardsForWriting } from '../../../src/core/model/work/index-shards.ts';
import { parseWorkQueue } from '../../../src/core/model/work-index.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-request.ts';
import { Dispatcher, type SweepFaults } from './dispatcher.ts';
import { gathered } from './gathered.ts';
import { hostileRow, isHostile } from './hostile-rows.ts';
import { Provider, type Script } from './provider.ts';
import { Crash, eventually, type FaultPlan, Throttled, through, Unanswered, Worker } from './worker.ts';

export const CLAIM_MS = 65_000;
/** So often a worker asks RetryLog and then the row to keep an accepted attempt; if both refuse, it gives up (0074). */
const TRIES_OF_BOTH = 5;
const VISIBILITY_MS = 360_000;
const MAX_RECEIVE_COUNT = 5;
const MINUTE = 60_000;
const PROBE_MS = 25_000;
/** A worker lives no longer. */
const FUNCTION_MS = 60_000;
const SLOW_MS = 3_000;
/** A worker's window lasts one batch here, so a few failures must suffice. */
const BREAKER_POLICY = { ...DEFAULT_BREAKER_POLICY, min_samples: 2, drain_per_second: 1, most_per_second: 1 };

export interface Given {
  readonly log_id: string;
  readonly priority: Priority;
  readonly script: Script;
  /** The row names a fallback. */
  readonly fallback?: boolean;
}

/** The pipeline on the in-memory twins, with time, queues and deaths under the test's control. */
export class World {
  #now = Date.parse('2026-03-01T10:30:00.000Z');
  readonly clock = () => new Date(this.#now);
  readonly tables = new MemoryTables(this.clock);
  readonly queue = new MemoryQueue({
    clock: this.clock,
    visibility_ms: VISIBILITY_MS,
    max_receive_count: MAX_RECEIVE_COUNT,
  });
  readonly breakers = new MemoryBreakers();
  readonly provider: Provider;
  readonly given: readonly Given[];
  /**
   * By notification: number of workers that died between the provider's acceptance and the retry record, or were
   * refused by both tables.
   */
  readonly excused = new Map<string, number>();
  readonly reports: DeliveryReport[] = [];
  readonly dispatcher: Dispatcher;
  /** While true, RetryLog refuses every call. */
  recordsRefused = false;
  /** So many attempts are held for a second each, as by a budget that is used up. */
  holds = 0;
  /** While true, RetryLog answers no call. */
  recordsHang = false;
  /** While true, SQS refuses the messages of workers. */
  queueRefused = false;
  /** Worker processes that died. */
  deaths = 0;
  #runs = 0;
  /** The newest claim of each row. */
  readonly #claims = new Map<string, string>();
  readonly #intake = createMemoryIntake(this.tables);
  #seed = 42;

  private constructor(given: readonly Given[]) {
    this.given = given;
    const scripts = new Map(given.map(({ log_id, script }) => [log_id, script]));
    const row = (log_id: string) => this.tables.row(log_id);
    this.provider = new Provider(
      scripts,
      row,
      () => this.#now,
      (log_id) => this.#notBefore(log_id),
    );
    this.dispatcher = new Dispatcher({
      tables: this.tables,
      queue: this.queue,
      clock: this.clock,
      advance: (ms) => this.advance(ms),
      work: () => this.work(),
    });
  }

  /**
   * Starts with indexed rows of BATCH-951.
   * @param configured the shards of the stage while it took them in; later rows are spread over those that are marked
   */
  static async of(given: readonly Given[], configured = BASE_SHARDS): Promise<World> {
    const world = new World(given);
    const shards = await shardsForWriting(configured, world.tables.shards)();
    for (const { log_id, priority, fallback } of given) {
      const row = {
        log_id,
        tenant_id: `tenant-${log_id.length % 2}`,
        channel: 'webhook',
        priority,
        send_status: 'FAILED',
        send_attempts: 1,
        // Half of them share one provider.
        ...(log_id.length % 2 === 0 && { integration_config_id: 'IC1' }),
        recipient_address: `to ${log_id}`,
        ...(fallback && { fallback_channel: 'email', fallback_recipient: `to ${successorId(log_id)}` }),
        message_body: `words for ${log_id}`,
      };
      world.tables.log.set(log_id, row);
      await indexRow(
        { row, sequence: '1' },
        {
          store: world.tables,
          shards,
          policy: DEFAULT_RETRY_POLICY,
          clock: world.clock,
        },
      );
    }
    return world;
  }

  /** Someone puts a row that breaks a rule into the work index. @param seen whether the stream shows it to the indexer */
  async putHostile(kind: number, seen: boolean): Promise<void> {
    const row = hostileRow(kind, this.clock());
    this.tables.log.set(row.log_id, { ...row });
    if (!seen) return;
    const { tables: store, clock } = this;
    await indexRow({ row, sequence: '1' }, { store, policy: DEFAULT_RETRY_POLICY, clock });
  }

  advance(ms: number): void {
    this.#now += ms;
  }

  async sweep(plan: FaultPlan & SweepFaults = {}, request: SweepRequest = {}): Promise<Worker> {
    const worker = this.#worker(plan);
    await this.dispatcher.sweep(worker, request, plan).catch(ignoreFaults);
    return worker;
  }

  /** One request of a producer, with the log_id as its key. @returns true when the answer is 202 */
  async handOver(log_id: string, plan: FaultPlan = {}): Promise<boolean> {
    const worker = this.#worker(plan);
    const notification = {
      channel: 'webhook',
      priority: 'normal',
      recipient: `to ${log_id}`,
      body: `words for ${log_id}`,
      format: 'PLAIN',
    } as const;
    const lanes = through(worker, 'lanes', {
      send: async ({ message, delay_seconds }: QueuedMessage) => this.queue.send(message, delay_seconds),
    });
    try {
      const { message } = await accept(
        { tenant_id: 'tenant-1', notification, request_hash: 'hash', logId: () => log_id },
        {
          store: through(worker, 'intake', this.#intake),
          records: through(worker, 'records', this.tables.records),
          policy: DEFAULT_RETRY_POLICY,
          shards: shardsForWriting(BASE_SHARDS, this.tables.shards),
          clock: this.clock,
          newId: () => String(++this.#runs),
        },
      );
      // The request is answered even if the lane does not take the message.
      if (message !== undefined) await lanes.send(message).catch(ignoreFaults);
      return !worker.dead;
    } catch (error) {
      if (!(error instanceof Problem)) ignoreFaults(error);
      return false;
    }
  }

  /** One invocation of the channel function on up to ten messages. */
  async work(plan: FaultPlan = {}, messages = this.queue.receive(10)): Promise<Worker> {
    const worker = this.#worker(plan, () => this.#othersWork());
    const before = new Map(messages.map(({ message: { log_id } }) => [log_id, this.#acceptedUnrecorded(log_id)]));
    const reports = await deliverBatch(messages, this.#deps(worker));
    await worker.ended();
    const bothRefused = (worker.refusals.get('rows.settle') ?? 0) >= TRIES_OF_BOTH;
    if (worker.dead || bothRefused) this.#excuse(before);
    if (worker.dead) {
      this.deaths += 1;
      return worker;
    }
    this.reports.push(...reports);
    for (const { log_id, error } of reports)
      if (error !== undefined && !isFault(error)) this.provider.violations.push(`${log_id}: ${String(error)}`);
    reports.forEach(({ disposition }, i) => {
      const id = messages[i]?.message_id ?? '';
      if (disposition.do === 'done') this.queue.delete(id);
      else this.queue.returnAfter(id, disposition.do === 'return' ? disposition.after_seconds : 0);
    });
    return worker;
  }

  /** Nobody could keep what the provider has accepted since. */
  #excuse(before: ReadonlyMap<string, number>): void {
    for (const [log_id, open] of before) {
      const more = this.#acceptedUnrecorded(log_id) - open;
      if (more > 0) this.excused.set(log_id, (this.excused.get(log_id) ?? 0) + more);
    }
  }

  /** One invocation of the function of delivery events. @returns true when the event need not come back */
  async tell(event: DeliveryEvent, plan: FaultPlan = {}): Promise<boolean> {
    const worker = this.#worker(plan);
    try {
      const { rows: _, records, retries, policy, clock, random } = this.#deps(worker);
      const rows = through(worker, 'rows', this.tables.eventRows);
      const report = await applyDeliveryEvent(event, { rows, records, retries, policy, clock, random });
      return report.again_after_seconds === undefined;
    } catch (error) {
      ignoreFaults(error);
      return false;
    }
  }

  /** Works without faults until no message is visible. */
  async drain(plan: FaultPlan = {}): Promise<void> {
    for (let messages = this.queue.receive(10); messages.length > 0; messages = this.queue.receive(10)) {
      await this.work(plan, messages);
    }
  }

  /** Moves the time on, with a sweep per hour and without faults, until no work is left. */
  async settleDown(plan: FaultPlan = {}): Promise<void> {
    this.provider.down = false;
    this.recordsRefused = false;
    this.recordsHang = false;
    for (let quarter = 0; quarter < 4 * 30 && (this.#unfinished() || this.queue.messages.length > 0); quarter++) {
      if (quarter % 4 === 0) await (this.#isDue() ? this.sweep() : this.dispatcher.findNothing());
      await this.drain(plan);
      this.advance(15 * MINUTE);
    }
  }

  /** All but the hostile ones. */
  rows(): NotificationRow[] {
    return this.#all().filter(({ log_id }) => !isHostile(log_id));
  }

  hostileRows(): NotificationRow[] {
    return this.#all().filter(({ log_id }) => isHostile(log_id));
  }

  #all(): NotificationRow[] {
    return [...this.tables.log.keys()].flatMap((log_id) => this.tables.row(log_id) ?? []);
  }

  records(log_id: string) {
    return [...this.tables.retryLog.values()].filter((record) => record.original_log_id === log_id);
  }

  inIndex(state: 'due' | 'dead', log_id: string): boolean {
    const work_queue = this.tables.log.get(log_id)?.['work_queue'];
    const queue = typeof work_queue === 'string' ? parseWorkQueue(work_queue) : undefined;
    return queue !== undefined && queue.state === state && queue.shard < MOST_SHARDS;
  }

  /**
   * The operator decides when a redrive or a forced attempt is made; any other attempt obeys the last recorded
   * backoff.
   */
  #notBefore(log_id: string): number {
    const last = this.records(log_id).sort((a, b) => b.retry_attempt - a.retry_attempt)[0];
    return last?.failure_reason === undefined ? Date.parse(last?.next_retry_at ?? '') || 0 : 0;
  }

  /** Repeatable draws (a linear congruential generator). */
  #random(): number {
    this.#seed = (this.#seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return this.#seed / 2 ** 32;
  }

  /** Whether a sweep would find anything. */
  #isDue(): boolean {
    const until = new Date(this.#now + 15 * MINUTE).toISOString();
    const isSoon = (work_at: unknown) => String(work_at) <= until;
    return [...this.tables.log].some(([log_id, row]) => isSoon(row['work_at']) && this.inIndex('due', log_id));
  }

  #unfinished(): boolean {
    return [...this.tables.log.keys()].some((log_id) => this.inIndex('due', log_id));
  }

  #acceptedUnrecorded(log_id: string): number {
    const recorded = this.records(log_id).filter(({ retry_status }) => retry_status === 'SUCCESS').length;
    const owed = this.tables.row(log_id)?.record_due === undefined ? 0 : 1;
    return (this.provider.accepted.get(log_id) ?? 0) - recorded - owed;
  }

  /** NotificationLog, with a note of each claim on a row whose events had shown before that it arrived. */
  readonly #rows: ClaimStore = {
    ...this.tables.rows,
    claim: async (...args) => this.#noted(args[0].log_id, await this.tables.rows.claim(...args)),
    change: async (row, change) => this.#noted(row.log_id, await this.tables.rows.change(row, change)),
  };

  #noted<T>(log_id: string, result: T): T {
    const row = this.tables.row(log_id);
    if (row?.send_status === 'SENDING' && row.claim_id !== this.#claims.get(log_id)) {
      this.#claims.set(log_id, row.claim_id ?? '');
      this.provider.arrivedBefore.set(log_id, arrived(row.delivery_by_attempt));
    }
    return result;
  }

  #held(gate: ProviderGate): ProviderGate {
    return {
      admit: async (row, forced) => {
        if (this.holds <= 0) return gate.admit(row, forced);
        this.holds -= 1;
        const until = new Date(this.#now + 1_000).toISOString();
        return { do: 'hold', until, error_type: 'RATE_LIMITED', by: { budget: row.channel } };
      },
    };
  }

  /** Seconds pass, in which other workers take what becomes visible. */
  async #othersWork(): Promise<void> {
    await eventually();
    this.advance(SLOW_MS);
    await this.drain();
  }

  #worker(plan: FaultPlan, slow = eventually): Worker {
    const began = this.#now;
    return new Worker(plan, {
      refused: (port) => this.recordsRefused && port.startsWith('records.'),
      hung: (port) => {
        const hangs = this.recordsHang && port.startsWith('records.');
        if (hangs) this.advance(RECORD_LIMIT_MS);
        return { hangs, outOfTime: hangs && this.#now - began > FUNCTION_MS };
      },
      slow,
    });
  }

  #deps(worker: Worker): DeliverBatchDeps {
    return {
      ...gathered({
        rows: through(worker, 'rows', this.#rows),
        records: through(worker, 'records', this.tables.records),
        sender: this.provider.senderFor(worker),
      }),
      contents: through(worker, 'contents', this.tables.contents),
      successors: through(worker, 'successors', this.tables.successors),
      retries: through(worker, 'retries', {
        send: async (message, delay_seconds) => {
          if (this.queueRefused) throw new Throttled('SQS is down');
          this.queue.send(message, delay_seconds);
        },
      }),
      gate: this.#held(
        new BreakerGate({
          store: through(worker, 'breakers', this.breakers.store),
          policy: BREAKER_POLICY,
          clock: this.clock,
          pause: eventually,
          probe_ms: PROBE_MS,
        }),
      ),
      policy: DEFAULT_RETRY_POLICY,
      clock: this.clock,
      random: () => this.#random(),
      pause: async () => {},
      outOfTime: () => false,
      claim_ms: CLAIM_MS,
      sendTimeout: () => new AbortController().signal,
    };
  }
}

function ignoreFaults(error: unknown): void {
  if (!isFault(error)) throw error;
}

/** Whether a test injected the error; any other one is a defect. */
function isFault(error: unknown): boolean {
  const injected = error instanceof Crash || error instanceof Unanswered;
  return injected || (error as Error).name === 'ThrottlingException';
}
