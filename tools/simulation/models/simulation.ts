import type { Problem } from '../../../src/core/model/problem.ts';
import type { Auditor } from '../audit/auditor.ts';
import { createRandom, START, VirtualTime } from '../engine/virtual-time.ts';
import type { EventSource, Machine } from './event-source.ts';
import type { SimulatedQueue } from './queue.ts';
import type { WorkerProcess } from './worker-process.ts';

/** The auditor reads one message in this many. */
const READ_EVERY = 101;

/** What every simulation has, whatever it sends. */
export abstract class Simulation {
  readonly time = new VirtualTime(START);
  readonly seed: number;
  /** How often something happened, by its name. */
  readonly counts: Record<string, number> = {};
  /** What receivers accepted, by second since the start. */
  readonly bySecond: number[] = [];
  /** The functions on the queues. */
  readonly sources: Pick<EventSource<never>, 'invocations' | 'gb_seconds'>[] = [];
  abstract readonly auditor: Pick<Auditor, 'threw' | 'queued' | 'result'>;
  #messages = 0;

  constructor(seed: number) {
    this.seed = seed;
  }

  /** What the functions of one queue run on. */
  protected machineOf(name: string, ended: (worker: WorkerProcess) => void, paused = () => false): Machine {
    const onDeath: Machine['onDeath'] = (worker, death) => {
      this.count(`workers ${death}`);
      ended(worker);
    };
    return { time: this.time, draw: createRandom(this.seed, name), onDeath, paused };
  }

  count(name: string, by = 1): void {
    if (by > 0) this.counts[name] = (this.counts[name] ?? 0) + by;
  }

  accepted(count = 1): void {
    const second = Math.floor((this.time.now - START.getTime()) / 1000);
    this.bySecond[second] = (this.bySecond[second] ?? 0) + count;
  }

  abstract allQueues(): readonly Pick<SimulatedQueue<never>, 'visible' | 'delayed' | 'inFlight' | 'requests'>[];

  /** Messages in all queues. */
  get queued(): number {
    return this.allQueues().reduce((sum, { visible, delayed, inFlight }) => sum + visible + delayed + inFlight, 0);
  }

  send<M>(queue: SimulatedQueue<M>, message: NoInfer<M>, delay_seconds = 0): void {
    if (this.#messages++ % READ_EVERY === 0) this.auditor.queued(JSON.stringify(message));
    queue.send(message, delay_seconds);
  }

  /** An error that a function threw or logged: what is no refusal of storage is a defect. */
  readonly fault = (error: unknown): void => {
    const { name = '', problem = name } = error as Partial<Problem>;
    if (['unavailable', 'ThrottlingException', 'StorageUnavailableError', 'OpenCallError'].includes(problem)) return;
    this.auditor.threw(error instanceof Error ? (error.stack ?? error.message) : String(error));
  };
}
