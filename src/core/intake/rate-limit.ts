import type { Clock } from '../model/time.ts';

/** The requests of each key, counted by all instances together. */
export interface RequestCounts {
  /**
   * Adds requests to the key's count of a second.
   * @param second since the epoch
   * @returns the count of all instances, including these requests
   */
  add(key_id: string, second: number, requests: number): Promise<number>;
}

export interface SharedLimitDeps {
  readonly counts: RequestCounts;
  readonly clock: Clock;
  /** Called when the counts cannot be reached, once until they can be reached again. */
  readonly onFault?: (error: unknown) => void;
}

/** An instance reports its requests after every fifth of the key's requests per second, or after each request. */
const REPORTS_PER_SECOND = 5;

interface Usage {
  readonly second: number;
  /** Requests that the key may make in this second. */
  readonly allowed: number;
  /** Requests made in this second as far as this instance knows, without its own unreported ones. */
  total: number;
  unreported: number;
  /**
   * `spent`: too many requests were made. `unknown`: the counts cannot be reached. Both stop reporting for the second.
   */
  state: 'counting' | 'spent' | 'unknown';
}

/** Counts a request. Returns 0, or the milliseconds to wait when the key has used up what all instances may accept. */
export type CountRequest = (key_id: string, per_second: number) => Promise<number>;

/**
 * The token bucket of a key that all instances share, in whole seconds
 * (docs/decisions/intake/keys-rights-and-limits.md#0067). Each second adds the tokens of one second, and at most those
 * of two seconds are kept. In a second it accepts what is allowed and, per instance, at most one request less than the
 * instance reports at a time. Never rejects.
 */
export function createSharedLimit({ counts, clock, onFault }: SharedLimitDeps): CountRequest {
  const usages = new Map<string, Usage>();
  let faulty = false;

  function usageOf(key_id: string, per_second: number, second: number): Usage {
    const before = usages.get(key_id);
    if (before?.second === second) return before;
    const most = Math.max(1, per_second * BURST_SECONDS);
    const kept = before && Math.max(0, before.allowed - before.total - before.unreported);
    const allowed =
      before && kept !== undefined ? Math.min(most, kept + Math.max(0, second - before.second) * per_second) : most;
    const usage: Usage = { second, allowed, total: 0, unreported: 0, state: 'counting' };
    remember(usages, key_id, usage);
    return usage;
  }

  async function report(key_id: string, usage: Usage): Promise<void> {
    const requests = usage.unreported;
    usage.unreported = 0;
    try {
      usage.total = Math.max(usage.total, await counts.add(key_id, usage.second, requests));
      if (usage.total > usage.allowed) usage.state = 'spent';
      faulty = false;
    } catch (error) {
      usage.total += requests;
      usage.state = 'unknown';
      if (!faulty) onFault?.(error);
      faulty = true;
    }
  }

  return async (key_id, per_second) => {
    const now = clock().getTime();
    const usage = usageOf(key_id, per_second, Math.floor(now / 1000));
    if (usage.state === 'counting') {
      usage.unreported += 1;
      if (usage.unreported >= per_second / REPORTS_PER_SECOND) await report(key_id, usage);
    }
    return usage.state === 'spent' ? (usage.second + 1) * 1000 - now : 0;
  };
}

/** Burst: the seconds whose requests a key may make at once. */
const BURST_SECONDS = 2;
/** Most keys in memory. The least recently used key is removed first, and starts with a full bucket again. */
export const MAX_KEYS = 1_000;

function remember<V>(entries: Map<string, V>, key_id: string, entry: V): void {
  entries.delete(key_id);
  entries.set(key_id, entry);
  const [oldest] = entries.keys();
  if (entries.size > MAX_KEYS && oldest !== undefined) entries.delete(oldest);
}

/** Takes a token for a request. Returns 0, or the milliseconds to wait when there is no token. */
export type TakeToken = (key_id: string, per_second: number) => number;

/** One token bucket per key, in this process only. */
export function createTokenBuckets(clock: Clock): TakeToken {
  const buckets = new Map<string, { readonly tokens: number; readonly at: number }>();
  return (key_id, per_second) => {
    const now = clock().getTime();
    const most = Math.max(1, per_second * BURST_SECONDS);
    const before = buckets.get(key_id) ?? { tokens: most, at: now };
    // A clock that was set back takes nothing away.
    const tokens = Math.min(most, before.tokens + (Math.max(0, now - before.at) / 1000) * per_second);
    remember(buckets, key_id, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) / per_second) * 1000);
  };
}
