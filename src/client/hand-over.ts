import type { Ask } from './api.ts';
import type { Item } from './item.ts';
import { backoff, type Later, type Verdict } from './retry-rules.ts';

export interface HandOverOptions {
  readonly ask: Ask;
  /** Attempts in all, 1 or more: retry-and-idempotency-design.md §3. */
  readonly attempts: number;
  /** Milliseconds. A `Retry-After` beyond it is not waited for: the spool waits instead. */
  readonly longestWaitMs: number;
  readonly random: () => number;
  /** Resolves early when the signal aborts. */
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Whether the API answered of late. While it does not, each further batch gets one attempt instead of all of them. */
export interface Line {
  dead: boolean;
}

/**
 * Hands items over, asking again for those for which that may help.
 * @returns a verdict for each, in their order; `later` is what is left
 */
export async function handOver(
  items: readonly Item[],
  { ask, attempts, longestWaitMs, random, pause }: HandOverOptions,
  line: Line,
  signal?: AbortSignal,
): Promise<Verdict[]> {
  // What is equal in key and content is sent once and shares its outcome.
  const unique = new Map<string, Item>();
  const asItems = items.map((item) => {
    const id = `${item.kind}\n${item.idempotency_key}\n${JSON.stringify(item.body)}`;
    const first = unique.get(id) ?? item;
    unique.set(id, first);
    return first;
  });
  const verdicts = new Map<Item, Verdict>();
  let pending = [...unique.values()];
  const limit = line.dead ? 1 : attempts;
  for (let attempt = 1; !signal?.aborted; attempt++) {
    const answers = await ask(pending, signal);
    for (const [i, item] of pending.entries()) if (answers[i]) verdicts.set(item, answers[i]);
    line.dead = answers.every((verdict) => verdict.state === 'later' && verdict.status === 0);
    const again = pending.filter((item) => laterOf(verdicts.get(item))?.again);
    if (again.length === 0 || attempt >= limit) break;
    const wait = Math.max(backoff(attempt, random()), ...again.map((item) => laterOf(verdicts.get(item))?.wait ?? 0));
    if (wait > longestWaitMs) break;
    pending = again;
    await pause(wait, signal);
  }
  return items.map((item, i) => {
    const asked = asItems[i] ?? item;
    const verdict = verdicts.get(asked) ?? INTERRUPTED;
    return asked !== item && verdict.state === 'accepted' ? { ...verdict, repeat: true } : verdict;
  });
}

const INTERRUPTED: Later = { state: 'later', again: false, reason: 'interrupted', status: 0 };

function laterOf(verdict: Verdict | undefined): Later | undefined {
  return verdict?.state === 'later' ? verdict : undefined;
}
