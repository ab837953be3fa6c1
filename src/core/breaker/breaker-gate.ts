import { type Admission, PASS_THROUGH, type ProviderGate, type SendResult } from '../delivery/ports.ts';
import type { Routed } from '../model/channels.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { BATCH_WAIT_MS, OpenBreakers, showsOutage } from './open-breaker.ts';
import { type BreakerDeps, providerKey, SharedBreakers } from './shared-breakers.ts';

/** Milliseconds for which a worker trusts what it has read of the breakers. */
const FRESH_MS = 5_000;

/**
 * The breakers as one worker sees them: its own outcomes, and what the store says of the other workers' transitions.
 */
export class BreakerGate implements ProviderGate {
  readonly #deps: BreakerDeps;
  readonly #breakers: SharedBreakers;
  readonly #detector: OutageDetector;
  readonly #notClosed: OpenBreakers;

  constructor(deps: BreakerDeps) {
    this.#deps = deps;
    this.#breakers = new SharedBreakers(deps);
    this.#detector = new OutageDetector(this.#breakers, deps);
    this.#notClosed = new OpenBreakers(this.#breakers, deps);
  }

  async admit(row: NotificationRow, named: boolean): Promise<Admission> {
    const id = providerKey(row, await this.#deps.addressedBy?.(row));
    if (id === undefined) return PASS_THROUGH.admit(row, named);
    await this.#breakers.refresh(id, FRESH_MS);
    const breaker = this.#breakers.openBreaker(id);
    if (breaker === undefined) return this.#sendOrStartSlowly(id, row, named);
    this.#detector.forget(id);
    return (await this.#notClosed.admit(breaker, row, named)) ?? this.#sendOrStartSlowly(id, row, named);
  }

  holds(provider: Routed): boolean {
    const id = providerKey(provider);
    return id !== undefined && this.#breakers.openBreaker(id) !== undefined;
  }

  #sendOrStartSlowly(id: string, row: NotificationRow, named: boolean): Admission {
    const breaker = this.#breakers.get(id);
    if (breaker === undefined || this.#breakers.phase(id) !== 'draining') return this.#send(id, row);
    return this.#notClosed.startSlowly(breaker, named) ?? this.#send(id, row);
  }

  #send(id: string, row: NotificationRow): Admission {
    const { log_id } = row;
    const end = this.#detector.underWay.begin(id);
    return {
      do: 'send',
      report: async (result) => {
        this.#detector.observe(id, log_id, result);
        end();
        if (result.ok) await this.#breakers.closeIfDrained(id);
        else if (showsOutage(result)) await this.#detector.openIfDown(id, result.error_type, row);
        return this.#breakers.excuses(id, result);
      },
    };
  }
}

type DetectorDeps = Pick<BreakerDeps, 'policy' | 'clock' | 'pause' | 'budgetOf'>;

/** Milliseconds for which a worker trusts its copy of a breaker when an attempt has failed. */
const FRESH_AT_A_FAILURE_MS = 1_000;

/** Most providers that a worker keeps outcomes of, to bound its memory. */
const MAX_WINDOWS = 2_000;

/** Opens a breaker when this worker's attempts show that the provider is down. */
export class OutageDetector {
  readonly #breakers: SharedBreakers;
  readonly #deps: DetectorDeps;
  readonly #windows = new Map<string, OutcomeWindow>();
  readonly underWay = new AttemptsUnderWay();
  readonly #opening = new Map<string, Promise<void>>();

  constructor(breakers: SharedBreakers, deps: DetectorDeps) {
    this.#breakers = breakers;
    this.#deps = deps;
  }

  observe(id: string, log_id: string, result: SendResult): void {
    if (!result.ok && !showsOutage(result)) return;
    const { clock, policy } = this.#deps;
    if (this.#windows.size >= MAX_WINDOWS) this.#windows.clear();
    const window = this.#windows.get(id) ?? new OutcomeWindow(policy.window_ms);
    this.#windows.set(id, window);
    window.add(log_id, !result.ok, clock().getTime());
  }

  forget(id: string): void {
    this.#windows.delete(id);
  }

  /**
   * Decides after the other attempts of the batch have ended, and after other workers' transitions are read.
   * @param row a notification of the provider, by which its budget is known
   */
  async openIfDown(id: string, error_type: ProviderErrorType, row?: NotificationRow): Promise<void> {
    const others = this.underWay.ended(id);
    if (others !== undefined) await Promise.race([others, this.#deps.pause(BATCH_WAIT_MS)]);
    await this.#breakers.refreshNewest(id, FRESH_AT_A_FAILURE_MS);
    if (this.#breakers.phase(id) === 'open' || !this.#isDown(id)) return;
    const opening = this.#opening.get(id) ?? this.#open(id, error_type, row).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    await opening;
  }

  #isDown(id: string): boolean {
    const { policy, clock } = this.#deps;
    const totals = this.#windows.get(id)?.totals(clock().getTime());
    const { samples, failure_share } = totals ?? { samples: 0, failure_share: 0 };
    return samples >= policy.min_samples && failure_share >= policy.failure_share;
  }

  async #open(id: string, error_type: ProviderErrorType, row?: NotificationRow): Promise<void> {
    await this.#breakers.open(id, error_type, row && (await this.#deps.budgetOf?.(row)));
    this.#windows.delete(id);
  }
}

export class AttemptsUnderWay {
  readonly #attempts = new Map<string, Set<Promise<void>>>();

  /** @returns ends the attempt */
  begin(id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = this.#attempts.get(id) ?? new Set();
    this.#attempts.set(id, others.add(promise));
    return () => {
      others.delete(promise);
      if (others.size === 0) this.#attempts.delete(id);
      resolve();
    };
  }

  /** Resolves when the provider's attempts that are under way now have ended; undefined when there are none. */
  ended(id: string): Promise<unknown> | undefined {
    const attempts = this.#attempts.get(id);
    return attempts && Promise.allSettled(attempts);
  }
}

/** Buckets per window: it slides in steps of a sixth. */
const BUCKETS = 6;

interface Bucket {
  readonly until: number;
  passed: number;
}

/** The outcomes that one worker has seen of one provider within the window. */
export class OutcomeWindow {
  readonly #window_ms: number;
  #buckets: Bucket[] = [];
  /** The end of the newest bucket in which each notification failed, the first to end first. */
  readonly #failed = new Map<string, number>();

  constructor(window_ms: number) {
    this.#window_ms = window_ms;
  }

  /** Failures count once per notification: one that fails again and again is no sign of an outage. */
  add(log_id: string, failed: boolean, now: number): void {
    this.#forget(now);
    const newest = this.#buckets.at(-1);
    const bucket = newest !== undefined && newest.until > now ? newest : this.#begin(now);
    if (!failed) {
      bucket.passed += 1;
      return;
    }
    this.#failed.delete(log_id);
    this.#failed.set(log_id, bucket.until);
  }

  /** @returns `samples`: failed notifications plus attempts that passed; `failure_share`: of the former, 0…1. */
  totals(now: number): { samples: number; failure_share: number } {
    this.#forget(now);
    const failed = this.#failed.size;
    const samples = failed + this.#buckets.reduce((sum, { passed }) => sum + passed, 0);
    return { samples, failure_share: samples === 0 ? 0 : failed / samples };
  }

  #begin(now: number): Bucket {
    const bucket = { until: now + this.#window_ms / BUCKETS, passed: 0 };
    this.#buckets.push(bucket);
    return bucket;
  }

  #forget(now: number): void {
    const since = now - this.#window_ms;
    this.#buckets = this.#buckets.filter(({ until }) => until > since);
    for (const [log_id, until] of this.#failed) {
      if (until > since) return;
      this.#failed.delete(log_id);
    }
  }
}
