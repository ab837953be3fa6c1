/** A worker process died. */
export class Crash extends Error {}

/** Storage refused a call; the process lives on. */
export class Throttled extends Error {
  override readonly name = 'ThrottlingException';
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
  /** Dies at every send of one of these notifications. */
  readonly poison?: ReadonlySet<string>;
}

/** One worker process: all its external calls pass here, and none after its death. */
export class Worker {
  calls = 0;
  dead = false;
  readonly #plan: FaultPlan;

  constructor(plan: FaultPlan = {}) {
    this.#plan = plan;
  }

  async call<T>(port: string, run: () => Promise<T>, log_id?: string): Promise<T> {
    await Promise.resolve();
    if (this.dead) throw new Crash('dead');
    const call = this.calls++;
    if (this.#plan.crash_at === 2 * call) this.#die();
    if (port !== 'send' && this.#plan.throttle?.has(call)) throw new Throttled('slow down');
    const repeated = port !== 'send' && this.#plan.repeated?.has(call);
    const result = repeated ? await run().then(run) : await run();
    // Another call may have killed the process meanwhile; the effect of this call remains.
    if (this.dead) throw new Crash('dead');
    if (this.#plan.crash_at === 2 * call + 1) this.#die();
    if (port !== 'send' && this.#plan.unanswered?.has(call)) throw new Throttled('the answer was lost');
    if (port === 'send' && log_id !== undefined && this.#plan.poison?.has(log_id)) this.#die();
    return result;
  }

  #die(): never {
    this.dead = true;
    throw new Crash('died');
  }
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
