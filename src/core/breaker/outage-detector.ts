import type { Refused, SendResult } from '../delivery/ports.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { type Breaker, probing, reopened, returned } from './breaker.ts';
import type { BreakerDeps, SharedBreakers } from './shared-breakers.ts';

/** Errors that show an outage. A rate limit, or the refusal of one message, shows that the provider is up. */
const OUTAGE_ERRORS: readonly ProviderErrorType[] = ['NETWORK_TIMEOUT', 'SERVER_OVERLOAD', 'UNKNOWN'];

export function showsOutage(refused: Refused): boolean {
  return refused.asked !== false && OUTAGE_ERRORS.includes(refused.error_type);
}

/** The provider answered, even if it refused the message. */
function isAlive(result: SendResult): boolean {
  return result.ok || (!showsOutage(result) && result.response_code !== undefined);
}

type Deps = Pick<BreakerDeps, 'policy' | 'clock' | 'pause' | 'budgetOf'>;

/** Milliseconds for which a worker trusts its copy of a breaker when an attempt has failed. */
const FRESH_AT_A_FAILURE_MS = 1_000;

/** Longest wait of a failed attempt for the others of its batch, so that all their outcomes decide together. */
export const BATCH_WAIT_MS = 3_000;

/** Most providers that a worker keeps outcomes of, to bound its memory. */
const MAX_WINDOWS = 2_000;

/** Opens a breaker when this worker's attempts show that the provider is down. */
export class OutageDetector {
  readonly #breakers: SharedBreakers;
  readonly #deps: Deps;
  readonly #windows = new Map<string, OutcomeWindow>();
  readonly underWay = new AttemptsUnderWay();
  readonly #opening = new Map<string, Promise<void>>();

  constructor(breakers: SharedBreakers, deps: Deps) {
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
  readonly failed: Set<string>;
  passed: number;
}

/** The outcomes that one worker has seen of one provider within the window. */
export class OutcomeWindow {
  readonly #window_ms: number;
  #buckets: Bucket[] = [];

  constructor(window_ms: number) {
    this.#window_ms = window_ms;
  }

  /** Failures count once per notification: one that fails again and again is no sign of an outage. */
  add(log_id: string, failed: boolean, now: number): void {
    this.#forget(now);
    const newest = this.#buckets.at(-1);
    const bucket = newest !== undefined && newest.until > now ? newest : this.#begin(now);
    if (failed) bucket.failed.add(log_id);
    else bucket.passed += 1;
  }

  /** @returns `samples`: failed notifications plus attempts that passed; `failure_share`: of the former, 0…1. */
  totals(now: number): { samples: number; failure_share: number } {
    this.#forget(now);
    const failed = new Set(this.#buckets.flatMap((bucket) => [...bucket.failed])).size;
    const samples = failed + this.#buckets.reduce((sum, { passed }) => sum + passed, 0);
    return { samples, failure_share: samples === 0 ? 0 : failed / samples };
  }

  #begin(now: number): Bucket {
    const bucket = { until: now + this.#window_ms / BUCKETS, failed: new Set<string>(), passed: 0 };
    this.#buckets.push(bucket);
    return bucket;
  }

  #forget(now: number): void {
    this.#buckets = this.#buckets.filter(({ until }) => until > now - this.#window_ms);
  }
}

type ProbeDeps = Pick<BreakerDeps, 'policy' | 'clock' | 'probe_ms'>;

/** Milliseconds in which a worker lets one notification pass that was asked for by name: a list of names may be long. */
const NAMED_EVERY_MS = 5_000;
/** Most providers of which a worker keeps that time, to bound its memory. */
const MAX_TIMES = 2_000;

/** The probes that this worker makes, one per provider. */
export class Probes {
  readonly #breakers: SharedBreakers;
  readonly #deps: ProbeDeps;
  readonly #underWay = new Map<string, { readonly back: Promise<boolean>; readonly until: number }>();
  /** By provider, when one that was asked for by name passed its breaker. */
  readonly #namedAt = new Map<string, number>();

  constructor(breakers: SharedBreakers, deps: ProbeDeps) {
    this.#breakers = breakers;
    this.#deps = deps;
  }

  /** Whether the provider is back, once this worker's probe shows it; undefined when this worker makes no probe. */
  underWay(id: string): Promise<boolean> | undefined {
    const probe = this.#underWay.get(id);
    return probe !== undefined && probe.until > this.#deps.clock().getTime() ? probe.back : undefined;
  }

  /**
   * The worker that wins the transition makes the probe.
   * @returns what moves the breaker on by the provider's answer; undefined for the others, which learn of the transition
   */
  async begin(breaker: Breaker): Promise<((result: SendResult) => Promise<void>) | undefined> {
    const { clock, policy, probe_ms } = this.#deps;
    const { id } = breaker;
    const ended = this.#begin(id);
    const leased = probing(breaker, probe_ms, { now: clock(), policy });
    if (!(await this.#breakers.transition(leased))) {
      ended(this.#breakers.phase(id) !== 'open');
      return undefined;
    }
    return async (result) => {
      await this.#moveOn(leased, result);
      ended(isAlive(result));
    };
  }

  /** Whether one that was asked for by name passes the breaker now. */
  passesNamed(id: string): boolean {
    const now = this.#deps.clock().getTime();
    if (now < (this.#namedAt.get(id) ?? Number.NEGATIVE_INFINITY) + NAMED_EVERY_MS) return false;
    if (this.#namedAt.size >= MAX_TIMES) this.#namedAt.clear();
    this.#namedAt.set(id, now);
    return true;
  }

  /** A probe without a lease: a failure leaves the time of the next one as it is. */
  beginNamed(id: string): (result: SendResult) => Promise<void> {
    const ended = this.#begin(id);
    return async (result) => {
      if (isAlive(result)) await this.#breakers.drain(id);
      ended(isAlive(result));
    };
  }

  #begin(id: string): (isBack: boolean) => void {
    const { clock, probe_ms } = this.#deps;
    const { promise: back, resolve } = Promise.withResolvers<boolean>();
    this.#underWay.set(id, { back, until: clock().getTime() + probe_ms });
    return (isBack) => {
      this.#underWay.delete(id);
      resolve(isBack);
    };
  }

  async #moveOn(leased: Breaker, result: SendResult): Promise<void> {
    const { clock, policy } = this.#deps;
    const now = clock();
    if (isAlive(result)) await this.#breakers.drain(leased.id);
    else if (!result.ok && showsOutage(result)) {
      await this.#breakers.transition(reopened(leased, result.error_type, { now, policy }));
    } else await this.#breakers.transition(returned(leased, now));
  }
}
