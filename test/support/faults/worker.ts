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
  /** Storage refuses `length` calls in a row, from this call on. */
  readonly burst?: { readonly from: number; readonly length: number };
  /** Numbers of the calls that take long: every other worker acts meanwhile. */
  readonly slow?: ReadonlySet<number>;
  /** What others do right before the call of this number. */
  readonly before?: { readonly call: number; readonly others: () => Promise<unknown> };
  /** Dies at every send of one of these notifications. */
  readonly poison?: ReadonlySet<string>;
}

/** One worker process: all its external calls pass here, and none after its death. */
export class Worker {
  calls = 0;
  dead = false;
  readonly #plan: FaultPlan;
  readonly #refused: (port: string) => boolean;

  /** @param refused whether storage refuses every call of the port at this time, whoever makes it */
  constructor(plan: FaultPlan = {}, refused: (port: string) => boolean = () => false) {
    this.#plan = plan;
    this.#refused = refused;
  }

  async call<T>(port: string, run: () => Promise<T>, log_id?: string): Promise<T> {
    await Promise.resolve();
    if (this.dead) throw new Crash('dead');
    const call = this.calls++;
    if (this.#plan.crash_at === 2 * call) this.#die();
    if (this.#plan.slow?.has(call)) await eventually();
    if (this.#plan.before?.call === call) await this.#plan.before.others();
    if (this.dead) throw new Crash('dead');
    if (port !== 'send' && (this.#throttles(call) || this.#refused(port))) throw new Throttled('slow down');
    const repeated = port !== 'send' && this.#plan.repeated?.has(call);
    const result = repeated ? await run().then(run) : await run();
    // Another call may have killed the process meanwhile; the effect of this call remains.
    if (this.dead) throw new Crash('dead');
    if (this.#plan.crash_at === 2 * call + 1) this.#die();
    if (port !== 'send' && this.#plan.unanswered?.has(call)) throw new Throttled('the answer was lost');
    if (port === 'send' && log_id !== undefined && this.#plan.poison?.has(log_id)) this.#die();
    return result;
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
