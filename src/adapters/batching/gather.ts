/** Milliseconds that a call waits for attempts that end one after another, so that they are settled together. */
export const SETTLE_WAIT_MS = 3;

export interface GatherOptions<I> {
  /** Most items in one call. */
  readonly max: number;
  /** Milliseconds to wait for company after the first item; 0 takes what is asked for in the same turn. */
  readonly wait_ms?: number;
  /** Items of the same key never share a call, for services that refuse duplicates in a batch. */
  readonly keyOf?: (item: I) => string;
}

interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (output: O) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets the domain ask for one item at a time and the service be called once for many: collects what is asked for at
 * the same moment (design §6). An item's own failure is thrown as `GatheredError` in its output's place.
 * @param run answers each item in order; a rejection is every item's.
 */
export function gather<I, O>(
  run: (items: readonly I[]) => Promise<readonly (O | GatheredError)[]>,
  { max, wait_ms = 0, keyOf }: GatherOptions<I>,
): (item: I) => Promise<O> {
  let waiting: Waiting<I, O>[] = [];
  let scheduled = false;

  const flush = () => {
    scheduled = false;
    const all = waiting;
    waiting = [];
    for (const batch of batches(all, max, keyOf)) void answer(batch);
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
      if (scheduled) return;
      scheduled = true;
      if (wait_ms === 0) setImmediate(flush);
      else setTimeout(flush, wait_ms);
    });
}

/** One item's failure among others' answers. */
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
