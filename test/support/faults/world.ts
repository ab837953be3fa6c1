import { MemoryQueue } from '../../../src/adapters/memory/memory-queue.ts';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { deliverBatch } from '../../../src/core/delivery/deliver-batch.ts';
import type { DeliveryReport } from '../../../src/core/delivery/delivery-report.ts';
import { FUNCTION_MS, RECORD_CALL_MS } from '../../../src/core/delivery/policy/attempt-times.ts';
import { applyDeliveryEvent } from '../../../src/core/delivery-events/apply-delivery-event.ts';
import type { DeliveryEvent } from '../../../src/core/delivery-events/delivery-event.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { BASE_SHARDS, MOST_SHARDS } from '../../../src/core/model/work/index-shards.ts';
import { parseWorkQueue } from '../../../src/core/model/work-index.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-request.ts';
import { ChannelFunction } from './channel-function.ts';
import { Dispatcher, type SweepFaults } from './dispatcher.ts';
import { type Given, putHostile, takeIn } from './given.ts';
import { isHostile } from './hostile-rows.ts';
import { Producer } from './producer.ts';
import { Provider } from './provider.ts';
import { eventually, type FaultPlan, ignoreFaults, isFault, through, Worker } from './worker.ts';

/** So often a worker asks RetryLog and then the row to keep an accepted attempt; if both refuse, it gives up. */
const TRIES_OF_BOTH = 5;
const VISIBILITY_MS = 360_000;
const MAX_RECEIVE_COUNT = 5;
const MINUTE = 60_000;
const SLOW_MS = 3_000;

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
  readonly provider: Provider;
  readonly channel: ChannelFunction;
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
  /** While true, RetryLog answers no call. */
  recordsHang = false;
  /** Worker processes that died. */
  deaths = 0;
  readonly #producer: Producer;

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
    const { tables, queue, clock, provider } = this;
    this.channel = new ChannelFunction({ tables, queue, clock, provider });
    this.#producer = new Producer(tables, queue, clock);
    this.dispatcher = new Dispatcher({
      tables,
      queue,
      clock,
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
    await takeIn(given, configured, world);
    return world;
  }

  putHostile(kind: number, seen: boolean): Promise<void> {
    return putHostile(kind, seen, this);
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
  handOver(log_id: string, plan: FaultPlan = {}): Promise<boolean> {
    return this.#producer.handOver(log_id, this.#worker(plan));
  }

  /** One invocation of the channel function on up to ten messages. */
  async work(plan: FaultPlan = {}, messages = this.queue.receive(10)): Promise<Worker> {
    const worker = this.#worker(plan, () => this.#othersWork());
    const before = new Map(messages.map(({ message: { log_id } }) => [log_id, this.#acceptedUnrecorded(log_id)]));
    const reports = await deliverBatch(messages, this.channel.deps(worker));
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
      const { rows: _, records, retries, policy, clock, random } = this.channel.deps(worker);
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
        if (hangs) this.advance(RECORD_CALL_MS);
        return { hangs, outOfTime: hangs && this.#now - began > FUNCTION_MS };
      },
      slow,
    });
  }
}
