import { chosenIntegration } from '../delivery/conduct-attempt.ts';
import { type Admission, type Held, PASS_THROUGH, type SendResult } from '../delivery/ports.ts';
import { deadlineOf, LIMIT_MS } from '../delivery/verdict.ts';
import type { NotificationRow } from '../model/notification.ts';
import type { ReceivedMessage } from '../model/queue-message.ts';
import { PRIORITY_POLICY } from '../model/retry-policy.ts';
import { epochMs } from '../model/time.ts';
import { LOOK_AHEAD_MS, useOf } from './pacing-policy.ts';
import type { Allowance } from './plan-reservation.ts';
import type { AdmissionDeps, AdmissionGate, Admitted, PacedReceiver, Postponed } from './ports.ts';
import { AHEAD_MS, earlierTry } from './receiver-slots.ts';

/** What a message got before its row was claimed: a slot, a time to wait for, or neither yet, as a claim comes first. */
type Reservation = Reserved | 'once claimed';
type Reserved = { readonly slot: number } | { readonly wait: number };

/** The budget that all e-mail shares, as requests and metrics name it. */
export const ACCOUNT = 'account';

const LONGEST_DELAY_S = 900;
/** Milliseconds after an e-mail that named another tenant's integration, in which its tenant's get slots after their claims. */
const SUSPECT_MS = 60_000;
const MAX_SUSPECTS = 1_000;
/** Longest hold in milliseconds where the wait is only an estimate. */
const LONGEST_HOLD_MS = 3_600_000;
/** Shortest hold in milliseconds, also where the deadline comes sooner. */
const SHORTEST_HOLD_MS = 1_000;

/**
 * Decides whether attempts may be made now, by three questions in this order: may the tenant use the integration, do the
 * budgets allow it, is a breaker open? `screen` reserves slots for a batch before its rows are claimed, `admit` answers for
 * a claimed row. Without a slot within the look-ahead, a message waits in its lane, and a claimed notification on its row.
 */
export function createAdmission(deps: AdmissionDeps): AdmissionGate {
  const suspects: Suspects = new Map();
  return { screen: (batch) => AdmittedBatch.of(batch, deps, suspects) };
}

/** Tenants whose e-mails get slots only after their claims, and until when. */
type Suspects = Map<string, number>;

class AdmittedBatch implements Admitted {
  now: readonly ReceivedMessage[] = [];
  later: readonly Postponed[] = [];
  readonly #deps: AdmissionDeps;
  readonly #suspects: Suspects;
  /** By log_id. */
  readonly #reservations = new Map<string, Reservation>();
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
    // While the breaker is open, nothing is sent that would need a slot.
    if (this.#isHeld([...plain, ...forced])) return [];
    const now = this.#now();
    const due = plain.filter((received) => {
      const { due, tenant_id, log_id } = received.message;
      if (epochMs(due) > now || this.#isSuspect(tenant_id)) return false;
      // A message that was received before may be on its way to the DLQ, or obsolete: it needs a slot only if it claims.
      if (received.receive_count > 1) this.#reservations.set(log_id, 'once claimed');
      return received.receive_count === 1;
    });
    const rows = await Promise.all(forced.map((received) => this.#rowToSend(received)));
    const sendable = forced.filter((_, i) => rows[i] !== undefined);
    // The message may take over an attempt of a worker that crashed, and be sent after that: it needs a slot then.
    for (const one of forced) if (!sendable.includes(one)) this.#reservations.set(one.message.log_id, 'once claimed');
    const groups = Map.groupBy([...due, ...sendable], ({ message: { priority } }) => useOf(priority));
    const later = [...groups].map(async ([use, messages]): Promise<Postponed[]> => {
      const { lane } = PRIORITY_POLICY[messages[0]?.message.priority ?? 'normal'];
      const { slots, waits, why } = await this.#deps.budgets.reserve({ count: messages.length, use, lane });
      const copied = await Promise.all(
        messages.map((one, i) => slots[i] === undefined && (isForced(one) || (why === 'rate' && this.#mayCopy(one)))),
      );
      return messages.flatMap((received, i) => {
        const slot = slots[i];
        const wait = waits[i - slots.length] ?? now;
        if (slot === undefined && copied[i]) return [{ received, delay_seconds: delayUntil(wait, now) }];
        this.#reservations.set(received.message.log_id, slot === undefined ? { wait } : { slot });
        return [];
      });
    });
    return (await Promise.all(later)).flat();
  }

  /** Slots of a receiver are reserved after the claim, but for forced attempts, which keep a slot while they wait in a lane. */
  async #screenForReceiver(received: ReceivedMessage): Promise<readonly Postponed[]> {
    const { receiver } = this.#deps;
    const [now, { log_id, slot: kept }] = [this.#now(), received.message];
    const slot = kept === undefined ? undefined : epochMs(kept);
    const row = await this.#rowToSend(received);
    const paced = row && receiver !== ACCOUNT ? await receiver(row) : undefined;
    if (row === undefined || paced === undefined) return [];
    const isFar = slot !== undefined && slot > now + LOOK_AHEAD_MS.receiver;
    const reserved = isFar ? { wait: slot } : await this.#reserveAt(paced, row, slot === undefined ? {} : { slot });
    if (!('wait' in reserved)) {
      this.#reservations.set(log_id, reserved);
      return [];
    }
    const { wait } = reserved;
    return [{ received, delay_seconds: delayUntil(wait - AHEAD_MS, now), slot: new Date(wait).toISOString() }];
  }

  /**
   * The row of a forced message, if a claim would lead to a send and its tenant may use the integration. Only such a
   * message may wait unclaimed: any other may be a letter, or needs no slot.
   */
  async #rowToSend(received: ReceivedMessage): Promise<NotificationRow | undefined> {
    const row = await this.#deps.rowToSend(received).catch(() => undefined);
    return row && (await this.#mayUse(row)) ? row : undefined;
  }

  /**
   * Whether the message may be replaced by a delayed copy. A copy may be obsolete and yet be sent after a death: without a
   * look at the row, its own copy would be taken for a redrive (docs/decisions/delivery/claims-and-messages.md#0178).
   */
  async #mayCopy(received: ReceivedMessage): Promise<boolean> {
    if (received.message.enqueued_at === undefined) return true;
    return (await this.#deps.rowToSend(received).catch(() => undefined)) !== undefined;
  }

  #isHeld([first]: readonly ReceivedMessage[]): boolean {
    return first !== undefined && this.#deps.breakers.holds?.(first.message) === true;
  }

  async admit(row: NotificationRow, named: boolean): Promise<Admission> {
    const { receiver, breakers } = this.#deps;
    const reserved = this.#reservations.get(row.log_id);
    this.#reservations.delete(row.log_id);
    if (!(await this.#mayUse(row))) {
      if (this.#suspects.size >= MAX_SUSPECTS) this.#suspects.clear();
      this.#suspects.set(row.tenant_id, this.#now() + SUSPECT_MS);
      return PASS_THROUGH.admit(row, named);
    }
    if (receiver === ACCOUNT) {
      // A batch that a breaker holds has reserved nothing, but a notification that somebody asked for by name is sent.
      const late = reserved === 'once claimed' || (reserved === undefined && (named || this.#isSuspect(row.tenant_id)));
      return this.#take(row, named, late ? await this.#reserve(row) : reserved);
    }
    const paced = await receiver(row);
    if (paced === undefined) return breakers.admit(row, named);
    const earlier = earlierTry(row);
    const admission = await this.#take(row, named, reserved ?? (await this.#reserveAt(paced, row, earlier)), paced.key);
    // A receiver that refuses the same notification again has a lower limit than we know.
    return admission.do === 'hold' || earlier.refused ? admission : { ...admission, paced: true };
  }

  #mayUse(row: NotificationRow): Promise<boolean> {
    return this.#deps.mayUse({ tenant_id: row.tenant_id, ...chosenIntegration(row) });
  }

  #isSuspect(tenant_id: string): boolean {
    return (this.#suspects.get(tenant_id) ?? 0) > this.#now();
  }

  async #reserve(row: NotificationRow): Promise<Reserved> {
    const { lane } = PRIORITY_POLICY[row.priority];
    return this.#reservedBy(await this.#deps.budgets.reserve({ count: 1, use: useOf(row.priority), lane }));
  }

  /** @param earlier what the message was given when it was tried, or postponed, before */
  async #reserveAt(
    paced: PacedReceiver,
    row: NotificationRow,
    earlier: ReturnType<typeof earlierTry>,
  ): Promise<Reserved> {
    const { lane } = PRIORITY_POLICY[row.priority];
    const { slots, waits } = await this.#deps.budgets.reserveAt({ ...paced, lane, ...earlier });
    // A message comes at its slot. If the slot seems to be farther away, another worker's clock has dated it.
    const isKept = slots[0] !== undefined && slots[0] === earlier.slot;
    return this.#reservedBy({ slots: isKept ? [Math.min(slots[0] ?? 0, this.#now() + AHEAD_MS)] : slots, waits });
  }

  #reservedBy({ slots: [slot], waits: [wait = this.#now()] }: Allowance): Reserved {
    return slot !== undefined ? { slot } : { wait };
  }

  async #take(row: NotificationRow, named: boolean, reserved?: Reservation, key: string = ACCOUNT): Promise<Admission> {
    if (typeof reserved === 'object' && 'wait' in reserved) return this.#hold(row, reserved.wait);
    const wait = typeof reserved === 'object' && 'slot' in reserved ? reserved.slot - this.#now() : 0;
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

  /** Holds until the time, or the deadline if that is earlier: the notification is given up then, and not before. */
  #hold(row: NotificationRow, until: number): Held {
    const now = this.#now();
    const deadline = deadlineOf(row.first_attempt_at ?? new Date(now).toISOString(), row, this.#deps.policy);
    // A receiver's slot is reserved; when the account has room again is only an estimate.
    const again = this.#deps.receiver === ACCOUNT ? Math.min(until, now + LONGEST_HOLD_MS) : until - AHEAD_MS;
    // After its deadline only a forced notification comes here, which no deadline gives up.
    const bound = deadline > now ? Math.max(deadline, now + SHORTEST_HOLD_MS) : Number.POSITIVE_INFINITY;
    const at = Math.min(again, bound);
    const held = new Date(Math.ceil(Math.max(at, now + SHORTEST_HOLD_MS))).toISOString();
    return { do: 'hold', until: held, error_type: 'RATE_LIMITED', by: { budget: this.#deps.channel } };
  }

  /** A refusal for a limit slows down all workers. */
  async #learn(result: SendResult, key: string): Promise<void> {
    if (result.ok || result.error_type !== 'RATE_LIMITED') return;
    // A receiver that names no time gets nothing for a second, and none gets nothing for more than an hour.
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
