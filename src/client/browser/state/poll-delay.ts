import type { Answer } from '../../handover/retry-rules.ts';
import { type NotificationAnswer, TEXTS } from './texts.ts';

const SOON_MS = 1_000;
const MOST_MS = 30_000;
/** While nothing can change before a known time, or after a failure, which only a person changes. */
const SELDOM_MS = 5 * 60_000;
const GROWTH = 1.6;

/** What is shown: an answer of the API, what the page itself knows, or that nothing is known. */
export type Shown = NotificationAnswer | 'unavailable' | undefined;

/**
 * What is shown after an answer, or why there is none. A 429 says nothing about the notification: a list of fifty on one
 * token gets more of them than answers at first.
 */
export function shownAfter(shown: Shown, answer: Answer | string): Shown {
  if (typeof answer === 'string') return 'unavailable';
  if (answer.status === 429) return shown;
  return answerIn(answer) ?? 'unavailable';
}

/** Undefined for what is no state of ours: a proxy may have answered anything. */
export function answerIn({ status, json }: Answer): NotificationAnswer | undefined {
  const given = (typeof json === 'object' ? json : null) as NotificationAnswer | null;
  return status === 200 && Object.hasOwn(TEXTS.en.states, given?.status ?? '') ? (given ?? undefined) : undefined;
}

/** Whether nothing changes any more. */
export const isEnd = (shown: Shown): boolean => typeof shown === 'object' && shown.status === 'done';

/**
 * Milliseconds until the next look; undefined: nothing changes any more.
 * @param answer the last answer of the API; undefined: it did not answer
 * @param unchanged how many looks showed the same, from 0
 * @param random 0…1
 * @param retryAfterMs what the API said; it may have been anybody
 */
export function pollDelay(
  answer: NotificationAnswer | undefined,
  unchanged: number,
  given: { readonly now: number; readonly random: number; readonly retryAfterMs?: number },
): number | undefined {
  if (isEnd(answer)) return undefined;
  return Math.max(ownDelay(answer, unchanged, given), Math.min(given.retryAfterMs ?? 0, SELDOM_MS));
}

function ownDelay(
  answer: NotificationAnswer | undefined,
  unchanged: number,
  { now, random }: { readonly now: number; readonly random: number },
): number {
  const jitter = 0.9 + 0.2 * random;
  const growing = (first: number, most: number) => Math.min(most, first * GROWTH ** unchanged) * jitter;
  if (answer === undefined) return growing(2 * SOON_MS, SELDOM_MS);
  if (answer.status === 'failed') return growing(MOST_MS, SELDOM_MS);
  const { status, next_retry_at, scheduled_at } = answer;
  const due = Date.parse((status === 'retrying' ? next_retry_at : scheduled_at) ?? '') - now;
  if (due > SOON_MS) return Math.min(SELDOM_MS, due + SOON_MS * jitter);
  return growing(SOON_MS, MOST_MS);
}
