import { between, type Draw } from '../engine/random.ts';
import { START, type VirtualTime } from '../engine/virtual-time.ts';
import { ThrottledError } from '../models/capacity.ts';
import type { WorkerProcess } from '../models/worker-process.ts';
import type { Faults } from '../scenarios/newsletter-scenario.ts';

/** What the calls of a process meet. */
export interface Surroundings {
  readonly time: VirtualTime;
  readonly draw: Draw;
  readonly faults: Pick<Faults, 'failing' | 'stalling' | 'outages'>;
}

/** Milliseconds of a call to DynamoDB and to SQS. */
export const CALL_MS = [1, 12] as const;
export const STALL_MS = 400_000;

/** A call of a worker to storage or a queue. It may fail: before it was applied, or after. An outage is of storage. */
export function stored<A extends readonly unknown[], T>(
  around: Surroundings,
  worker: WorkerProcess,
  run: (...args: A) => Promise<T>,
  queue = false,
): (...args: A) => Promise<T> {
  const { time, draw } = around;
  return async (...args) => {
    const { failing, stalling } = around.faults;
    const answer = await worker.call(Math.floor(between(draw, ...CALL_MS)), async () => {
      const fails = (!queue && isDown(around)) || (failing > 0 && draw() < failing);
      if (fails && draw() < 0.5) throw new ThrottledError('slow down');
      const result = await run(...args);
      if (fails) throw new ThrottledError('the answer was lost');
      return result;
    });
    if (stalling > 0 && draw() < stalling) await time.pause(draw() * STALL_MS);
    return answer;
  };
}

/** Each method of a port as a call of the worker. */
export function through<T extends object>(around: Surroundings, worker: WorkerProcess, port: T, queue = false): T {
  const methods = Object.entries(port).map(([name, run]) => [name, stored(around, worker, run, queue)]);
  return Object.fromEntries(methods) as T;
}

function isDown({ time, faults }: Surroundings): boolean {
  const second = (time.now - START.getTime()) / 1000;
  return faults.outages.some(([from, until]) => from <= second && second < until);
}
