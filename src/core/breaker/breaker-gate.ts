import { type Admission, PASS_THROUGH, type ProviderGate } from '../delivery/provider-gate.ts';
import type { Refused, SendResult } from '../delivery/sender.ts';
import type { ProviderErrorType } from '../model/error-types.ts';
import type { NotificationRow } from '../model/notification.ts';
import { PRIORITY_POLICY } from '../model/priorities.ts';
import { providerKey } from '../model/provider-key.ts';
import { epochMs } from '../model/time.ts';
import { type Breaker, closed, draining, opened, phaseOf, probing, reopened, returned, slotTime } from './breaker.ts';
import type { BreakerPolicy } from './breaker-policy.ts';
import { OutcomeWindow } from './outcome-window.ts';
import { SharedBreakers, type SharedBreakersDeps } from './shared-breakers.ts';

export interface BreakerGateDeps extends SharedBreakersDeps {
  readonly policy: BreakerPolicy;
  readonly pause: (ms: number) => Promise<void>;
  /**
   * Whether the notification's tenant may use its integration, as far as that can be told; when not, it is refused
   * without its provider being asked, and has no part in the integration's line and probes. Never rejects.
   */
  readonly mayUse?: (row: NotificationRow) => Promise<boolean>;
  /** Longer than an attempt can take from here to its answer. */
  readonly probe_ms: number;
  readonly onTransition?: (to: 'opened' | 'closed', breaker: Breaker) => void;
}

/** What others found out is looked up again after so many milliseconds; sooner by who has just met a failure. */
const KNOWN_FOR_MS = 5_000;
const KNOWN_AT_A_FAILURE_MS = 1_000;

/**
 * Longest wait for company: of a failed attempt for those of its batch, so that it is judged by what all have met, and
 * of a notification for the probe that this worker is making.
 */
const BATCH_WAIT_MS = 3_000;

/** Providers that a worker keeps outcomes of, for its memory's sake. */
const MAX_WINDOWS = 2_000;

/** The failures by which a provider shows that it is down; a limit, or a refusal of one message, shows the contrary. */
const OUTAGE_ERRORS: readonly ProviderErrorType[] = ['NETWORK_TIMEOUT', 'SERVER_OVERLOAD', 'UNKNOWN'];

function showsOutage(refused: Refused): boolean {
  return refused.asked !== false && OUTAGE_ERRORS.includes(refused.error_type);
}

/** It answered, whatever it said. */
function isAlive(result: SendResult): boolean {
  return result.ok || (!showsOutage(result) && result.response_code !== undefined);
}

/** The breakers as one worker sees them: its own window of outcomes a provider, and what the store says of the others'. */
export class BreakerGate implements ProviderGate {
  readonly #deps: BreakerGateDeps;
  readonly #known: SharedBreakers;
  readonly #windows = new Map<string, OutcomeWindow>();
  readonly #underWay = new Map<string, Set<Promise<unknown>>>();
  /** Made by this worker; each tells whether the provider is back. */
  readonly #probes = new Map<string, { readonly back: Promise<boolean>; readonly until: number }>();
  readonly #opening = new Map<string, Promise<void>>();

  constructor(deps: BreakerGateDeps) {
    this.#deps = deps;
    this.#known = new SharedBreakers(deps);
  }

  async admit(row: NotificationRow, forced: boolean): Promise<Admission> {
    const id = providerKey(row);
    if (id === undefined) return PASS_THROUGH.admit(row, forced);
    await this.#known.refresh(KNOWN_FOR_MS);
    const breaker = this.#known.get(id);
    if (breaker === undefined || this.#known.phase(id) !== 'open') return this.#send(id, row);
    if ((await this.#deps.mayUse?.(row)) === false) return PASS_THROUGH.admit(row, forced);
    this.#windows.delete(id);
    if (forced) return this.#sendForced(id);
    const now = this.#deps.clock().getTime();
    const probe = this.#probes.get(id);
    if (probe !== undefined && probe.until > now) {
      const back = await Promise.race([probe.back, this.#deps.pause(BATCH_WAIT_MS)]);
      return back === true ? this.#send(id, row) : this.#hold(breaker, row);
    }
    return epochMs(breaker.probe_at) > now ? this.#hold(breaker, row) : this.#probe(breaker, row);
  }

  #send(id: string, { log_id }: NotificationRow): Admission {
    const leave = this.#join(id);
    return {
      do: 'send',
      report: async (result) => {
        this.#observe(id, log_id, result);
        leave();
        if (result.ok) {
          await this.#closeIfDrained(id);
          return false;
        }
        if (showsOutage(result)) await this.#judge(id, result);
        return this.#excuses(id, result);
      },
    };
  }

  #sendForced(id: string): Admission {
    const leave = this.#join(id);
    return {
      do: 'send',
      report: async (result) => {
        leave();
        if (isAlive(result)) await this.#drain(id);
        return this.#excuses(id, result);
      },
    };
  }

  /** Who wins the transition makes the probe; the others learn of it and are held, or sent if it is over already. */
  async #probe(breaker: Breaker, row: NotificationRow): Promise<Admission> {
    const { clock, policy, probe_ms } = this.#deps;
    const { id } = breaker;
    const { promise: back, resolve } = Promise.withResolvers<boolean>();
    this.#probes.set(id, { back, until: clock().getTime() + probe_ms });
    const leased = probing(breaker, clock(), probe_ms, policy);
    if (!(await this.#known.transition(leased))) {
      this.#probes.delete(id);
      const now = this.#known.get(id);
      const open = now !== undefined && this.#known.phase(id) === 'open';
      resolve(!open);
      return open ? this.#hold(now, row) : this.#send(id, row);
    }
    return {
      do: 'send',
      report: async (result) => {
        const now = clock();
        const alive = isAlive(result);
        if (alive) await this.#drain(id);
        else if (!result.ok && showsOutage(result))
          await this.#known.transition(reopened(leased, result.error_type, now, policy));
        else await this.#known.transition(returned(leased, now));
        this.#probes.delete(id);
        resolve(alive);
        return this.#excuses(id, result);
      },
    };
  }

  async #hold(known: Breaker, row: NotificationRow): Promise<Admission> {
    const { store, clock, policy } = this.#deps;
    const lane = PRIORITY_POLICY[row.priority].lane;
    const now = clock().getTime();
    let until = Math.max(epochMs(known.probe_at), now + known.interval_ms);
    let { error_type } = known;
    try {
      const taken = await store.takeSlot(known.id, lane);
      if (taken === undefined || phaseOf(taken.breaker, clock()) !== 'open') {
        if (taken) this.#known.learn(taken.breaker);
        else this.#known.forget(known.id);
        return this.#send(known.id, row);
      }
      const { breaker, slot } = taken;
      this.#known.learn(breaker);
      const soonest = Math.min(epochMs(breaker.probe_at), now + breaker.interval_ms);
      until = Math.max(slotTime(breaker.lines[lane], slot, policy), soonest);
      error_type = breaker.error_type;
    } catch (error) {
      // Held all the same, outside the line: a provider that is down is no better for our storage being slow.
      this.#deps.onFault?.(error);
    }
    return { do: 'hold', until: new Date(until).toISOString(), error_type, breaker: known.id };
  }

  /** What failed on our side would fail with the provider up as well: it counts, so that it ends. */
  #excuses(id: string, result: SendResult): boolean {
    return !result.ok && result.asked !== false && this.#known.phase(id) !== 'closed';
  }

  #observe(id: string, log_id: string, result: SendResult): void {
    if (!result.ok && !showsOutage(result)) return;
    const { clock, policy } = this.#deps;
    if (this.#windows.size >= MAX_WINDOWS) this.#windows.clear();
    const window = this.#windows.get(id) ?? new OutcomeWindow(policy.window_ms);
    this.#windows.set(id, window);
    window.add(log_id, !result.ok, clock().getTime());
  }

  /** Hears the rest of the batch first, and what other workers found. */
  async #judge(id: string, { error_type }: Refused): Promise<void> {
    const { pause, clock, policy } = this.#deps;
    const company = this.#underWay.get(id);
    if (company?.size) await Promise.race([Promise.allSettled(company), pause(BATCH_WAIT_MS)]);
    await this.#known.refresh(KNOWN_AT_A_FAILURE_MS);
    if (this.#known.phase(id) === 'open') return;
    const now = clock();
    const { samples, failure_share } = this.#windows.get(id)?.totals(now.getTime()) ?? { samples: 0, failure_share: 0 };
    if (samples < policy.min_samples || failure_share < policy.failure_share) return;
    const opening = this.#opening.get(id) ?? this.#open(id, error_type).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    await opening;
  }

  async #open(id: string, error_type: ProviderErrorType): Promise<void> {
    const { clock, policy, onTransition } = this.#deps;
    const breaker = opened(id, this.#known.get(id), error_type, clock(), policy);
    if (await this.#known.transition(breaker)) onTransition?.('opened', breaker);
    this.#windows.delete(id);
  }

  async #closeIfDrained(id: string): Promise<void> {
    const breaker = this.#known.get(id);
    if (breaker?.state !== 'draining' || this.#known.phase(id) !== 'closed') return;
    if (await this.#known.transition(closed(breaker))) this.#deps.onTransition?.('closed', breaker);
  }

  async #drain(id: string): Promise<void> {
    const { clock, policy } = this.#deps;
    const breaker = this.#known.get(id);
    if (breaker?.state === 'open') await this.#known.transition(draining(breaker, clock(), policy));
  }

  /** Counts an attempt among those under way until it is left. */
  #join(id: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const others = this.#underWay.get(id) ?? new Set();
    this.#underWay.set(id, others.add(promise));
    return () => {
      others.delete(promise);
      if (others.size === 0) this.#underWay.delete(id);
      resolve();
    };
  }
}
