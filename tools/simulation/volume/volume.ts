import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { START, VirtualTime } from '../engine/virtual-time.ts';
import { type Line, rounded } from '../report/describe.ts';
import { type BudgetResult, costOf } from '../report/figures.ts';
import type { Titled } from '../scenarios/scenario.ts';
import type { Env } from '../world/actor.ts';
import { VolumeDynamoDb, type VolumeTable } from './volume-dynamodb.ts';

type Costs = ConstructorParameters<typeof VolumeDynamoDb>[2];
type Queues = ReturnType<Parameters<typeof costOf>[0]['allQueues']>;

/** What a scenario of a large volume found, beside what it took. */
export interface Found {
  readonly shown?: Readonly<Record<string, number>>;
  readonly budgets: readonly (readonly [what: string, value: number, at_most: number])[];
  /** What must be true of the result. */
  readonly holds: Readonly<Record<string, boolean>>;
  readonly queues?: Queues;
}

/** A scenario of so many items that no memory holds them. */
export interface NamedVolume extends Titled {
  readonly volume: (volume: Volume) => Promise<Found>;
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');
/** Megabytes that live. */
function living(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

/** What deployed code takes for a number of items: time, units, processor and memory. */
export class Volume {
  readonly time = new VirtualTime(START);
  readonly count: number;
  /** Epoch milliseconds from which its time counts. */
  begun = START.getTime();
  readonly faults: string[] = [];
  readonly #onProgress: (done: number) => void;
  readonly #stores: VolumeDynamoDb[] = [];
  readonly #before = living();
  readonly #cpu = process.cpuUsage();
  #tenth = 0;
  #heap_mb = 0;

  constructor(count: number, onProgress: (done: number) => void = () => {}) {
    this.count = count;
    this.#onProgress = onProgress;
  }

  /** @param reads how often each item is read, where that tells how far it is */
  store(tables: Readonly<Record<string, VolumeTable>>, costs: Costs, reads?: number): VolumeDynamoDb {
    let read = 0;
    const onRead = (items: number) => {
      read += items;
      if (reads !== undefined) this.reached(read / (reads * this.count));
    };
    const store = new VolumeDynamoDb(this.time, tables, { ...costs, onRead });
    this.#stores.push(store);
    return store;
  }

  /** Looks at the memory ten times, as a collection takes long. @param share 0…1 of what there is to do */
  reached(share: number): void {
    this.#onProgress(Math.min(1, share) * this.count);
    if (Math.floor(10 * share) <= this.#tenth) return;
    this.#tenth = Math.floor(10 * share);
    this.#heap_mb = Math.max(this.#heap_mb, living() - this.#before);
  }

  /** What deployed code sees, whose ports are these. */
  env(ports: Readonly<Record<string, (...args: never[]) => Promise<unknown>>>): Env {
    const call = <T>(port: string, ...args: unknown[]) => ports[port]?.(...(args as never[])) as Promise<T>;
    return { call, clock: this.time.clock, random: () => 0.5, fault: (error) => void this.faults.push(String(error)) };
  }

  get used() {
    const sum = (of: (store: VolumeDynamoDb) => number) => this.#stores.reduce((all, store) => all + of(store), 0);
    return { read: sum(({ used }) => used.read), write: sum(({ used }) => used.write) };
  }

  get cpu_seconds(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    return (user + system) / 1e6;
  }

  get heap_mb(): number {
    return this.#heap_mb;
  }

  get seconds(): number {
    return (this.time.now - this.begun) / 1_000;
  }
}

export type VolumeFigures = Awaited<ReturnType<typeof measureVolume>>;

/** The same for the same seed, but for processor and memory, which are measured. */
export async function measureVolume(
  { name, notifications, volume: run }: NamedVolume,
  { count = notifications, seed }: { readonly count?: number | undefined; readonly seed: number },
  onProgress?: (done: number) => void,
) {
  const volume = new Volume(count, onProgress);
  const { shown = {}, budgets, holds, queues = [] } = await run(volume);
  const untrue = Object.entries(holds).flatMap(([what, is]) => (is ? [] : [`not so: ${what}`]));
  const examples = [...untrue, ...volume.faults.slice(0, 3)];
  return {
    scenario: name,
    seed,
    notifications: count,
    simulated_seconds: Math.round(volume.seconds),
    duplicates: 0,
    violations: untrue.length + volume.faults.length,
    examples,
    shown,
    cpu_seconds: rounded(volume.cpu_seconds),
    heap_mb: rounded(volume.heap_mb),
    cost: costOf({ sources: [], allQueues: () => queues }, volume.used, count),
    budgets: budgets.map(([what, found, at_most]): BudgetResult => {
      // Of few items, what is taken off for all of them is more than there is.
      const value = Math.max(0, found);
      return { what, value, at_most, met: value <= at_most };
    }),
  };
}

export function volumeLines({ shown, cost, cpu_seconds, heap_mb }: VolumeFigures): readonly Line[] {
  const { read_units, write_units } = cost;
  return [
    ...Object.entries(shown).map(([what, value]): Line => [what, rounded(value)]),
    ['units', `${read_units.toLocaleString('en')} read, ${Math.round(write_units).toLocaleString('en')} written`],
    ['processor', `${cpu_seconds} s`],
    ['memory', `${heap_mb} MB beside what there was`],
  ];
}
