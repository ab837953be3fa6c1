import type { SendResult } from '../delivery/ports.ts';
import type { Lane, Routed } from '../model/channels.ts';
import type { NotificationRow } from '../model/notification.ts';
import { type Clock, epochMs } from '../model/time.ts';
import { type Breaker, closed, draining, opened, phaseOf } from './breaker.ts';
import type { BreakerPolicy } from './breaker-policy.ts';

/** Who says where a notification is posted to: its integration's credential, or its recipient. */
type AddressedBy = 'integration' | 'recipient';

/**
 * Names the target that fails: `<channel>#<integration>` where the integration says where to post, and
 * `<channel>#<tenant>@<host>` for a recipient without one. Through an integration that only signs, the recipients of every
 * tenant may go, so the key names the tenant, too; not the recipient, since a provider that is down often has a URL per
 * notification. A host is shared by tenants with unrelated receivers; one broken receiver must not hold the others'. All
 * e-mail goes through one SES account, whatever the integration. Undefined when the provider is unknown; such a
 * notification is never held.
 */
export function providerKey(row: Routed, by: AddressedBy = 'integration'): string | undefined {
  const { channel, tenant_id, integration_config_id, provider_host } = row;
  if (channel === 'email') return 'email#ses';
  const tenant = escaped(tenant_id);
  if (!integration_config_id) return provider_host ? `${channel}#${tenant}@${escaped(provider_host)}` : undefined;
  const integration = escaped(integration_config_id);
  return by === 'integration' ? `${channel}#${integration}` : `${channel}#${tenant}@#${integration}`;
}

/** No part of a key holds what separates its parts. */
const escaped = (part: string): string => part.toWellFormed().replace(/[%#@"\\\s\p{C}]/gu, encodeURIComponent);

/** PipelineState, as the breakers need it. */
export interface BreakerStore {
  /** All breakers that changed in the last two days, closed ones included. */
  list(): Promise<readonly Breaker[]>;
  /** Up to `limit` breakers, in one small read; `all` when there are no others. May be a second old. */
  first(limit: number): Promise<{ readonly breakers: readonly Breaker[]; readonly all: boolean }>;
  /** @param options `newest`: as the last transition left it; else it may be a second old, for half the price */
  read(id: string, options: { readonly newest: boolean }): Promise<Breaker | undefined>;
  /**
   * Makes a transition: sets everything but the lines' slots, which only takeSlot counts.
   * @returns false when the stored breaker is not the version before: another worker was faster
   */
  write(breaker: Breaker): Promise<boolean>;
  /** Takes the line's next slot. @returns the slot and the breaker as it is now; undefined when there is no breaker */
  takeSlot(id: string, lane: Lane): Promise<{ readonly slot: number; readonly breaker: Breaker } | undefined>;
}

export interface BreakerDeps {
  readonly store: BreakerStore;
  readonly policy: BreakerPolicy;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
  /** Milliseconds of a probe's lease: longer than an attempt can take from its admission to its answer. */
  readonly probe_ms: number;
  /** Notifications that the row's provider takes per second, where that is known. Never rejects. */
  readonly budgetOf?: (row: NotificationRow) => Promise<number | undefined>;
  /** Who says where the row is posted to; absent: its integration, where it has one. Never rejects. */
  readonly addressedBy?: ((row: NotificationRow) => Promise<AddressedBy>) | undefined;
  /** Draws for slow start; absent: Math.random. */
  readonly random?: () => number;
  /** Storage failed; deliveries go on with what is known. */
  readonly onFault?: (error: unknown) => void;
  readonly onTransition?: (to: 'opened' | 'closed', breaker: Breaker) => void;
}

/**
 * Breakers in the read that all workers repeat. As long as there are no more, that read shows which providers have no
 * breaker; beyond, each worker reads the breakers of the providers that it sends to
 * (docs/decisions/delivery/breaker.md#0081).
 */
const READ_TOGETHER = 100;

/** Clocks differ by seconds; a closed breaker's item is kept for two days. */
const ANEW_MS = 86_400_000;
/** Most providers of which a worker keeps the time of the last read, to bound its memory. */
const MAX_TIMES = 2_000;

/** The breakers as one worker knows them: read from time to time, and updated by its own transitions. */
export class SharedBreakers {
  readonly #deps: Omit<BreakerDeps, 'pause' | 'probe_ms'>;
  readonly #known = new Map<string, Breaker>();
  /** By provider, and for the first breakers together. */
  readonly #readAt = new Map<string, number>();
  readonly #reading = new Map<string, Promise<void>>();
  #knowsAll = false;

  constructor(deps: Omit<BreakerDeps, 'pause' | 'probe_ms'>) {
    this.#deps = deps;
  }

  get(id: string): Breaker | undefined {
    return this.#known.get(id);
  }

  phase(id: string): Breaker['state'] {
    const known = this.get(id);
    return known === undefined ? 'closed' : phaseOf(known, this.#deps.clock());
  }

  openBreaker(id: string): Breaker | undefined {
    return this.phase(id) === 'open' ? this.get(id) : undefined;
  }

  /** A failure while the provider is down does not count. A failure on our side counts, so that its notification ends. */
  excuses(id: string, result: SendResult): boolean {
    return !result.ok && result.asked !== false && this.phase(id) !== 'closed';
  }

  /**
   * Of two views of a breaker, the one with the later transition counts, in whatever order they come. Versions start anew
   * once the item of a closed breaker has expired: what opened more than its time later is the later one.
   */
  learn(breaker: Breaker): void {
    const known = this.#known.get(breaker.id);
    const lead = known === undefined ? Number.POSITIVE_INFINITY : epochMs(breaker.since) - epochMs(known.since);
    const isLater = Math.abs(lead) > ANEW_MS ? lead > 0 : (known?.version ?? 0) <= breaker.version;
    if (isLater) this.#known.set(breaker.id, breaker);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  /** What the store says, unless the last read is younger than `max_age_ms`. Simultaneous callers share one read. */
  async refresh(id: string, max_age_ms: number): Promise<void> {
    await this.#readOnce(TOGETHER, max_age_ms, () => this.#readFirst());
    if (!this.#knowsAll) await this.#readOnce(id, max_age_ms, () => this.#read(id, { newest: false }));
  }

  /** The same, with the last transition of all workers. */
  async refreshNewest(id: string, max_age_ms: number): Promise<void> {
    await this.#readOnce(`newest ${id}`, max_age_ms, () => this.#read(id, { newest: true }));
  }

  /** @param per_second the provider's budget, where one is known */
  async open(id: string, error_type: Breaker['error_type'], per_second?: number): Promise<void> {
    const { clock, policy, onTransition } = this.#deps;
    const budget = per_second !== undefined && { per_second };
    const breaker = opened({ id, error_type, ...budget }, this.get(id), { now: clock(), policy });
    if (await this.transition(breaker)) onTransition?.('opened', breaker);
  }

  /** The provider answered: an open breaker lets go what it holds. */
  async drain(id: string): Promise<void> {
    const { clock, policy } = this.#deps;
    const breaker = this.get(id);
    if (breaker?.state === 'open') await this.transition(draining(breaker, { now: clock(), policy }));
  }

  async closeIfDrained(id: string): Promise<void> {
    const breaker = this.get(id);
    if (breaker?.state !== 'draining' || this.phase(id) !== 'closed') return;
    if (await this.transition(closed(breaker))) this.#deps.onTransition?.('closed', breaker);
  }

  /** @returns false when another worker made a transition first, which is known then, or when storage failed */
  async transition(breaker: Breaker): Promise<boolean> {
    try {
      if (await this.#deps.store.write(breaker)) {
        this.learn(breaker);
        return true;
      }
      await this.refreshNewest(breaker.id, 0);
    } catch (error) {
      this.#deps.onFault?.(error);
    }
    return false;
  }

  async #readFirst(): Promise<void> {
    const { breakers, all } = await this.#deps.store.first(READ_TOGETHER);
    this.#knowsAll = all;
    for (const breaker of breakers) this.learn(breaker);
  }

  async #read(id: string, { newest }: { readonly newest: boolean }): Promise<void> {
    const breaker = await this.#deps.store.read(id, { newest });
    if (breaker !== undefined) this.learn(breaker);
  }

  async #readOnce(key: string, max_age_ms: number, read: () => Promise<void>): Promise<void> {
    const now = this.#deps.clock().getTime();
    const readAt = this.#readAt.get(key) ?? Number.NEGATIVE_INFINITY;
    if (!this.#reading.has(key) && now - readAt < max_age_ms) return;
    const reading = this.#reading.get(key) ?? this.#start(key, now, read);
    await reading;
  }

  #start(key: string, now: number, read: () => Promise<void>): Promise<void> {
    if (this.#readAt.size >= MAX_TIMES) this.#readAt.clear();
    // A failed read counts, too: slow storage must not be read for every notification.
    this.#readAt.set(key, now);
    const reading = read()
      .catch((error: unknown) => this.#deps.onFault?.(error))
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }
}

const TOGETHER = 'first breakers';
