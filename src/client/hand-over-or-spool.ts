import { BATCH_LIMIT } from './handover/api.ts';
import { type ApiState, type HandOverOptions, handOver, newApiState } from './handover/hand-over.ts';
import type { Item } from './handover/item.ts';
import type { Notification, Result } from './handover/notification.ts';
import { type HandoverOutcome, noAnswer } from './handover/retry-rules.ts';
import { isFull, whyFailed } from './spool/durable-files.ts';
import type { Spool } from './spool/spool.ts';

/** @internal */
export interface HandOverOrSpoolPorts extends HandOverOptions {
  readonly spool: Spool;
}

interface Kept {
  /** Undefined for an item that neither the API nor the disk took. */
  readonly results: readonly (Result | undefined)[];
  /** Why the disk did not take it. */
  readonly cause?: unknown;
}

/** Hands over at most one batch of items, and spools those that are not handed over. @internal */
export async function handOverOrSpool(
  items: readonly Item[],
  ports: HandOverOrSpoolPorts,
  api: ApiState,
  signal?: AbortSignal,
): Promise<Kept> {
  const { spool, clock } = ports;
  const started = clock();
  const outcomes = await handOver(items, ports, api, signal).catch((error: Error) =>
    // A defect of the client must not lose notifications.
    items.map(() => noAnswer(error.name)),
  );
  const postponed = items.filter((_, i) => outcomes[i]?.state === 'postponed');
  const reason = reasonOf(outcomes);
  if (reason === undefined) return { results: outcomes.map((outcome) => resultOf(outcome, undefined)) };
  try {
    const file = await spool.add(postponed, started, reason);
    return { results: outcomes.map((outcome) => resultOf(outcome, file)) };
  } catch (cause) {
    return { results: outcomes.map((outcome) => resultOf(outcome, undefined)), cause };
  }
}

/** Why items are not handed over; undefined if all are. */
function reasonOf(outcomes: readonly HandoverOutcome[]): string | undefined {
  for (const outcome of outcomes) if (outcome.state === 'postponed') return outcome.reason;
  return undefined;
}

function resultOf(outcome: HandoverOutcome, file: string | undefined): Result | undefined {
  if (outcome.state !== 'postponed') return outcome;
  return file === undefined ? undefined : { state: 'spooled', file, reason: outcome.reason };
}

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
  readonly report: ((progress: BatchProgress) => void) | undefined;
}

/**
 * Any number of items, in batches of the size that the API takes.
 * @param given those that are refused already have their results
 * @param concurrency batches at the same time
 * @internal
 */
export async function sendInBatches(
  given: readonly (Item | Result)[],
  ports: HandOverOrSpoolPorts,
  concurrency: number,
  { signal, report }: SendInBatchesOptions,
): Promise<Kept> {
  const results = given.map((one): Result | undefined => ('state' in one ? one : undefined));
  const items = given.flatMap((one, place) => ('state' in one ? [] : [{ item: one, place }]));
  const refused = given.length - items.length;
  const progress = { done: refused, total: given.length, accepted: 0, spooled: 0, refused };
  const api = newApiState();
  const starts = Array.from({ length: Math.ceil(items.length / BATCH_LIMIT) }, (_, i) => i * BATCH_LIMIT).values();
  let cause: unknown;
  const work = async () => {
    for (const start of starts) {
      const batch = items.slice(start, start + BATCH_LIMIT);
      const kept = await handOverOrSpool(
        batch.map(({ item }) => item),
        ports,
        api,
        signal,
      );
      cause ??= kept.cause;
      for (const [i, { place }] of batch.entries()) {
        const result = kept.results[i];
        results[place] = result;
        if (result) progress[result.state]++;
      }
      progress.done += kept.results.length;
      report?.({ ...progress });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return { results, cause };
}

/**
 * Notifications that are neither handed over nor on disk, for example because the disk is full. Only the caller has
 * them. Sending them again is safe: the API recognises by their keys those that it may already have.
 */
export class NotHandedOverError extends Error {
  override readonly name = 'NotHandedOverError';
  // Private, so that no log of this error shows recipients and bodies.
  readonly #notifications: readonly (Notification | string)[];
  readonly #results: readonly (Result | undefined)[];

  constructor(
    notifications: readonly (Notification | string)[],
    results: readonly (Result | undefined)[],
    directory: string,
    cause: unknown,
  ) {
    super(
      `${notifications.length} notifications could neither be handed over nor be written to ${directory} ` +
        `(${whyFailed(cause)}). They are kept nowhere: ${isFull(cause) ? 'make room' : 'remove the cause'}, then send them again.`,
      { cause },
    );
    this.#notifications = notifications;
    this.#results = results;
  }

  /** As the caller gave them; a log_id if the caller reported only its failure. */
  get notifications(): readonly (Notification | string)[] {
    return this.#notifications;
  }

  /** A result per notification of the call, in their order; undefined for those that are kept nowhere. */
  get results(): readonly (Result | undefined)[] {
    return this.#results;
  }
}
