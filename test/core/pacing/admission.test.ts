import { describe, expect, it } from 'vitest';
import { rowToSend } from '../../../src/core/delivery/claim-plan.ts';
import { PASS_THROUGH, type ProviderGate } from '../../../src/core/delivery/ports.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { ACCOUNT, createAdmission } from '../../../src/core/pacing/admission.ts';
import type { Allowance, Ask } from '../../../src/core/pacing/plan-reservation.ts';
import type { AdmissionDeps } from '../../../src/core/pacing/ports.ts';
import { batchByBatch } from '../../support/pacing.ts';
import { at, dueRow, iso, messageFor, received, T0 } from '../../support/rows.ts';

const NOW = T0.getTime();
const HOUR = 3_600_000;
const RULES = { clock: () => T0, policy: DEFAULT_RETRY_POLICY };

function gateWith(answer: (ask: Ask) => Allowance, deps: Partial<AdmissionDeps> = {}) {
  const calls = { asks: [] as Ask[], pauses: [] as number[], exceeded: [] as string[], blocked: [] as unknown[] };
  const admission = createAdmission({
    breakers: PASS_THROUGH,
    channel: 'email',
    budgets: {
      reserve: async (ask) => {
        calls.asks.push(ask);
        return answer(ask);
      },
      reserveAt: async ({ key, lane }) => {
        const ask = { key, count: 1, use: lane, lane };
        calls.asks.push(ask);
        return answer(ask);
      },
      exceeded: async (limit) => void calls.exceeded.push(limit),
      blocked: async (...args) => void calls.blocked.push(args),
    },
    receiver: ACCOUNT,
    mayUse: async () => true,
    rowToSend: (one) => rowToSend(one, { ...RULES, rows: { read: async () => row() } }),
    policy: DEFAULT_RETRY_POLICY,
    clock: () => T0,
    pause: async (ms) => void calls.pauses.push(ms),
    ...deps,
  });
  return { gate: batchByBatch(admission), calls };
}
const rate = ({ count }: Ask): Allowance => ({ slots: [], waits: Array(count).fill(NOW + 42_000), why: 'rate' });
const quota = ({ count }: Ask): Allowance => ({ slots: [], waits: Array(count).fill(NOW + 8 * HOUR), why: 'quota' });
const row = (changes: Parameters<typeof dueRow>[0] = {}) =>
  dueRow({ channel: 'email', work_at: iso(-1_000), ...changes });
const message = (changes: Parameters<typeof dueRow>[0] = {}, receive_count = 1) =>
  received(messageFor(row(changes)), { message_id: `${changes.log_id}`, receive_count });

describe('the gate of a channel with one budget for all', () => {
  it('asks once per use for a batch, and lets each attempt wait for its slot', async () => {
    const { gate, calls } = gateWith(({ count }) => ({
      slots: Array.from({ length: count }, (_, i) => NOW + i * 50),
      waits: [],
    }));
    const batch = ['a', 'b', 'c']
      .map((log_id) => message({ log_id }))
      .concat(message({ log_id: 'u', priority: 'urgent' }));
    const admitted = await gate.screen(batch);
    expect(admitted).toEqual({ now: batch, later: [] });
    expect(calls.asks.map(({ use, count }) => `${use} ${count}`)).toEqual(['standard 3', 'express 1']);
    for (const log_id of ['c', 'a']) expect(await gate.admit(row({ log_id }), false)).toMatchObject({ do: 'send' });
    expect(calls.pauses).toEqual([100]);
    expect(admitted.waited).toBe(0.1);
    expect((await gate.screen([])).waited).toBe(0);
  });

  it('postpones unclaimed what gets no slot', async () => {
    const { gate } = gateWith(rate);
    const batch = [message({ log_id: 'a' })];
    expect(await gate.screen(batch)).toEqual({ now: [], later: [{ received: batch[0], delay_seconds: 42 }] });
  });

  it.each([
    ['again if its row still waits for it', at(-1_000), 1],
    ['not if its row has died since: a copy made after the death would pass for a redrive', at(-900), 0],
  ])('postpones a copy %s', async (_, work_at, count) => {
    const { gate } = gateWith(rate, {
      rowToSend: (one) =>
        rowToSend(one, { ...RULES, rows: { read: async () => row({ work_at: work_at.toISOString() }) } }),
    });
    const batch = [received({ ...messageFor(row()), enqueued_at: iso(-2_000) })];
    expect((await gate.screen(batch)).later).toHaveLength(count);
  });

  it('claims a copy whose row cannot be read', async () => {
    const { gate } = gateWith(rate, { rowToSend: () => Promise.reject(new Error('no answer')) });
    const batch = [received({ ...messageFor(row()), enqueued_at: iso(-2_000) })];
    expect(await gate.screen(batch)).toEqual({ now: batch, later: [] });
  });

  it('asks for a message that was received before once its row is claimed: it may be on its way to the DLQ', async () => {
    const { gate, calls } = gateWith(rate);
    const batch = [message({ log_id: 'a' }, 2)];
    expect(await gate.screen(batch)).toEqual({ now: batch, later: [] });
    expect(calls.asks).toEqual([]);
    expect(await gate.admit(row({ log_id: 'a' }), false)).toEqual({
      do: 'hold',
      until: iso(42_000),
      error_type: 'RATE_LIMITED',
      by: { budget: 'email' },
    });
    expect(calls.asks).toEqual([{ count: 1, use: 'standard', lane: 'standard' }]);
  });

  it('asks for nothing while a breaker holds all e-mail: what is held uses no slot', async () => {
    const { gate, calls } = gateWith(rate, { breakers: { ...PASS_THROUGH, holds: () => true } });
    const batch = [message({ log_id: 'a' })];
    expect(await gate.screen(batch)).toEqual({ now: batch, later: [] });
    expect(calls.asks).toEqual([]);
  });

  it('asks for nothing for a message that is not due yet', async () => {
    const { gate, calls } = gateWith(rate);
    const early = [message({ log_id: 'a', work_at: iso(5_000) })];
    expect(await gate.screen(early)).toEqual({ now: early, later: [] });
    expect(calls.asks).toEqual([]);
  });

  it('holds the row for the day, an hour at a time, and never past its deadline', async () => {
    const { gate } = gateWith(quota);
    const batch = ['young', 'old'].map((log_id) => message({ log_id, priority: 'info' }));
    expect((await gate.screen(batch)).now).toEqual(batch);
    const held = async (log_id: string, first_attempt_at: Date) =>
      gate.admit(row({ log_id, priority: 'info', first_attempt_at: first_attempt_at.toISOString() }), false);
    expect(await held('young', T0)).toMatchObject({ do: 'hold', until: iso(HOUR) });
    expect(await held('old', at(-2.75 * HOUR))).toMatchObject({ do: 'hold', until: iso(HOUR / 4) });
  });

  it.each([
    ['a quota', quota, 900],
    ['a rate', rate, 42],
  ])('keeps what is forced in its lane, unclaimed, for %s, as its priority says', async (_, answer, delay_seconds) => {
    const info = row({ log_id: 'a', priority: 'info' });
    const { gate, calls } = gateWith(answer, { rowToSend: async () => info });
    const forced = received(messageFor(info, { options: { force: true } }), { receive_count: 2 });
    expect(await gate.screen([forced])).toEqual({ now: [], later: [{ received: forced, delay_seconds }] });
    expect(calls.asks).toMatchObject([{ use: 'info' }]);
  });

  it.each([
    ['is obsolete, or the letter of a death', { rowToSend: async () => undefined }],
    ['names an integration of others', { mayUse: async () => false }],
  ])('claims at once what is forced and %s: it asks for nothing', async (_, more) => {
    const { gate, calls } = gateWith(quota, more);
    const forced = received(messageFor(row(), { options: { force: true } }));
    expect(await gate.screen([forced])).toEqual({ now: [forced], later: [] });
    expect(calls.asks).toEqual([]);
  });

  it('asks after the claim for what is forced and ends the attempt of a worker that died first', async () => {
    const { gate, calls } = gateWith(quota, { rowToSend: async () => undefined });
    const forced = received(messageFor(row({ log_id: 'a' }), { options: { force: true } }));
    expect((await gate.screen([forced])).now).toEqual([forced]);
    expect(await gate.admit(row({ log_id: 'a' }), false)).toMatchObject({ do: 'hold' });
    expect(calls.asks).toHaveLength(1);
  });

  it('asks for a slot for what is sent by name although a breaker holds all e-mail', async () => {
    const { gate, calls } = gateWith(quota, { breakers: { ...PASS_THROUGH, holds: () => true } });
    const named = received(messageFor(row({ log_id: 'a' }), { options: { force: true, named: true } }));
    expect((await gate.screen([named])).now).toEqual([named]);
    expect(await gate.admit(row({ log_id: 'a' }), true)).toMatchObject({ do: 'hold' });
    expect(calls.asks).toHaveLength(1);
  });

  it('slows down when the provider says which limit is reached, and only then', async () => {
    const { gate, calls } = gateWith(rate);
    const admission = await gate.admit(row(), false);
    const refused = { ok: false, error_type: 'RATE_LIMITED', message: 'no' } as const;
    if (admission.do !== 'send') throw new Error('held');
    for (const result of [refused, { ...refused, limit: 'rate' } as const, { ...refused, limit: 'quota' } as const]) {
      await admission.report(result);
    }
    expect(calls.exceeded).toEqual(['rate', 'quota']);
  });
});

describe('a notification that names an integration of another tenant', () => {
  const theirs = { tenant_id: 'tenant-2', integration_config_id: 'IC1' };
  const mayUse = async ({ tenant_id }: { tenant_id: string }) => tenant_id === 'tenant-1';
  const breakers = (asked: string[]): ProviderGate => ({
    admit: (...args) => {
      asked.push(args[0].log_id);
      return PASS_THROUGH.admit(...args);
    },
  });

  it('reserves nothing at a receiver, and takes neither slot nor probe of its breaker', async () => {
    const asked: string[] = [];
    const receiver = async () => ({ key: 'IC1', per_second: 4 });
    const { gate, calls } = gateWith(rate, { receiver, mayUse, breakers: breakers(asked) });
    const admission = await gate.admit(row({ log_id: 'b', ...theirs }), false);
    if (admission.do !== 'send') throw new Error('held');
    await admission.report({ ok: false, error_type: 'RATE_LIMITED', message: 'no' });
    expect([calls.asks, calls.blocked, asked]).toEqual([[], [], []]);
    expect(await gate.admit(row({ log_id: 'a', integration_config_id: 'IC1' }), false)).toMatchObject({ do: 'hold' });
    expect(calls.asks).toHaveLength(1);
  });

  it('of e-mail books one slot at most: its tenant is reserved for after the claim from then on', async () => {
    const asked: string[] = [];
    const slots = ({ count }: Ask): Allowance => ({ slots: Array(count).fill(NOW), waits: [] });
    const { gate, calls } = gateWith(slots, { mayUse, breakers: breakers(asked) });
    await gate.screen([message({ log_id: 'b-1', ...theirs })]);
    expect(calls.asks).toHaveLength(1);
    expect(await gate.admit(row({ log_id: 'b-1', ...theirs }), false)).toMatchObject({ do: 'send' });
    const batch = [message({ log_id: 'b-2', ...theirs }), message({ log_id: 'a' })];
    expect(await gate.screen(batch)).toEqual({ now: batch, later: [] });
    expect(calls.asks.map(({ count }) => count)).toEqual([1, 1]);
    expect(await gate.admit(row({ log_id: 'b-2', ...theirs }), false)).toMatchObject({ do: 'send' });
    expect(calls.asks).toHaveLength(2);
    expect(asked).toEqual([]);
  });

  it('does not keep the mail of its tenant from the budget: it is reserved for after its claim', async () => {
    const { gate, calls } = gateWith(rate, { mayUse: async (one) => one.integration_config_id === undefined });
    await gate.admit(row({ log_id: 'b-1', ...theirs }), false);
    const own = message({ log_id: 'b-2', tenant_id: 'tenant-2' });
    expect(await gate.screen([own])).toEqual({ now: [own], later: [] });
    expect(await gate.admit(row({ log_id: 'b-2', tenant_id: 'tenant-2' }), false)).toMatchObject({
      do: 'hold',
      until: iso(42_000),
    });
    expect(calls.asks).toMatchObject([{ count: 1 }]);
  });

  it('does not let its tenant’s mail use the slot that a dropped message had', async () => {
    const { gate, calls } = gateWith(({ count }) => ({ slots: Array(count).fill(NOW), waits: [] }), {
      mayUse: async (one) => one.integration_config_id === undefined,
    });
    const own = { log_id: 'b-2', tenant_id: 'tenant-2' };
    await gate.screen([message(own)]);
    await gate.admit(row({ log_id: 'b-1', ...theirs }), false);
    await gate.screen([message(own)]);
    expect(await gate.admit(row(own), false)).toMatchObject({ do: 'send' });
    expect(calls.asks).toHaveLength(2);
  });
});

describe('the gate of a channel with a budget per receiver', () => {
  const receiver = async ({ integration_config_id }: { integration_config_id?: string }) =>
    integration_config_id === undefined ? undefined : { key: integration_config_id, per_second: 4 };

  it('neither asks nor waits for a receiver without a rate', async () => {
    const { gate, calls } = gateWith(rate, { receiver });
    const batch = [message({ log_id: 'a' })];
    expect(await gate.screen(batch)).toEqual({ now: batch, later: [] });
    expect(await gate.admit(row({ log_id: 'a' }), false)).toMatchObject({ do: 'send' });
    expect(calls).toMatchObject({ asks: [], pauses: [] });
  });

  it('holds what gets no slot, and leaves a receiver alone for as long as it asks', async () => {
    const one = row({ log_id: 'a', integration_config_id: 'IC1' });
    const { gate } = gateWith(rate, { receiver });
    // A second early, as SQS delays by whole seconds: the rest is waited for inside the function.
    expect(await gate.admit(one, false)).toMatchObject({ do: 'hold', until: iso(41_000) });
    const { gate: free, calls } = gateWith(() => ({ slots: [NOW], waits: [] }), { receiver });
    const admission = await free.admit(one, false);
    if (admission.do !== 'send') throw new Error('held');
    await admission.report({ ok: false, error_type: 'RATE_LIMITED', message: 'no', retry_after_ms: 30_000 });
    expect(calls.blocked).toEqual([['IC1', NOW + 30_000]]);
  });

  it('lets what a receiver refuses come back as soon as its limit lifts, once', async () => {
    const { gate } = gateWith(() => ({ slots: [NOW], waits: [] }), { receiver });
    const error_details = JSON.stringify({ attempt: 1 });
    const again = { error_type: 'RATE_LIMITED', error_details, last_attempt: 2 } as const;
    const one = { log_id: 'a', integration_config_id: 'IC1' };
    expect(await gate.admit(row(one), false)).toMatchObject({ do: 'send', paced: true });
    expect(await gate.admit(row({ ...one, ...again }), false)).not.toHaveProperty('paced');
  });
});
