import { expect } from 'vitest';
import { EXCLUDED_BATCH } from '../../../../src/core/newsletter/model/batch.ts';
import { SHOWN_STATES, type ShownState, shownState } from '../../../../src/core/newsletter/model/recipient-state.ts';
import type { NewsletterWorld } from './world.ts';

/** How long a sender may hold what it read of addresses, with all its retries. */
const UNSUBSCRIBE_MS = 15 * 60_000;

/** With the clock's minute, the time of a message that got lost, and a clock that died or met an outage. */
const IDLE_MS = 20 * 60_000;

/** Knows what the receivers got and what the views tell, and nothing of how the job works. */
export class Auditor {
  readonly #world: NewsletterWorld;
  /** Second mails that an operator allowed, by address. */
  readonly #allowed = new Map<string, number>();
  #submitted = 0;
  /** Since when an email that should be sent is pending, and nothing breaks any more. */
  #pendingSince: number | undefined;
  /** Since when the email is submitted with somebody left whom a retry would send to. */
  #leftSince: number | undefined;

  constructor(world: NewsletterWorld) {
    this.#world = world;
  }

  /** The clock comes back to whatever is not over and not paused, and starts what is due. */
  async checkIdle(): Promise<void> {
    const { tables, clock, healed } = this.#world;
    const { email } = await this.#world.view();
    const { status, paused, scheduled_at = '' } = email ?? {};
    const isOpen = (status === 'pending' || status === 'submitting') && paused === false;
    if (isOpen) expect(await tables.emails.due('9999', 1), `an email that is ${status} is looked at`).toHaveLength(1);
    const now = clock().getTime();
    const waits = healed && isOpen && status === 'pending' && scheduled_at <= clock().toISOString();
    this.#pendingSince = waits ? (this.#pendingSince ?? now) : undefined;
    if (waits) expect(now - (this.#pendingSince ?? now), 'idle although it is due').toBeLessThan(IDLE_MS);
  }

  /** Every recipient by address, as a list of the API shows it. */
  async recipients(): Promise<ReadonlyMap<string, { readonly state: ShownState; readonly reason?: string }>> {
    const found = new Map<string, { state: ShownState; reason?: string }>();
    const { batches } = await this.#world.view();
    for (const { email_id, batch_id, chunks } of batches) {
      for (let chunk = 0; chunk < chunks; chunk++) {
        const key = { email_id, batch_id, chunk };
        const stored = await this.#world.chunks.store.readChunk(key);
        const state = await this.#world.chunks.store.readState(key);
        for (const [n, { member_email }] of (stored?.recipients ?? []).entries()) {
          expect(found.has(member_email), `${member_email} is a recipient twice`).toBe(false);
          const reason = state?.reasons[n];
          found.set(member_email, { state: shownState(state?.states[n] ?? ''), ...(reason && { reason }) });
        }
      }
    }
    return found;
  }

  /** The operator sends again to whom the list shows as uncertain. */
  async allowResend(): Promise<void> {
    for (const [address, { state }] of await this.recipients()) {
      if (state === 'uncertain') this.#allowed.set(address, (this.#allowed.get(address) ?? 0) + 1);
    }
  }

  /** Recipients that were frozen, and unsubscribed before their chunk went out. */
  async lateUnsubscriptions(): Promise<number> {
    return [...(await this.recipients()).values()].filter(({ reason }) => reason === 'unsubscribed').length;
  }

  /** At every read the states add up, and nobody who was submitted is not any more. */
  async checkRead(): Promise<void> {
    const { email, batches } = await this.#world.view();
    if (email?.prepared === undefined) return;
    const sum = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };
    for (const { counts } of batches) for (const state of SHOWN_STATES) sum[state] += counts[state];
    const all = Object.values(sum).reduce((total, count) => total + count, 0);
    expect(all, 'recipients = pending + submitted + excluded + failed + uncertain').toBe(email.prepared.recipients);
    expect(Math.min(...Object.values(sum))).toBeGreaterThanOrEqual(0);
    expect(sum.submitted, 'submitted recipients').toBeGreaterThanOrEqual(this.#submitted);
    this.#submitted = sum.submitted;
    // A record that comes late is told to the chunk first, to the email last.
    const now = this.#world.clock().getTime();
    const isLeft = email.status === 'submitted' && sum.pending > 0;
    this.#leftSince = isLeft ? (this.#leftSince ?? now) : undefined;
    expect(now - (this.#leftSince ?? now), 'submitted, and somebody is left to send to').toBeLessThan(IDLE_MS);
    const running = Object.keys(email.slots).length;
    expect(running, 'batches at once').toBeLessThanOrEqual(2);
  }

  /** Nobody got a mail twice, but whom an operator sent to again, and only if no event told of the mail before. */
  checkReceipts(): void {
    const { receipts } = this.#world.provider;
    const got = new Map<string, number>();
    const told = new Set<string>();
    for (const receipt of receipts) {
      const { to } = receipt;
      got.set(to, (got.get(to) ?? 0) + 1);
      expect(told.has(to), `${to} got another mail, although SES told of the one before`).toBe(false);
      if (this.#world.hasEvent(receipt)) told.add(to);
    }
    for (const [address, count] of got) {
      expect(count, `mails to ${address}`).toBeLessThanOrEqual(1 + (this.#allowed.get(address) ?? 0));
    }
  }

  async checkEnd(): Promise<Readonly<Record<ShownState, number>>> {
    const { provider, members, unsubscribed } = this.#world;
    const { email, batches } = await this.#world.view();
    const recipients = await this.recipients();
    const isCancelled = email?.cancelled_at !== undefined;
    expect(email?.status).toBe(isCancelled ? 'cancelled' : members.length === 0 ? 'failed' : 'submitted');
    if (isCancelled && email.prepared === undefined) {
      expect(provider.receipts, 'cancelled before its recipients were frozen').toEqual([]);
      return { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };
    }
    expect([...recipients.keys()].sort(), 'every member once').toEqual(members.map(({ address }) => address).sort());
    const got = new Set(provider.receipts.map(({ to }) => to));
    const counts = { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 };
    for (const [address, { state, reason }] of recipients) {
      counts[state] += 1;
      const resent = this.#allowed.has(address);
      expect(state, `${address} at the end`).not.toBe('pending');
      if (state === 'submitted') expect(got.has(address), `${address} is submitted, so it got the mail`).toBe(true);
      if ((state === 'failed' || state === 'excluded') && !resent) {
        expect(got.has(address), `${address} is ${state}, so it got nothing`).toBe(false);
      }
      if (state === 'failed' || state === 'excluded') expect(reason, `why ${address} is ${state}`).toBeTypeOf('string');
    }
    for (const { to, at } of provider.receipts) {
      const left = unsubscribed.get(to) ?? Number.POSITIVE_INFINITY;
      expect(at - left, `${to} got a mail long after it unsubscribed`).toBeLessThan(UNSUBSCRIBE_MS);
    }
    for (const state of SHOWN_STATES) {
      const shown = batches.reduce((sum, batch) => sum + batch.counts[state], 0);
      expect(shown, `${state} as the batches count it`).toBe(counts[state]);
    }
    expect(batches.filter(({ batch_id }) => batch_id !== EXCLUDED_BATCH)).toHaveLength(email?.prepared?.batches ?? 0);
    return counts;
  }
}
