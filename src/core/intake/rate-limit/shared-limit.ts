import type { Clock } from '../../model/time.ts';
import { BURST_SECONDS, MAX_KEYS } from './token-bucket.ts';

/** What all instances together have counted of a key's requests. */
export interface RequestCounts {
  /**
   * Adds to the key's count of the second.
   * @param second since the epoch
   * @returns the count of all, these included
   */
  add(key_id: string, second: number, requests: number): Promise<number>;
}

export interface SharedLimitDeps {
  readonly counts: RequestCounts;
  readonly clock: Clock;
  /** The counts could not be reached; told once, until they can be again. */
  readonly onFault?: (error: unknown) => void;
}

/** So many reports make up a second's worth of a key's requests: an instance reports a fifth at a time, or each one. */
const REPORTS_A_SECOND = 5;

interface Spending {
  readonly second: number;
  /** Requests that the key may make in this second. */
  readonly allowed: number;
  /** Made in it as far as is known here, the unreported excluded. */
  total: number;
  unreported: number;
  /** Nothing more is asked in this second, for it is known that too many were made, or the counts are out of reach. */
  state: 'counting' | 'spent' | 'unknown';
}

/**
 * Counts a request; gives the milliseconds to wait when the key has spent what all instances may let through, else 0.
 */
export type CountRequest = (key_id: string, per_second: number) => Promise<number>;

/**
 * The token bucket of a key that instances share, in whole seconds (docs/decisions/0067): a second's worth comes in
 * each second, two seconds' worth can be kept. In a second it lets through what is allowed and, of each instance, at
 * most one request less than it reports at a time. Never rejects.
 */
export function createSharedLimit({ counts, clock, onFault }: SharedLimitDeps): CountRequest {
  const spendings = new Map<string, Spending>();
  let faulty = false;

  function spendingOf(key_id: string, per_second: number, second: number): Spending {
    const before = spendings.get(key_id);
    if (before?.second === second) return before;
    const most = Math.max(1, per_second * BURST_SECONDS);
    const kept = before && Math.max(0, before.allowed - before.total - before.unreported);
    const allowed = before && kept !== undefined ? Math.min(most, kept + (second - before.second) * per_second) : most;
    const spending: Spending = { second, allowed, total: 0, unreported: 0, state: 'counting' };
    spendings.delete(key_id);
    spendings.set(key_id, spending);
    const [oldest] = spendings.keys();
    if (spendings.size > MAX_KEYS && oldest !== undefined) spendings.delete(oldest);
    return spending;
  }

  async function report(key_id: string, spending: Spending): Promise<void> {
    const requests = spending.unreported;
    spending.unreported = 0;
    try {
      spending.total = Math.max(spending.total, await counts.add(key_id, spending.second, requests));
      if (spending.total > spending.allowed) spending.state = 'spent';
      faulty = false;
    } catch (error) {
      spending.total += requests;
      spending.state = 'unknown';
      if (!faulty) onFault?.(error);
      faulty = true;
    }
  }

  return async (key_id, per_second) => {
    const now = clock().getTime();
    const spending = spendingOf(key_id, per_second, Math.floor(now / 1000));
    if (spending.state === 'counting') {
      spending.unreported += 1;
      if (spending.unreported >= per_second / REPORTS_A_SECOND) await report(key_id, spending);
    }
    return spending.state === 'spent' ? (spending.second + 1) * 1000 - now : 0;
  };
}
