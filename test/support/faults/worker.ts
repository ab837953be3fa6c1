/** A worker process died. */
export class Crash extends Error {}

/** Storage refused a call; the process lives on. */
export class Throttled extends Error {
  override readonly name = 'ThrottlingException';
}

/** Storage did not answer, and the call was given up. */
export class Unanswered extends Error {
  override readonly name = 'TimeoutError';
}

/** Whether a test injected the error; any other one is a defect. */
export function isFault(error: unknown): boolean {
  return [Crash, Throttled, Unanswered].some((kind) => error instanceof kind);
}

export function ignoreFaults(error: unknown): void {
  if (!isFault(error)) throw error;
}

export interface FaultPlan {
  /** Dies at this point: 2k before, 2k + 1 after the k-th external call. */
  readonly crash_at?: number;
  /** Numbers of the calls that storage refuses. */
  readonly throttle?: ReadonlySet<number>;
  /** Numbers of the storage calls that are applied and then answered with an error. */
  readonly unanswered?: ReadonlySet<number>;
  /** Numbers of the storage calls that are applied, and repeated by the client because the answer was lost. */
  readonly repeated?: ReadonlySet<number>;
  /** Storage refuses `length` calls in a row, from this call on. */
  readonly burst?: { readonly from: number; readonly length: number };
  /** Numbers of the calls that take seconds: time passes, and other workers take what becomes visible. */
  readonly slow?: ReadonlySet<number>;
  /** What others do right before the call of this number. */
  readonly before?: { readonly call: number; readonly others: () => Promise<unknown> };
  /** Dies at every send of one of these notifications. */
  readonly poison?: ReadonlySet<string>;
}

/** What storage, and time, do to every worker. */
export interface Storage {
  /** Whether it refuses every call of the port at this time, whoever makes it. */
  readonly refused: (port: string) => boolean;
  /** Waits for a call of the port to be given up, if storage hangs. @returns whether it did, and whether the worker lives */
  readonly hung: (port: string) => { readonly hangs: boolean; readonly outOfTime: boolean };
  /** A slow call: some seconds pass, in which others act. */
  readonly slow: () => Promise<void>;
}

const WELL: Storage = {
  refused: () => false,
  hung: () => ({ hangs: false, outOfTime: false }),
  slow: eventually,
};

/** One worker process: all its external calls pass here, and none after its death. */
export class Worker {
  calls = 0;
  dead = false;
  /** By port and method: calls that storage refused. */
  readonly refusals = new Map<string, number>();
  readonly #plan: FaultPlan;
  readonly #storage: Storage;
  readonly #slow: Promise<void>[] = [];

  constructor(plan: FaultPlan = {}, storage: Storage = WELL) {
    this.#plan = plan;
    this.#storage = storage;
  }

  async call<T>(port: string, run: () => Promise<T>, log_id?: string): Promise<T> {
    await Promise.resolve();
    if (this.dead) throw new Crash('dead');
    const call = this.calls++;
    if (this.#plan.crash_at === 2 * call) this.#die();
    if (this.#plan.slow?.has(call)) {
      const slow = this.#storage.slow();
      this.#slow.push(slow);
      await slow;
    }
    if (this.#plan.before?.call === call) await this.#plan.before.others();
    if (this.dead) throw new Crash('dead');
    const { hangs, outOfTime } = this.#storage.hung(port);
    if (outOfTime) this.#die();
    if (hangs) throw new Unanswered('no answer');
    if (port !== 'send' && (this.#throttles(call) || this.#storage.refused(port))) {
      this.refusals.set(port, (this.refusals.get(port) ?? 0) + 1);
      throw new Throttled('slow down');
    }
    const repeated = port !== 'send' && this.#plan.repeated?.has(call);
    const result = repeated ? await run().then(run) : await run();
    // Another call may have killed the process meanwhile; the effect of this call remains.
    if (this.dead) throw new Crash('dead');
    if (this.#plan.crash_at === 2 * call + 1) this.#die();
    if (port !== 'send' && this.#plan.unanswered?.has(call)) throw new Throttled('the answer was lost');
    if (port === 'send' && log_id !== undefined && this.#plan.poison?.has(log_id)) this.#die();
    return result;
  }

  /** Resolves when its slow calls are over, also those that nobody awaits any more. */
  async ended(): Promise<void> {
    await Promise.all(this.#slow);
  }

  #throttles(call: number): boolean {
    const { throttle, burst } = this.#plan;
    if (throttle?.has(call)) return true;
    return burst !== undefined && call >= burst.from && call < burst.from + burst.length;
  }

  #die(): never {
    this.dead = true;
    throw new Crash('died');
  }
}

/** The world's clock stands still while a worker works: waiting only lets the other workers act. */
export async function eventually(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

/** Wraps every method of a port so that its calls pass through the worker. */
export function through<T extends object>(worker: Worker, port: string, target: T): T {
  return Object.fromEntries(
    Object.entries(target).map(([method, run]) => [
      method,
      (...args: unknown[]) =>
        worker.call(`${port}.${method}`, () => (run as (...args: unknown[]) => Promise<unknown>)(...args)),
    ]),
  ) as T;
}
