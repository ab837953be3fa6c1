import { nextTick } from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { fnv1a } from '../../../src/core/model/work-index.ts';

/** When every simulation begins. */
export const START = new Date('2026-03-01T10:00:00.000Z');

/** A binary heap of numbers, smallest first. */
class NumberHeap {
  readonly #items: number[] = [];

  push(value: number): void {
    const items = this.#items;
    let at = items.push(value) - 1;
    for (let above = (at - 1) >> 1; at > 0 && (items[above] ?? 0) > value; above = (at - 1) >> 1) {
      items[at] = items[above] ?? 0;
      at = above;
    }
    items[at] = value;
  }

  pop(): number | undefined {
    const items = this.#items;
    const smallest = items[0];
    const last = items.pop() ?? 0;
    if (items.length === 0) return smallest;
    let at = 0;
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      if ((items[child + 1] ?? Number.POSITIVE_INFINITY) < (items[child] ?? 0)) child += 1;
      if ((items[child] ?? 0) >= last) break;
      items[at] = items[child] ?? 0;
      at = child;
    }
    items[at] = last;
    return smallest;
  }
}

/**
 * Time that passes only when nothing else is left to do. What happens in the same millisecond is one batch: the promises
 * of the simulated code run to their end after each batch, so a full batch costs one wait for them.
 */
export class VirtualTime {
  #now: number;
  readonly #times = new NumberHeap();
  readonly #tasks = new Map<number, (() => void)[]>();

  constructor(start: Date) {
    this.#now = start.getTime();
  }

  get now(): number {
    return this.#now;
  }

  readonly clock = () => new Date(this.#now);

  /** Runs the task at the time, in epoch milliseconds; at once if that has passed. */
  at(time: number, task: () => void): void {
    const at = Math.max(this.#now, Math.ceil(time));
    const tasks = this.#tasks.get(at);
    if (tasks === undefined) {
      this.#tasks.set(at, [task]);
      this.#times.push(at);
    } else tasks.push(task);
  }

  readonly pause = (ms: number): Promise<void> => new Promise((resolve) => this.at(this.#now + ms, resolve));

  /** Runs until the work is done, whatever else is still planned then. */
  async run<T>(given: Promise<T> | (() => Promise<T>)): Promise<T> {
    const work = typeof given === 'function' ? given() : given;
    let done = false;
    const end = () => {
      done = true;
    };
    work.then(end, end);
    for (let turns = 0; !done; turns++) {
      const before = this.#now;
      await this.runUntil(() => done);
      if (this.#now > before) turns = 0;
      // Work that is not simulated (a digest, a file) needs turns of the process, and no time.
      if (!done && turns > MOST_TURNS) throw new Error('Everybody waits and no timer is set.');
    }
    return work;
  }

  /** Runs until nothing is left to do, or until `stop` says so, which is asked after each batch. */
  async runUntil(stop: () => boolean): Promise<void> {
    await setImmediate();
    if (stop()) return;
    let batches = 0;
    for (let at = this.#times.pop(); at !== undefined; at = this.#times.pop()) {
      this.#now = at;
      const tasks = this.#tasks.get(at) ?? [];
      this.#tasks.delete(at);
      for (const task of tasks) task();
      await (++batches % BATCHES_PER_TURN === 0 ? setImmediate() : promisesEnd());
      if (stop()) return;
    }
  }
}

const MOST_TURNS = 1_000;
/** The number of batches after which the process looks at signals and output, which takes longer than a batch. */
const BATCHES_PER_TURN = 1_000;

/** Node runs what was given to nextTick when no promise is left to go on: everybody waits then, or has ended. */
export function promisesEnd(): Promise<void> {
  return new Promise((resolve) => {
    nextTick(resolve);
  });
}

export type Draw = () => number;

/** Repeatable draws, 0 to below 1 (sfc32). Each name has its own sequence, so one more draw somewhere changes no other. */
export function createRandom(seed: number, name: string): Draw {
  let [a, b, c, counter] = [fnv1a(name), fnv1a(`${seed} ${name}`), seed | 0, 1];
  const next = () => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 12; i++) next();
  return next;
}

export const between = (draw: Draw, least: number, most: number): number => least + draw() * (most - least);
