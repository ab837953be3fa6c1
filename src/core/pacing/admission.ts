import { type Admission, type Held, PASS_THROUGH } from '../delivery/ports.ts';
import type { SendResult } from '../delivery/sender.ts';
import { deadlineOf, LIMIT_MS } from '../delivery/verdict.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { ReceivedMessage } from '../model/queue-message.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import { LOOK_AHEAD_MS, useOf } from './pacing-policy.ts';
import type { Allowance } from './plan-reservation.ts';
import type { AdmissionDeps, AdmissionGate, Admitted, PacedReceiver, Postponed } from './ports.ts';
import { AHEAD_MS, earlierTry } from './receiver-slots.ts';

/** What was decided for a message before its row was claimed: its slot, its wait, or to ask once it is claimed. */
type Turn = ReservedTurn | 'once claimed';
type ReservedTurn = { readonly slot: number } | { readonly wait: number };

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
 * Whether attempts may be made now: whether their tenant may use the integration, then what budgets allow, then whether a
 * breaker is open. It is asked once per batch. What gets no slot within the look-ahead waits in its lane if its row is not
 * claimed yet, and otherwise on its row, as what a breaker holds.
 */
export function createAdmission(deps: AdmissionDeps): AdmissionGate {
  const suspects: Suspects = new Map();
  return { screen: (batch) => AdmittedBatch.of(batch, deps, suspects) };
}

/** By tenant, until when. */
type Suspects = Map<string, number>;

class AdmittedBatch implements Admitted {
  now: readonly ReceivedMessage[] = [];
  later: readonly Postponed[] = [];
  readonly #deps: AdmissionDeps;
  readonly #suspects: Suspects;
  /** By log_id. */
  readonly #turns = new Map<string, Turn>();
  #waited_ms = 0;

  constructor(deps: AdmissionDeps, suspects: Suspects) {
    this.#deps = deps;
    this.#suspects = suspects;
  }

  static async of(batch: readonly ReceivedMessage[], deps: AdmissionDeps, suspects: Suspects): Promise<AdmittedBatch> {
    const admitted = new AdmittedBatch(deps, suspects);
    const [plain, forced] = [batch.filter((one) => !isForced(one)), batch.filter(isForced)];
    admitted.later =
      deps.receiver === ACCOUNT
        ? await admitted.#screenForAccount(plain, forced)
        : (await Promise.all(forced.map((one) => admitted.#screenForReceiver(one)))).flat();
    const back = new Set(admitted.later.map(({ received }) => received));
    admitted.now = batch.filter((received) => !back.has(received));
    return admitted;
  }

  get waited(): number {
    return this.#waited_ms / 1000;
  }

  async #screenForAccount(
    plain: readonly ReceivedMessage[],
    forced: readonly ReceivedMessage[],
  ): Promise<readonly Postponed[]> {
    // A breaker holds what is claimed, and sends nothing: it needs no slots of the budget.
    if (this.#isHeld([...plain, ...forced])) return [];
    const now = this.#now();
    const due = plain.filter((received) => {
      const { due, tenant_id, log_id } = received.message;
      if (epochMs(due) > now || this.#isSuspect(tenant_id)) return false;
      // It may bounce to the DLQ, or be obsolete: only a claim shows that it needs a slot.
      if (received.receive_count > 1) this.#turns.set(log_id, 'once claimed');
      return received.receive_count === 1;
    });
    const rows = await Promise.all(forced.map((received) => this.#rowToSend(received)));
    const sendable = forced.filter((_, i) => rows[i] !== undefined);
    // It may end the attempt of a worker that died, and then be sent: only a claim shows that it needs a slot.
    for (const one of forced) if (!sendable.includes(one)) this.#turns.set(one.message.log_id, 'once claimed');
    const groups = Map.groupBy([...due, ...sendable], ({ message: { priority } }) => useOf(priority));
    const later = [...groups].map(async ([use, messages]): Promise<Postponed[]> => {
      const { lane } = PRIORITY_POLICY[messages[0]?.message.priority ?? 'normal'];
      const { slots, waits, why } = await this.#deps.budgets.reserve({ count: messages.length, use, lane });
      const copied = await Promise.all(
        messages.map((received, i) => {
          return slots[i] === undefined && (isForced(received) || (why === 'rate' && this.#mayCopy(received)));
        }),
      );
      return messages.flatMap((received, i) => {
        const slot = slots[i];
        const wait = waits[i - slots.length] ?? now;
        if (slot === undefined && copied[i]) return [{ received, delay_seconds: delayUntil(wait, now) }];
        this.#turns.set(received.message.log_id, slot === undefined ? { wait } : { slot });
        return [];
      });
    });
    return (await Promise.all(later)).flat();
  }

  /** A receiver's allowance is asked for once a row is claimed; but what is forced keeps its slot while it waits in its lane. */
  async #screenForReceiver(received: ReceivedMessage): Promise<readonly Postponed[]> {
    const { receiver } = this.#deps;
    const [now, { log_id, slot: kept }] = [this.#now(), received.message];
    const slot = kept === undefined ? undefined : epochMs(kept);
    const row = await this.#rowToSend(received);
    const paced = row && receiver !== ACCOUNT ? await receiver(row) : undefined;
    if (row === undefined || paced === undefined) return [];
    const isFar = slot !== undefined && slot > now + LOOK_AHEAD_MS.receiver;
    const turn = isFar ? { wait: slot } : await this.#reserveAt(paced, row, slot === undefined ? {} : { slot });
    if (!('wait' in turn)) this.#turns.set(log_id, turn);
    return 'wait' in turn
      ? [{ received, delay_seconds: delayUntil(turn.wait - AHEAD_MS, now), slot: new Date(turn.wait).toISOString() }]
      : [];
  }

  /**
   * The row of a message that is forced, if it is to be claimed for a send, by somebody who may use its integration. Only
   * what is so waits unclaimed: anything else may be a letter, or asks for nothing of the allowance.
   */
  async #rowToSend(received: ReceivedMessage): Promise<NotificationRow | undefined> {
    const row = await this.#deps.rowToSend(received).catch(() => undefined);
    return row && (await this.#deps.mayUse(row)) ? row : undefined;
  }

  /**
   * A copy may be obsolete, and be younger than a death all the same: its row is looked at, or the copy of it would pass for a
   * redrive (docs/decisions/delivery/claims-and-messages.md#0178).
   */
  async #mayCopy(received: ReceivedMessage): Promise<boolean> {
    if (received.message.enqueued_at === undefined) return true;
    return (await this.#deps.rowToSend(received).catch(() => undefined)) !== undefined;
  }

  #isHeld([first]: readonly ReceivedMessage[]): boolean {
    return first !== undefined && this.#deps.breakers.holds?.(first.message) === true;
  }

  async admit(row: NotificationRow, named: boolean): Promise<Admission> {
    const { receiver, breakers, mayUse } = this.#deps;
    const turn = this.#turns.get(row.log_id);
    this.#turns.delete(row.log_id);
    if (!(await mayUse(row))) {
      if (this.#suspects.size >= MAX_SUSPECTS) this.#suspects.clear();
      this.#suspects.set(row.tenant_id, this.#now() + SUSPECT_MS);
      return PASS_THROUGH.admit(row, named);
    }
    if (receiver === ACCOUNT) {
      // Where a breaker holds the batch, it has asked for no slots: but one that is asked for by name is sent.
      const late = turn === 'once claimed' || (turn === undefined && (named || this.#isSuspect(row.tenant_id)));
      return this.#take(row, named, late ? await this.#reserve(row) : turn, ACCOUNT);
    }
    const paced = await receiver(row);
    if (paced === undefined) return breakers.admit(row, named);
    const earlier = earlierTry(row);
    const admission = await this.#take(row, named, turn ?? (await this.#reserveAt(paced, row, earlier)), paced.key);
    // One that it refuses again has a lower limit than we know.
    return admission.do === 'hold' || earlier.refused ? admission : { ...admission, paced: true };
  }

  #isSuspect(tenant_id: string): boolean {
    return (this.#suspects.get(tenant_id) ?? 0) > this.#now();
  }

  async #reserve(row: NotificationRow): Promise<ReservedTurn> {
    const { lane } = PRIORITY_POLICY[row.priority];
    return this.#turnOf(await this.#deps.budgets.reserve({ count: 1, use: useOf(row.priority), lane }));
  }

  /** @param earlier what the message was given when it was tried, or postponed, before */
  async #reserveAt(
    paced: PacedReceiver,
    row: NotificationRow,
    earlier: ReturnType<typeof earlierTry>,
  ): Promise<ReservedTurn> {
    const { lane } = PRIORITY_POLICY[row.priority];
    const { slots, waits } = await this.#deps.budgets.reserveAt({ ...paced, lane, ...earlier });
    // What was held is delayed until its slot: one that is farther away is so by another worker's clock.
    const isKept = slots[0] !== undefined && slots[0] === earlier.slot;
    return this.#turnOf({ slots: isKept ? [Math.min(slots[0] ?? 0, this.#now() + AHEAD_MS)] : slots, waits });
  }

  #turnOf({ slots: [slot], waits: [wait = this.#now()] }: Allowance): ReservedTurn {
    return slot !== undefined ? { slot } : { wait };
  }

  async #take(row: NotificationRow, named: boolean, turn: Turn | undefined, key: string): Promise<Admission> {
    if (typeof turn === 'object' && 'wait' in turn) return this.#hold(row, turn.wait);
    const wait = typeof turn === 'object' && 'slot' in turn ? turn.slot - this.#now() : 0;
    if (wait > 0) {
      this.#waited_ms += wait;
      await this.#deps.pause(wait);
    }
    const admission = await this.#deps.breakers.admit(row, named);
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
    // One whose deadline is over was forced: it is given up by none.
    const bound = deadline > now ? Math.max(deadline, now + SHORTEST_HOLD_MS) : Number.POSITIVE_INFINITY;
    const at = Math.min(again, bound);
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

const isForced = ({ message }: ReceivedMessage): boolean => message.options?.force === true;

function delayUntil(until: number, now: number): number {
  return Math.min(LONGEST_DELAY_S, Math.max(1, Math.round((until - now) / 1000)));
}
