import type { SendResult } from '../delivery/sender.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { Clock } from '../model/time.ts';
import type { BreakerPolicy } from './breaker-policy.ts';
import { OutcomeWindow } from './outcome-window.ts';
import { showsOutage } from './provider-health.ts';
import type { SharedBreakers } from './shared-breakers.ts';

export interface OutageDetectorDeps {
  readonly policy: BreakerPolicy;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  /** Notifications that the row's provider takes per second, where that is known. Never rejects. */
  readonly budgetOf?: (row: NotificationRow) => Promise<number | undefined>;
}

/** Milliseconds for which a worker that meets a failure trusts what it has read of the breakers. */
const FRESH_AT_A_FAILURE_MS = 1_000;

/** Longest wait of a failed attempt for the others of its batch, so that all their outcomes decide together. */
export const BATCH_WAIT_MS = 3_000;

/** Most providers that a worker keeps outcomes of, to bound its memory. */
const MAX_WINDOWS = 2_000;

/** Opens a breaker when this worker's attempts show that the provider is down. */
export class OutageDetector {
  readonly #breakers: SharedBreakers;
  readonly #deps: OutageDetectorDeps;
  readonly #windows = new Map<string, OutcomeWindow>();
  readonly #underWay = new AttemptsUnderWay();
  readonly #opening = new Map<string, Promise<void>>();

  constructor(breakers: SharedBreakers, deps: OutageDetectorDeps) {
    this.#breakers = breakers;
    this.#deps = deps;
  }

  /** Counts an attempt among those under way. @returns ends the attempt */
  begin(id: string): () => void {
    return this.#underWay.begin(id);
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
    const others = this.#underWay.ended(id);
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

/** The attempts that this worker has under way, by provider. */
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
