import type { PostItems, SplitState } from './api.ts';
import type { Item } from './item.ts';
import { backoff, type HandoverOutcome, isApiDown, isTimeout, notAttempted, type Postponed } from './retry-rules.ts';

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
  /** Requests in succession, from 0, that failed after a long time: no answer in time, or a 5xx that was slow. */
  slowFailures: number;
  /** If given, the last attempt splits a failing batch to find the item that fails. */
  readonly split?: SplitState;
}

export const newApiState = (): ApiState => ({ down: false, notBefore: 0, slowFailures: 0 });

/**
 * After this many slow failures in succession nothing is sent any more: a thousand files against an API that accepts
 * connections and never answers took three hours, with the lock held.
 */
const MOST_SLOW_FAILURES = 5;
/** Milliseconds from which a 5xx is slow. */
const SLOW_MS = 1_000;

/** Retries items that may succeed. @returns an outcome per item, in order; a `postponed` one is not handed over */
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
  if (api.slowFailures >= MOST_SLOW_FAILURES) return items.map(() => notAttempted('the API does not answer in time'));
  const outcomes = new Map<Item, HandoverOutcome>();
  let pending = [...unique.values()];
  const limit = api.down ? 1 : attempts;
  for (let attempt = 1; !signal?.aborted; attempt++) {
    const begun = clock().getTime();
    const answers = await post(pending, signal, api.split && { state: api.split, isLastAttempt: attempt >= limit });
    const isSlow = answers.some(isTimeout) || clock().getTime() - begun >= SLOW_MS;
    api.slowFailures = isSlow && !signal?.aborted && answers.every(isApiDown) ? api.slowFailures + 1 : 0;
    for (const [i, item] of pending.entries()) if (answers[i]) outcomes.set(item, answers[i]);
    const retryable = pending.filter((item) => postponedOf(outcomes.get(item))?.retryable);
    const wait = Math.max(0, ...retryable.map((item) => postponedOf(outcomes.get(item))?.retryAfterMs ?? 0));
    if (wait > longestWaitMs) api.notBefore = clock().getTime() + wait;
    if (retryable.length === 0 || attempt >= limit || wait > longestWaitMs) break;
    pending = retryable;
    await pause(Math.max(wait, backoff(attempt, random())), signal);
  }
  if (outcomes.size > 0) api.down = [...outcomes.values()].every(isApiDown);
  // Any other answer shows that not all requests fail.
  if (api.split && [...outcomes.values()].some((outcome) => !postponedOf(outcome)?.splittable && !isApiDown(outcome)))
    api.split.failures = 0;
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
