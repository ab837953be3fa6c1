import type { NotificationAnswer } from './texts.ts';

const SOON_MS = 1_000;
const MOST_MS = 30_000;
/** While nothing can change before a known time, or after a failure, which only a person changes. */
const SELDOM_MS = 5 * 60_000;
const GROWTH = 1.6;

/**
 * Milliseconds until the next look; undefined: nothing changes any more.
 * @param answer the last answer of the API; undefined: it did not answer
 * @param unchanged how many looks showed the same, from 0
 * @param random 0…1
 */
export function pollDelay(
  answer: NotificationAnswer | undefined,
  unchanged: number,
  { now, random }: { readonly now: number; readonly random: number },
): number | undefined {
  if (answer?.status === 'done') return undefined;
  const jitter = 0.9 + 0.2 * random;
  const growing = (first: number, most: number) => Math.min(most, first * GROWTH ** unchanged) * jitter;
  if (answer === undefined) return growing(2 * SOON_MS, SELDOM_MS);
  if (answer.status === 'failed') return growing(MOST_MS, SELDOM_MS);
  const { status, next_retry_at, scheduled_at } = answer;
  const due = Date.parse((status === 'retrying' ? next_retry_at : scheduled_at) ?? '') - now;
  if (due > SOON_MS) return Math.min(SELDOM_MS, due + SOON_MS * jitter);
  return growing(SOON_MS, MOST_MS);
}
