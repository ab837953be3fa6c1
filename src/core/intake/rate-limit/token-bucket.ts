import type { Clock } from '../../model/time.ts';

/** Burst: a key may make the requests of so many seconds at once. */
export const BURST_SECONDS = 2;
/** Most keys in memory. The least recently used key is removed first, and starts with a full bucket again. */
export const MAX_KEYS = 1_000;

interface Bucket {
  tokens: number;
  at: number;
}

/** Takes a token for a request. Returns 0, or the milliseconds to wait when there is no token. */
export type TakeToken = (key_id: string, per_second: number) => number;

/** One token bucket per key, in this process only. shared-limit.ts counts the requests of all processes. */
export function createTokenBuckets(clock: Clock): TakeToken {
  const buckets = new Map<string, Bucket>();
  return (key_id, per_second) => {
    const now = clock().getTime();
    const most = Math.max(1, per_second * BURST_SECONDS);
    const before = buckets.get(key_id) ?? { tokens: most, at: now };
    // A clock that was set back takes nothing away.
    const tokens = Math.min(most, before.tokens + (Math.max(0, now - before.at) / 1000) * per_second);
    buckets.delete(key_id);
    buckets.set(key_id, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    const [oldest] = buckets.keys();
    if (buckets.size > MAX_KEYS && oldest !== undefined) buckets.delete(oldest);
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / per_second) * 1000);
  };
}
