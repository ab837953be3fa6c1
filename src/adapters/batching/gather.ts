/** Milliseconds to wait for other attempts of a batch, so that attempts that end almost together share a call. */
export const SETTLE_WAIT_MS = 3;

/**
 * Longest wait of a retry record for those of other attempts, in milliseconds: until it is written, a death of the
 * worker lets the recipient get the message again (docs/decisions/delivery/records-and-settlement.md#0126).
 */
export const RECORD_HOLD_MS = 100;

/** The same for a settlement, whose attempt is recorded; below the second after which the message of a retry comes. */
export const SETTLEMENT_HOLD_MS = 250;

export interface GatherOptions<I> {
  readonly max: number;
  /** Milliseconds to wait for more items after the first; 0 takes the items of the same turn of the event loop. */
  readonly wait_ms?: number;
  /** Waits longer while sends are under way whose outcomes will be items, too. */
  readonly hold?: Hold | undefined;
  /** Items with the same key never share a call, for services that refuse duplicates in a batch. */
  readonly keyOf?: (item: I) => string;
  /** Calls back later, and returns what cancels the call; real time unless given. */
  readonly schedule?: (run: () => void, ms: number) => () => void;
}

interface Hold {
  readonly sends: SendsUnderWay;
  /** Milliseconds after the first item until the call is made all the same. */
  readonly most_ms: number;
}

interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (output: O) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects the items of the same moment into one call: the domain asks for one item at a time, and the service is
 * called once for many. An item is answered when its call is, never before.
 * @param run gives the outputs in the order of the items, with a `GatheredError` in place of the output of an item that
 *   failed alone. If `run` rejects, all items fail.
 */
export function gather<I, O>(
  run: (items: readonly I[]) => Promise<readonly (O | GatheredError)[]>,
  { max, wait_ms = 0, hold, keyOf, schedule = inRealTime }: GatherOptions<I>,
): (item: I) => Promise<O> {
  let waiting: Waiting<I, O>[] = [];
  let cancel: (() => void) | undefined;

  const flush = () => {
    cancel?.();
    cancel = undefined;
    const all = waiting;
    waiting = [];
    for (const batch of batches(all, max, keyOf)) void answer(batch);
  };

  const planFlush = () => {
    if (hold === undefined || !hold.sends.any) {
      cancel = schedule(flush, wait_ms);
      return;
    }
    const longest = schedule(flush, hold.most_ms);
    cancel = longest;
    void hold.sends.ended().then(() => {
      // Another item may have been the first since then, and its own wait runs.
      if (cancel !== longest) return;
      longest();
      cancel = schedule(flush, wait_ms);
    });
  };

  const answer = async (batch: readonly Waiting<I, O>[]) => {
    try {
      const outputs = await run(batch.map(({ item }) => item));
      batch.forEach(({ resolve, reject }, i) => {
        const output = outputs[i];
        if (output instanceof GatheredError) reject(output.cause);
        else resolve(output as O);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };

  return (item) =>
    new Promise<O>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (waiting.length >= max) flush();
      else if (cancel === undefined) planFlush();
    });
}

function inRealTime(run: () => void, ms: number): () => void {
  if (ms > 0) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  }
  const immediate = setImmediate(run);
  return () => clearImmediate(immediate);
}

/** The failure of one item of a batch; its cause is thrown to the caller that asked for the item. */
export class GatheredError extends Error {
  override readonly name = 'GatheredError';
  constructor(cause: unknown) {
    super('One item of a batch failed.', { cause });
  }
}

function batches<I, O>(
  all: readonly Waiting<I, O>[],
  max: number,
  keyOf: ((item: I) => string) | undefined,
): Waiting<I, O>[][] {
  const result: { entries: Waiting<I, O>[]; keys: Set<string> }[] = [];
  for (const entry of all) {
    const key = keyOf?.(entry.item);
    const batch = result.find(({ entries, keys }) => entries.length < max && (key === undefined || !keys.has(key)));
    if (batch === undefined) {
      result.push({ entries: [entry], keys: new Set(key === undefined ? [] : [key]) });
    } else {
      batch.entries.push(entry);
      if (key !== undefined) batch.keys.add(key);
    }
  }
  return result.map(({ entries }) => entries);
}

/** The sends of a worker that have no answer yet: while there are some, outcomes wait for theirs. */
export class SendsUnderWay {
  #count = 0;
  #end: PromiseWithResolvers<void> | undefined;

  get any(): boolean {
    return this.#count > 0;
  }

  /** Resolves when no send is under way any more. */
  ended(): Promise<void> {
    if (!this.any) return Promise.resolve();
    this.#end ??= Promise.withResolvers();
    return this.#end.promise;
  }

  async during<T>(send: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await send();
    } finally {
      this.#count -= 1;
      if (!this.any) this.#end?.resolve();
      if (!this.any) this.#end = undefined;
    }
  }
}

/** A call was given up: nobody knows whether it is or will be applied. */
class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** @throws TimeoutError that names `what`, after `ms`; the call goes on, so a repetition of it must be harmless */
export function withinLimit<T>(call: Promise<T>, ms: number, what: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new TimeoutError(`${what} has not answered within ${ms / 1000} seconds.`));
    const timer = setTimeout(late, ms);
    call.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * Makes what runs with a signal that aborts after `ms` milliseconds. The timer ends with the run: one of
 * `AbortSignal.timeout` goes off long afterwards, and makes an error with its stack for each send of the last seconds.
 */
export function withSignal(ms: number): <T>(run: (signal: AbortSignal) => Promise<T>) => Promise<T> {
  return async (run) => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new TimeoutError(`Not done within ${ms / 1000} seconds.`)), ms);
    try {
      return await run(limit.signal);
    } finally {
      clearTimeout(timer);
    }
  };
}

interface Client {
  send(...args: never[]): unknown;
}

/**
 * The client with a limit for each call, the client's own repeats included.
 * @param rest_ms calls are refused within this time after one without an answer: a service that is silent would take the
 *   limit of each call of a batch
 */
export function withCallLimit<C extends Client>(client: C, ms: number, what: string, rest_ms = 0): C {
  let silentUntil = Number.NEGATIVE_INFINITY;
  const send = async (...args: never[]) => {
    if (Date.now() < silentUntil) throw new TimeoutError(`${what} has not answered a moment ago.`);
    try {
      return await withinLimit(Promise.resolve(client.send(...args)), ms, what);
    } catch (error) {
      if (error instanceof Error && error.name === 'TimeoutError') silentUntil = Date.now() + rest_ms;
      throw error;
    }
  };
  return Object.assign(Object.create(client) as C, { send });
}

/** What only some events need is loaded with them, not at each cold start. A failure is not remembered. */
export function onFirstUse<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () => {
    making ??= make().catch((error: unknown) => {
      making = undefined;
      throw error;
    });
    return making;
  };
}

/** A port whose module, with an SDK's client or a parser, is loaded with its first call: most invocations need none. */
export function loadedOnUse<T extends object>(load: () => Promise<T>, ...names: readonly (keyof T)[]): T {
  const port = onFirstUse(load);
  const callOf =
    (name: keyof T) =>
    async (...args: unknown[]) => {
      const made = await port();
      return (made[name] as (...given: unknown[]) => unknown)(...args);
    };
  return Object.fromEntries(names.map((name) => [name, callOf(name)])) as T;
}
