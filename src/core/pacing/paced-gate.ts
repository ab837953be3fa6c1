import type { ClaimPlan } from '../delivery/claim-plan.ts';
import { type Admission, type Held, PASS_THROUGH, type ProviderGate } from '../delivery/ports.ts';
import type { SendResult } from '../delivery/sender.ts';
import { deadlineOf, LIMIT_MS } from '../delivery/verdict.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { ReceivedMessage } from '../model/queue-message.ts';
import { PRIORITY_POLICY, type RetryPolicy } from '../model/retry-policy.ts';
import { type Clock, epochMs } from '../model/time.ts';
import type { ExceededLimit } from './pacer.ts';
import { useOf } from './pacing-policy.ts';
import type { Allowance, Ask } from './plan-reservation.ts';
import type { ReceiverAsk } from './receiver-pacer.ts';
import { AHEAD_MS, earlierTry } from './receiver-slots.ts';

/** The receiver of a notification, whose rate is limited. */
export type PacedReceiver = Pick<ReceiverAsk, 'key' | 'per_second'>;

/** The budgets of a channel, as its function needs them. None of the calls rejects. */
export interface Budgets {
  /** Of the account. The adapter gathers what a batch asks for at the same moment. */
  reserve(ask: Ask): Promise<Allowance>;
  exceeded(limit: ExceededLimit): Promise<void>;
  /** Of a receiver, gathered as well. */
  reserveAt(ask: ReceiverAsk): Promise<Allowance>;
  blocked(key: string, until: number): Promise<void>;
}

export interface PacedGateDeps {
  /** Asked for what a budget admits. */
  readonly inner: ProviderGate;
  readonly channel: string;
  readonly budgets: Budgets;
  /**
   * `account`: everything that the channel sends shares one budget, so it is reserved before the rows are claimed.
   * Otherwise: the receiver of a row, undefined when no rate limits it. Never rejects.
   */
  readonly receiver: 'account' | ((row: NotificationRow) => Promise<PacedReceiver | undefined>);
  /**
   * Whether the row's tenant may use its integration, as far as that is known. If not, its attempt is refused without
   * asking the provider: it takes nothing of the budget or the breaker of those who may. Never rejects.
   */
  readonly mayUse: (row: NotificationRow) => Promise<boolean>;
  /** What a message may do, by its row as it is now. */
  readonly planOf: (received: ReceivedMessage) => Promise<ClaimPlan>;
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly pause: (ms: number) => Promise<void>;
}

export interface Postponed {
  readonly received: ReceivedMessage;
  readonly delay_seconds: number;
}

export interface Screened {
  readonly now: readonly ReceivedMessage[];
  readonly later: readonly Postponed[];
}

/** What was decided for a message before its row was claimed: its slot, its wait, or to ask once it is claimed. */
type Turn = { readonly slot: number } | { readonly wait: number } | 'once claimed';

/** The budget that all e-mail shares, as asks and metrics name it. */
export const ACCOUNT = 'account';

const LONGEST_DELAY_S = 900;
/** After an e-mail that names an integration of others, those of its tenant are reserved for after their claims. */
const SUSPECT_MS = 60_000;
const MAX_SUSPECTS = 1_000;
/** A wait that is only an estimate is looked at again after this. */
const LONGEST_HOLD_MS = 3_600_000;
/** Shorter waits than this are not worth a hold: the deadline comes first. */
const SHORTEST_HOLD_MS = 1_000;

/**
 * Lets attempts through as their budgets allow, then asks the inner gate. What gets no slot within the look-ahead waits
 * in its lane if its row is not claimed yet, and otherwise on its row, as what a breaker holds.
 */
export class PacedGate implements ProviderGate {
  readonly #deps: PacedGateDeps;
  readonly #turns = new Map<string, Turn>();
  /** By tenant, until when. */
  readonly #suspects = new Map<string, number>();
  /** Milliseconds that attempts have waited for their slots since this was last read. */
  #waited_ms = 0;

  constructor(deps: PacedGateDeps) {
    this.#deps = deps;
  }

  /** Before the claim: keeps what may be sent now, and says when the rest may try again. Never rejects. */
  async screen(batch: readonly ReceivedMessage[]): Promise<Screened> {
    // What a dropped message left would count for a later one of its notification that is reserved for after its claim.
    this.#turns.clear();
    // A breaker holds what is claimed, and sends nothing: it needs no slots of the budget.
    if (this.#deps.receiver !== ACCOUNT || this.#isHeld(batch)) return { now: batch, later: [] };
    const now = this.#now();
    const due = batch.filter((received) => {
      const { due, tenant_id, log_id } = received.message;
      if (epochMs(due) > now || this.#isSuspect(tenant_id)) return false;
      // It may bounce to the DLQ, or be obsolete: only a claim shows that it needs a slot.
      if (received.receive_count > 1) this.#turns.set(log_id, 'once claimed');
      return received.receive_count === 1;
    });
    const groups = Map.groupBy(due, ({ message: { priority, options } }) =>
      useOf(options?.force ? 'urgent' : priority),
    );
    const later: Postponed[] = [];
    await Promise.all(
      [...groups].map(async ([use, messages]) => {
        const lane = PRIORITY_POLICY[messages[0]?.message.priority ?? 'normal'].lane;
        const { slots, waits, why } = await this.#deps.budgets.reserve({ count: messages.length, use, lane });
        const copied = await Promise.all(
          messages.map((received, i) => slots[i] === undefined && why === 'rate' && this.#mayCopy(received)),
        );
        messages.forEach((received, i) => {
          const { log_id } = received.message;
          const slot = slots[i];
          const wait = waits[i - slots.length] ?? now;
          if (slot !== undefined) this.#turns.set(log_id, { slot });
          else if (copied[i]) later.push({ received, delay_seconds: delayUntil(wait, now) });
          else this.#turns.set(log_id, { wait });
        });
      }),
    );
    const back = new Set(later.map(({ received }) => received));
    return { now: batch.filter((received) => !back.has(received)), later };
  }

  /**
   * A copy may be obsolete, and be younger than a death all the same: its row is looked at, or the copy of it would pass for a
   * redrive (docs/decisions/delivery/claims-and-messages.md#0178).
   */
  async #mayCopy(received: ReceivedMessage): Promise<boolean> {
    if (received.message.enqueued_at === undefined) return true;
    const plan = await this.#deps.planOf(received).catch(() => undefined);
    return plan?.do === 'claim';
  }

  #isHeld([first]: readonly ReceivedMessage[]): boolean {
    return first !== undefined && this.#deps.inner.holds?.(first.message) === true;
  }

  async admit(row: NotificationRow, forced: boolean): Promise<Admission> {
    const { receiver, inner, mayUse } = this.#deps;
    const turn = this.#turns.get(row.log_id);
    this.#turns.delete(row.log_id);
    if (!(await mayUse(row))) {
      if (this.#suspects.size >= MAX_SUSPECTS) this.#suspects.clear();
      this.#suspects.set(row.tenant_id, this.#now() + SUSPECT_MS);
      return PASS_THROUGH.admit(row, forced);
    }
    if (receiver === ACCOUNT) {
      const late = turn === 'once claimed' || (turn === undefined && this.#isSuspect(row.tenant_id));
      return this.#take(row, forced, late ? await this.#reserve(row, forced) : turn, ACCOUNT);
    }
    const paced = await receiver(row);
    if (paced === undefined) return inner.admit(row, forced);
    const admission = await this.#take(row, forced, await this.#reserveAt(paced, row, forced), paced.key);
    // One that it refuses again has a lower limit than we know.
    return admission.do === 'hold' || earlierTry(row).refused ? admission : { ...admission, paced: true };
  }

  /** The seconds that attempts have waited for their slots since the last call. */
  takeWaited(): number {
    const seconds = this.#waited_ms / 1000;
    this.#waited_ms = 0;
    return seconds;
  }

  #isSuspect(tenant_id: string): boolean {
    return (this.#suspects.get(tenant_id) ?? 0) > this.#now();
  }

  async #reserve(row: NotificationRow, forced: boolean): Promise<Turn> {
    const { lane } = PRIORITY_POLICY[row.priority];
    const use = useOf(forced ? 'urgent' : row.priority);
    return this.#turnOf(await this.#deps.budgets.reserve({ count: 1, use, lane }));
  }

  async #reserveAt(paced: PacedReceiver, row: NotificationRow, forced: boolean): Promise<Turn> {
    const lane = forced ? 'express' : PRIORITY_POLICY[row.priority].lane;
    const earlier = earlierTry(row);
    const { slots, waits } = await this.#deps.budgets.reserveAt({ ...paced, lane, ...earlier });
    // What was held is delayed until its slot: one that is farther away is so by another worker's clock.
    const isKept = slots[0] !== undefined && slots[0] === earlier.slot;
    return this.#turnOf({ slots: isKept ? [Math.min(slots[0] ?? 0, this.#now() + AHEAD_MS)] : slots, waits });
  }

  #turnOf({ slots: [slot], waits: [wait = this.#now()] }: Allowance): Turn {
    return slot !== undefined ? { slot } : { wait };
  }

  async #take(row: NotificationRow, forced: boolean, turn: Turn | undefined, key: string): Promise<Admission> {
    if (typeof turn === 'object' && 'wait' in turn && !forced) return this.#hold(row, turn.wait);
    const wait = typeof turn === 'object' && 'slot' in turn ? turn.slot - this.#now() : 0;
    if (wait > 0) {
      this.#waited_ms += wait;
      await this.#deps.pause(wait);
    }
    const admission = await this.#deps.inner.admit(row, forced);
    if (admission.do === 'hold') return admission;
    return {
      do: 'send',
      report: async (result) => {
        const [down] = await Promise.all([admission.report(result), this.#learn(result, key)]);
        return down;
      },
    };
  }

  /** Not past the deadline: a notification that the budget keeps waiting is given up then, and not before. */
  #hold(row: NotificationRow, until: number): Held {
    const now = this.#now();
    const deadline = deadlineOf(row.first_attempt_at ?? new Date(now).toISOString(), row, this.#deps.policy);
    // The slot of a receiver is given; of the account, it is estimated when there is something left.
    const again = this.#deps.receiver === ACCOUNT ? Math.min(until, now + LONGEST_HOLD_MS) : until - AHEAD_MS;
    const at = Math.min(again, Math.max(deadline, now + SHORTEST_HOLD_MS));
    const held = new Date(Math.ceil(Math.max(at, now + SHORTEST_HOLD_MS))).toISOString();
    return { do: 'hold', until: held, error_type: 'RATE_LIMITED', by: { budget: this.#deps.channel } };
  }

  /** A refusal for a limit slows down all workers. */
  async #learn(result: SendResult, key: string): Promise<void> {
    if (result.ok || result.error_type !== 'RATE_LIMITED') return;
    // A receiver that does not say how long it refuses is left alone for a second; none for more than an hour.
    const { retry_after_ms = LIMIT_MS } = result;
    if (key !== ACCOUNT) await this.#deps.budgets.blocked(key, this.#now() + Math.min(retry_after_ms, LONGEST_HOLD_MS));
    else if (result.limit !== undefined) await this.#deps.budgets.exceeded(result.limit);
  }

  #now(): number {
    return this.#deps.clock().getTime();
  }
}

function delayUntil(until: number, now: number): number {
  return Math.min(LONGEST_DELAY_S, Math.max(1, Math.round((until - now) / 1000)));
}
