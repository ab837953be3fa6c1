import type { Ask, Split } from './api.ts';
import type { Item } from './item.ts';
import { backoff, type HandoverOutcome, isAway, type Later, unasked } from './retry-rules.ts';

export interface HandOverOptions {
  readonly ask: Ask;
  /** Attempts in all, 1 or more: retry-and-idempotency-design.md §3. */
  readonly attempts: number;
  /** Milliseconds. A `Retry-After` beyond it is not waited for: the spool waits instead. */
  readonly longestWaitMs: number;
  readonly random: () => number;
  readonly clock: () => Date;
  /** Resolves early when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** What one batch or file learns of the API for those that follow it. */
export interface Line {
  /** Nobody answered, or with 5xx alone. While that is so, each further batch gets one attempt instead of all of them. */
  dead: boolean;
  /** Milliseconds since 1970: until then, a `Retry-After` too long to wait for said, nothing is asked. */
  notBefore: number;
  /** Given, the last attempt finds out which item of a batch it is that fails. */
  readonly split?: Split;
}

export function newLine(): Line {
  return { dead: false, notBefore: 0 };
}

/**
 * Hands items over, asking again for those for which that may help.
 * @returns a verdict for each, in their order; `later` is what is left
 */
export async function handOver(
  items: readonly Item[],
  { ask, attempts, longestWaitMs, random, clock, pause }: HandOverOptions,
  line: Line,
  signal?: AbortSignal,
): Promise<HandoverOutcome[]> {
  // What is equal in key and content is sent once and shares its outcome.
  const unique = new Map<string, Item>();
  const asItems = items.map((item) => {
    const id = `${item.kind}\n${item.idempotency_key}\n${JSON.stringify(item.body)}`;
    const first = unique.get(id) ?? item;
    unique.set(id, first);
    return first;
  });
  if (clock().getTime() < line.notBefore) return items.map(() => unasked('the API said to wait (Retry-After)'));
  const verdicts = new Map<Item, HandoverOutcome>();
  let pending = [...unique.values()];
  const limit = line.dead ? 1 : attempts;
  for (let attempt = 1; !signal?.aborted; attempt++) {
    const answers = await ask(pending, signal, attempt >= limit ? line.split : undefined);
    for (const [i, item] of pending.entries()) if (answers[i]) verdicts.set(item, answers[i]);
    const again = pending.filter((item) => laterOf(verdicts.get(item))?.again);
    const wait = Math.max(0, ...again.map((item) => laterOf(verdicts.get(item))?.wait ?? 0));
    if (wait > longestWaitMs) line.notBefore = clock().getTime() + wait;
    if (again.length === 0 || attempt >= limit || wait > longestWaitMs) break;
    pending = again;
    await pause(Math.max(wait, backoff(attempt, random())), signal);
  }
  if (verdicts.size > 0) line.dead = [...verdicts.values()].every(isAway);
  if (line.split && !line.dead) line.split.failed = 0;
  return items.map((item, i) => {
    const asked = asItems[i] ?? item;
    const verdict = verdicts.get(asked) ?? INTERRUPTED;
    return asked !== item && verdict.state === 'accepted' ? { ...verdict, repeat: true } : verdict;
  });
}

const INTERRUPTED = unasked('interrupted');

function laterOf(verdict: HandoverOutcome | undefined): Later | undefined {
  return verdict?.state === 'later' ? verdict : undefined;
}
