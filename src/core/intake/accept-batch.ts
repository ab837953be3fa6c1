import type { QueuedMessage } from '../model/lanes.ts';
import { Problem, unavailable } from '../model/problem.ts';
import { type Acceptance, accept } from './accept.ts';
import type { IntakeRequest } from './notification-request.ts';
import type { IntakeDeps } from './ports.ts';

/** An item of a batch that passed validation. */
export interface BatchItem extends IntakeRequest {
  /** Items with the same key stand for the same notification. */
  readonly idempotency_key: string;
}

export interface BatchDeps extends IntakeDeps {
  /** Sends a message to its lane. Never rejects: a message that cannot be sent now is left to a sweep. */
  readonly send: (message: QueuedMessage) => Promise<void>;
  /** Called once with the errors of the items that failed on our side, if there are any. */
  readonly onFaults: (errors: readonly Error[]) => void;
}

/**
 * Accepts the items of a batch, each on its own: a bad item stops no other item, and the message of an item does not
 * wait for items that storage delays. Items with different keys run concurrently. Items with the same key run one after
 * the other, so that the second one is a repeat and not a request in progress.
 * @param items in the order of the request; an Error stands for an item that could not be read
 * @returns one outcome per item, in the same order
 * @throws Problem unavailable, when every item failed on our side
 */
export async function acceptBatch(
  items: readonly (BatchItem | Error)[],
  deps: BatchDeps,
): Promise<readonly (Acceptance | Problem)[]> {
  const outcomes: (Acceptance | Problem)[] = [];
  const faults: Error[] = [];
  const toProblem = (error: unknown): Problem => {
    if (error instanceof Problem) return error;
    faults.push(error instanceof Error ? error : new Error(String(error)));
    return unavailable();
  };
  const byKey = Map.groupBy(items.entries(), ([index, item]) => (item instanceof Error ? index : item.idempotency_key));
  await Promise.all(
    [...byKey.values()].map(async (same) => {
      for (const [index, item] of same) {
        outcomes[index] = item instanceof Error ? toProblem(item) : await acceptItem(item, deps).catch(toProblem);
      }
    }),
  );
  if (faults.length > 0) deps.onFaults(faults);
  if (faults.length > 0 && faults.length === outcomes.length) throw unavailable();
  return outcomes;
}

async function acceptItem(item: BatchItem, deps: BatchDeps): Promise<Acceptance> {
  const acceptance = await accept(item, deps);
  if (acceptance.message !== undefined) await deps.send(acceptance.message);
  return acceptance;
}
