import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { between, type Draw, type VirtualTime } from '../engine/virtual-time.ts';
import { type Received, requestsFor, type SimulatedQueue } from './queue.ts';
import { type Death, WorkerProcess } from './worker-process.ts';

export interface EventSourceOptions {
  readonly concurrency: number;
  readonly batch: number;
  readonly window_ms: number;
  readonly timeout_ms: number;
  readonly memory_gb: number;
  /** Milliseconds in which messages are deleted. */
  readonly settle_ms: number;
  /**
   * Share of the invocations whose process dies now, 0…1, before or after one of this many calls; 50 unless given.
   */
  readonly faults: () => { readonly deaths: number; readonly calls?: number };
}

/** A deployed handler of a queue. */
export type Handler = (
  event: SQSEvent,
  context: { getRemainingTimeInMillis(): number },
) => Promise<Pick<SQSBatchResponse, 'batchItemFailures'>>;

/** A batch as Lambda hands it over. */
export function eventOf(batch: readonly Received<unknown>[]): SQSEvent {
  const Records = batch.map(({ message, message_id, sent_at, receive_count }) => ({
    messageId: message_id,
    receiptHandle: message_id,
    body: JSON.stringify(message),
    eventSourceARN: 'arn:aws:sqs:r:1:standard',
    attributes: { SentTimestamp: String(sent_at.getTime()), ApproximateReceiveCount: String(receive_count) },
  }));
  return { Records } as unknown as SQSEvent;
}

/** Those that do not come back: Lambda deletes them. */
export function doneOf<R extends { readonly message_id: string }>(
  batch: readonly R[],
  { batchItemFailures }: Awaited<ReturnType<Handler>>,
): readonly R[] {
  const back = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
  return batch.filter(({ message_id }) => !back.has(message_id));
}

/** What functions run on. */
export interface Machine {
  readonly time: VirtualTime;
  readonly draw: Draw;
  readonly onDeath: (worker: WorkerProcess, death: Death) => void;
  /** While true, nothing is received. */
  readonly paused: () => boolean;
}

interface Instance {
  readonly worker: WorkerProcess;
  readonly handle: Handler;
}

const COLD_START_MS = [300, 900] as const;
/** Lambda keeps an idle instance for some minutes. */
const IDLE_MS = 600_000;
const PAUSED_MS = 5_000;
/** A death is drawn before or after one of this many calls. */
const CALLS = 50;

/** Lambda's pollers on one queue, and the instances of the function that they invoke. */
export class EventSource<M> {
  readonly #time: VirtualTime;
  readonly #queue: SimulatedQueue<M>;
  readonly #start: (worker: WorkerProcess) => Handler;
  readonly #options: EventSourceOptions;
  readonly #machine: Machine;
  readonly #idle: Instance[] = [];
  #running = 0;
  #wakeAt = Number.POSITIVE_INFINITY;
  invocations = 0;
  #busy_ms = 0;

  /** @param start a new process of the function */
  constructor(
    machine: Machine,
    queue: SimulatedQueue<M>,
    start: (worker: WorkerProcess) => Handler,
    options: EventSourceOptions,
  ) {
    this.#time = machine.time;
    this.#machine = machine;
    this.#queue = queue;
    this.#start = start;
    this.#options = options;
    queue.onVisible = () => this.#wake(this.#time.now);
  }

  get gb_seconds(): number {
    return (this.#busy_ms / 1000) * this.#options.memory_gb;
  }

  /** Looks at the queue once at this time, however many messages come. */
  #wake(at: number): void {
    if (this.#running >= this.#options.concurrency || at >= this.#wakeAt) return;
    this.#wakeAt = at;
    this.#time.at(at, () => {
      if (this.#wakeAt !== at) return;
      this.#wakeAt = Number.POSITIVE_INFINITY;
      this.#poll();
    });
  }

  #poll(): void {
    if (this.#machine.paused()) {
      this.#wake(this.#time.now + PAUSED_MS);
      return;
    }
    const { concurrency, batch, window_ms } = this.#options;
    while (this.#running < concurrency && this.#queue.visible > 0) {
      const full = this.#queue.visible >= batch;
      const ready = full ? this.#time.now : (this.#queue.oldestVisible() ?? 0) + window_ms;
      if (ready > this.#time.now) {
        this.#wake(ready);
        return;
      }
      const messages = this.#queue.receive(batch);
      if (messages.length === 0) return;
      void this.#invoke(messages);
    }
  }

  async #invoke(messages: readonly Received<M>[]): Promise<void> {
    const { timeout_ms } = this.#options;
    const { deaths, calls = CALLS } = this.#options.faults();
    this.#running += 1;
    this.invocations += 1;
    const { instance, cold } = this.#instance();
    const { worker } = instance;
    if (cold > 0) await this.#time.pause(cold);
    const began = this.#time.now;
    worker.dieAt(
      this.#machine.draw() < deaths ? Math.floor(this.#machine.draw() * calls * 2) : Number.POSITIVE_INFINITY,
    );
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      this.#running -= 1;
      this.#busy_ms += this.#time.now - began;
      worker.lastUsed = this.#time.now;
      if (!worker.dead) this.#idle.push(instance);
      this.#wake(this.#time.now);
    };
    worker.onEnd = end;
    this.#time.at(began + timeout_ms, () => {
      if (!over) worker.die('timeout');
    });
    const getRemainingTimeInMillis = () => began + timeout_ms - this.#time.now;
    const answer = await instance.handle(eventOf(messages), { getRemainingTimeInMillis });
    await worker.call(this.#options.settle_ms, () => {
      this.#queue.requests += requestsFor(messages.length);
      for (const { message_id } of doneOf(messages, answer)) this.#queue.delete(message_id);
    });
    end();
  }

  /** The instance that was used last, as Lambda prefers it, or a new one. */
  #instance(): { instance: Instance; cold: number } {
    const warm = this.#idle.pop();
    if (warm !== undefined && this.#time.now - warm.worker.lastUsed < IDLE_MS) return { instance: warm, cold: 0 };
    this.#idle.length = 0;
    const worker = new WorkerProcess(this.#time, (dead, death) => {
      this.#machine.onDeath(dead, death);
      dead.onEnd();
    });
    return { instance: { worker, handle: this.#start(worker) }, cold: between(this.#machine.draw, ...COLD_START_MS) };
  }
}
