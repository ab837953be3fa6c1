import { isoAfter } from '../../model/time.ts';
import { KEPT_MS } from '../../pacing/pacing-policy.ts';
import type { SendDeps, SendPacing } from './send-deps.ts';

interface Answer {
  readonly slots: readonly number[];
  readonly waits: readonly number[];
  readonly why?: 'rate' | 'quota' | 'account';
}

/** The budget of the account that all e-mail goes through, as far as newsletters need it. */
interface AccountBudget {
  reserve(asks: readonly { readonly count: number; readonly use: 'newsletter' }[]): Promise<readonly Answer[]>;
  exceeded(limit: 'rate' | 'quota'): Promise<void>;
}

/** Slots that were reserved with those of an earlier call are used at most so late, like those that the budget keeps. */
const LATE_MS = KEPT_MS.newsletter;
/** A first slot that is farther away shows that others want the rate, too: nobody takes more than a call then. */
const NEAR_MS = 300;
/** How long each call reserves for itself after slots came too late, or the rate was short. */
const ALONE_MS = 60_000;

/**
 * Sends by the account's budget. A call begins with the first of its slots: the provider lets a call exceed the rate and
 * makes it up afterwards, and the next call has its slots after those of this one. While the rate is plentiful, one
 * reservation is for two calls of a sender (docs/decisions/newsletters/throughput.md#0166).
 */
export function createSendPacing(
  budget: AccountBudget,
  { clock, pause }: Pick<SendDeps, 'clock' | 'pause'>,
): SendPacing {
  /** Reserved and not used yet, ascending. */
  let kept: readonly number[] = [];
  let alone_until = 0;
  const now = () => clock().getTime();

  /** The slots of a call: those that are kept, if they suffice, and otherwise more. */
  async function slotsFor(count: number, following: number) {
    const at = now();
    const usable = kept.filter((slot) => slot >= at - LATE_MS);
    // The calls are slower than their slots: what is reserved ahead would be lost each time.
    if (usable.length < kept.length) alone_until = at + ALONE_MS;
    kept = usable.slice(count);
    if (usable.length >= count) return { slots: usable.slice(0, count), waits: [], why: undefined };
    const more = at < alone_until ? 0 : following;
    const [answer] = await budget.reserve([{ count: count - usable.length + more, use: 'newsletter' }]);
    const slots = [...usable, ...(answer?.slots ?? [])];
    const [first = Number.POSITIVE_INFINITY] = slots;
    if (slots.length < count + more || first > at + NEAR_MS) alone_until = at + ALONE_MS;
    kept = [...kept, ...slots.slice(count)];
    return { slots: slots.slice(0, count), waits: answer?.waits ?? [], why: answer?.why };
  }

  return {
    async reserve(count, following = 0) {
      const { slots, waits, why } = await slotsFor(count, following);
      const [first] = slots;
      const retry = slots.length < count ? waits.toSorted((a, b) => a - b)[0] : undefined;
      const at = now();
      if (first !== undefined && first > at) await pause(first - at);
      if (retry === undefined) return { granted: slots.length };
      return { granted: slots.length, retry_at: isoAfter(new Date(retry), 0), ...(why && { why }) };
    },
    refused(limit) {
      kept = [];
      return budget.exceeded(limit === 'quota' ? 'quota' : 'rate');
    },
  };
}
