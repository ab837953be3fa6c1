import { type ApiState, type HandOverOptions, handOver } from './handover/hand-over.ts';
import type { Item } from './handover/item.ts';
import type { Result } from './handover/notification.ts';
import { type HandoverOutcome, noAnswer } from './handover/retry-rules.ts';
import type { Spool } from './spool/spool.ts';

export interface HandOverOrSpoolPorts extends HandOverOptions {
  readonly spool: Spool;
}

export interface Kept {
  /** Undefined for an item that neither the API nor the disk took. */
  readonly results: readonly (Result | undefined)[];
  /** Why the disk did not take it. */
  readonly cause?: unknown;
}

/** Hands over at most one batch of items, and spools those that are not handed over. */
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
