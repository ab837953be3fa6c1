import type { PostItems, SplitState } from './api.ts';
import type { Item } from './item.ts';
import { backoff, type HandoverOutcome, isApiDown, notAttempted, type Postponed } from './retry-rules.ts';

export interface HandOverOptions {
  readonly post: PostItems;
  /** The most attempts, 1 or more: retry-and-idempotency-design.md §3. */
  readonly attempts: number;
  /** Milliseconds. The client does not wait for a longer `Retry-After`, but spools the items. */
  readonly longestWaitMs: number;
  readonly random: () => number;
  readonly clock: () => Date;
  /** Resolves early when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** What a batch or a file has learned about the API, for those that follow. */
export interface ApiState {
  /** There was no answer, or only 5xx. While the API is down, a batch gets one attempt instead of all attempts. */
  down: boolean;
  /** Milliseconds since 1970. A long `Retry-After` forbids requests until then. */
  notBefore: number;
  /** If given, the last attempt splits a failing batch to find the item that fails. */
  readonly split?: SplitState;
}

export function newApiState(): ApiState {
  return { down: false, notBefore: 0 };
}

/**
 * Hands items over to the API, and retries those that may succeed.
 * @returns an outcome per item, in their order; a `postponed` item is not handed over
 */
export async function handOver(
  items: readonly Item[],
  { post, attempts, longestWaitMs, random, clock, pause }: HandOverOptions,
  api: ApiState,
  signal?: AbortSignal,
): Promise<HandoverOutcome[]> {
  // Items with equal key and content are sent once and share the outcome.
  const unique = new Map<string, Item>();
  const sentAs = items.map((item) => {
    const id = `${item.kind}\n${item.idempotency_key}\n${JSON.stringify(item.body)}`;
    const first = unique.get(id) ?? item;
    unique.set(id, first);
    return first;
  });
  if (clock().getTime() < api.notBefore) return items.map(() => notAttempted('the API said to wait (Retry-After)'));
  const outcomes = new Map<Item, HandoverOutcome>();
  let pending = [...unique.values()];
  const limit = api.down ? 1 : attempts;
  for (let attempt = 1; !signal?.aborted; attempt++) {
    const answers = await post(pending, signal, attempt >= limit ? api.split : undefined);
    for (const [i, item] of pending.entries()) if (answers[i]) outcomes.set(item, answers[i]);
    const retryable = pending.filter((item) => postponedOf(outcomes.get(item))?.retryable);
    const wait = Math.max(0, ...retryable.map((item) => postponedOf(outcomes.get(item))?.retryAfterMs ?? 0));
    if (wait > longestWaitMs) api.notBefore = clock().getTime() + wait;
    if (retryable.length === 0 || attempt >= limit || wait > longestWaitMs) break;
    pending = retryable;
    await pause(Math.max(wait, backoff(attempt, random())), signal);
  }
  if (outcomes.size > 0) api.down = [...outcomes.values()].every(isApiDown);
  if (api.split && !api.down) api.split.failures = 0;
  return items.map((item, i) => {
    const sent = sentAs[i] ?? item;
    const outcome = outcomes.get(sent) ?? INTERRUPTED;
    return sent !== item && outcome.state === 'accepted' ? { ...outcome, repeat: true } : outcome;
  });
}

const INTERRUPTED = notAttempted('interrupted');

function postponedOf(outcome: HandoverOutcome | undefined): Postponed | undefined {
  return outcome?.state === 'postponed' ? outcome : undefined;
}
