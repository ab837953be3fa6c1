import { type HandOverOrSpoolPorts, handOverOrSpool, type Kept } from './hand-over-or-spool.ts';
import { BATCH_LIMIT } from './handover/api.ts';
import { newApiState } from './handover/hand-over.ts';
import type { Item } from './handover/item.ts';
import type { Result } from './handover/notification.ts';

/** Counts of notifications. */
export interface BatchProgress {
  readonly done: number;
  readonly total: number;
  readonly accepted: number;
  readonly spooled: number;
  readonly refused: number;
}

interface SendInBatchesOptions {
  readonly signal: AbortSignal | undefined;
  /** Called after each batch. */
  readonly report: ((progress: BatchProgress) => void) | undefined;
}

/**
 * Hands over or spools any number of items, in batches of the size that the API takes.
 * @param concurrency batches at the same time, 1 or more
 */
export async function sendInBatches(
  items: readonly Item[],
  ports: HandOverOrSpoolPorts,
  concurrency: number,
  { signal, report }: SendInBatchesOptions,
): Promise<Kept> {
  const results: (Result | undefined)[] = Array.from(items, () => undefined);
  const progress = { done: 0, total: items.length, accepted: 0, spooled: 0, refused: 0 };
  const api = newApiState();
  const starts = Array.from({ length: Math.ceil(items.length / BATCH_LIMIT) }, (_, i) => i * BATCH_LIMIT).values();
  let cause: unknown;
  const work = async () => {
    for (const start of starts) {
      const kept = await handOverOrSpool(items.slice(start, start + BATCH_LIMIT), ports, api, signal);
      cause ??= kept.cause;
      kept.results.forEach((result, i) => {
        results[start + i] = result;
        if (result) progress[result.state]++;
      });
      progress.done += kept.results.length;
      report?.({ ...progress });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { results, cause };
}
