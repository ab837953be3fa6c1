import { describe, expect, it } from 'vitest';
import { heldSince, opened } from '../../../src/core/breaker/breaker.ts';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import type { BreakerDeps, BreakerStore } from '../../../src/core/breaker/shared-breakers.ts';
import type { Admission, SendResult } from '../../../src/core/delivery/ports.ts';
import type { ProviderErrorType } from '../../../src/core/model/error-types.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { VirtualTime } from '../../../tools/simulation/engine/virtual-time.ts';
import { MemoryBreakers } from '../../../tools/simulation/twins/pipeline-state.ts';
import { dueRow, T0 } from '../../support/rows.ts';

const SECOND = 1_000;
const POLICY = {
  ...DEFAULT_BREAKER_POLICY,
  min_samples: 3,
  interval_ms: 30 * SECOND,
  drain_per_second: 2,
  most_per_second: 2,
};
const ID = 'webhook#IC1';
const OK: SendResult = { ok: true, response_code: '200' };
const refused = (error_type: ProviderErrorType, response_code?: string): SendResult => ({
  ok: false,
  error_type,
  message: 'refused',
  ...(response_code && { response_code }),
});
const DOWN = refused('SERVER_OVERLOAD', '503');
const UNASKED: SendResult = { ok: false, error_type: 'UNKNOWN', message: 'our own defect', asked: false };

let serial = 0;
const row = (changes: Partial<NotificationRow> = {}) =>
  dueRow({ log_id: `n-${++serial}`, integration_config_id: 'IC1', ...changes });

function setUp(more: Partial<BreakerDeps> = {}) {
  const time = new VirtualTime(T0);
  const memory = new MemoryBreakers();
  const transitions: string[] = [];
  const faults: unknown[] = [];
  const worker = (own: Partial<BreakerDeps> = {}) =>
    new BreakerGate({
      store: memory.store,
      policy: POLICY,
      clock: time.clock,
      pause: time.pause,
      probe_ms: 25 * SECOND,
      onTransition: (to) => transitions.push(to),
      onFault: (error) => faults.push(error),
      ...more,
      ...own,
    });
  /** A batch whose sends all get the same answer. @returns for each whether it counts, or its hold */
  const batch = async (gate: BreakerGate, rows: readonly NotificationRow[], answer: SendResult, forced = false) =>
    time.run(
      Promise.all(
        rows.map(async (one) => {
          const admission = await gate.admit(one, forced);
          if (admission.do === 'hold') return admission;
          await time.pause(100);
          return (await admission.report(answer)) ? 'uncounted' : 'counted';
        }),
      ),
    );
  const outage = async () => {
    const gate = worker();
    await batch(gate, [row(), row(), row()], DOWN);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open' });
    transitions.length = 0;
    return gate;
  };
  return { time, memory, transitions, faults, worker, batch, outage };
}

const rows = (count: number, changes: Partial<NotificationRow> = {}) =>
  Array.from({ length: count }, () => row(changes));
const isHold = (one: unknown): one is Extract<Admission, { do: 'hold' }> => typeof one === 'object';
const seconds = (from: Date, until: string) => (Date.parse(until) - from.getTime()) / SECOND;

describe('a breaker', () => {
  it('opens when a whole batch fails, and no attempt of the batch counts', async () => {
    const { worker, batch, memory, transitions } = setUp();
    expect(await batch(worker(), rows(3), DOWN)).toEqual(['uncounted', 'uncounted', 'uncounted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open', error_type: 'SERVER_OVERLOAD', version: 1 });
    expect(transitions).toEqual(['opened']);
  });

  it.each(['NETWORK_TIMEOUT', 'UNKNOWN'] as const)('opens by failures without an answer: %s', async (error_type) => {
    const { worker, batch, memory } = setUp();
    expect(await batch(worker(), rows(3), refused(error_type))).toEqual(Array(3).fill('uncounted'));
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open', error_type });
  });

  it('opens at exactly the share of failures that the policy names, and not below', async () => {
    for (const [accepted, state] of [
      [2, 'open'],
      [3, undefined],
    ] as const) {
      const { worker, batch, memory } = setUp({ policy: { ...POLICY, min_samples: 5, failure_share: 0.8 } });
      const gate = worker();
      await batch(gate, rows(accepted), OK);
      await batch(gate, rows(8), DOWN);
      expect(memory.breakers.get(ID)?.state, `${accepted} accepted`).toBe(state);
    }
  });

  it('opens whatever rate limits come among the failures, which count neither way', async () => {
    const { worker, batch, memory } = setUp();
    const gate = worker();
    await batch(gate, rows(20), refused('RATE_LIMITED', '429'));
    await batch(gate, rows(2), DOWN);
    expect(memory.breakers.size).toBe(0);
    await batch(gate, rows(1), DOWN);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open' });
  });

  it.each([
    ['too few notifications fail', rows(2), DOWN],
    [
      'the same notification fails again and again',
      Array.from({ length: 9 }, () => dueRow({ integration_config_id: 'IC1' })),
      DOWN,
    ],
    ['the provider reports a rate limit', rows(9), refused('RATE_LIMITED', '429')],
    ['the provider refuses messages permanently', rows(9), refused('INVALID_RECIPIENT', '404')],
    ['the sender breaks before it asks the provider', rows(9), UNASKED],
    ['the provider is unknown', rows(9, { integration_config_id: '' }), DOWN],
  ])('stays closed when %s', async (_, some, answer) => {
    const { worker, batch, memory } = setUp();
    expect(await batch(worker(), some, answer)).toEqual(some.map(() => 'counted'));
    expect(memory.breakers.size).toBe(0);
  });

  it('stays closed when enough other notifications are accepted', async () => {
    const { worker, batch, memory, time } = setUp();
    const gate = worker();
    await batch(gate, rows(2), OK);
    expect(await batch(gate, rows(6), DOWN)).toContain('counted');
    expect(memory.breakers.size).toBe(0);
    await time.run(time.pause(POLICY.window_ms + 30 * SECOND));
    // The accepted sends are outside the window now.
    expect(await batch(gate, rows(3), DOWN)).not.toContain('counted');
  });

  it('holds notifications while it is open, on every worker, and does not affect other providers', async () => {
    const { outage, worker, batch, time } = setUp();
    const first = await outage();
    for (const gate of [first, worker()]) {
      const [held] = await batch(gate, [row()], OK);
      expect(held).toMatchObject({ do: 'hold', error_type: 'SERVER_OVERLOAD', by: { breaker: ID } });
      expect(isHold(held) && seconds(time.clock(), held.until)).toBeGreaterThan(29);
    }
    expect(await batch(first, [row({ integration_config_id: 'IC2' })], OK)).toEqual(['counted']);
  });

  it('holds on every worker, however many other providers are down', async () => {
    const { outage, worker, batch, memory } = setUp();
    await outage();
    const breaker = memory.breakers.get(ID);
    const other = (i: number) => `webhook#A${String(i).padStart(5, '0')}`;
    memory.breakers.clear();
    // As in the table, sorted by id: those of others come first.
    for (let i = 0; i < 3_000; i++) if (breaker) memory.breakers.set(other(i), { ...breaker, id: other(i) });
    if (breaker) memory.breakers.set(ID, breaker);
    const gate = worker();
    expect(await batch(gate, [row()], OK)).toEqual([expect.objectContaining({ do: 'hold', by: { breaker: ID } })]);
    expect(await batch(gate, [row({ integration_config_id: 'Z9' })], OK)).toEqual(['counted']);
  });

  it('for a host holds the tenant whose receiver there is down, and no other tenant on that host', async () => {
    const { worker, batch } = setUp();
    const gate = worker();
    const hook = { integration_config_id: '', provider_host: 'hooks.example.com' };
    await batch(gate, rows(3, hook), DOWN);
    const [own] = await batch(gate, rows(1, hook), OK);
    expect(own).toMatchObject({ do: 'hold', by: { breaker: 'webhook#tenant-1@hooks.example.com' } });
    expect(await batch(gate, rows(1, { ...hook, tenant_id: 'tenant-2' }), OK)).toEqual(['counted']);
  });

  it.each([
    ['recipient', { tenant_id: 'tenant-2', recipient_hash: 'theirs' }, false],
    ['recipient', { recipient_hash: 'another' }, true],
    ['recipient', {}, true],
    ['integration', { tenant_id: 'tenant-2', recipient_hash: 'theirs' }, true],
  ] as const)('for an integration that is addressed by the %s holds %j: %s', async (by, other, holds) => {
    const { worker, batch } = setUp({ addressedBy: async () => by });
    const gate = worker();
    await batch(gate, rows(3, { recipient_hash: 'ours' }), DOWN);
    const [answer] = await batch(gate, rows(1, { recipient_hash: 'ours', ...other }), OK);
    expect(isHold(answer)).toBe(holds);
  });

  it('counts a failure of the sender, even in a probe, and the next notification makes the probe', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    await time.run(time.pause(30 * SECOND));
    expect(await batch(gate, [row()], UNASKED)).toEqual(['counted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open', interval_ms: 30 * SECOND });
    expect(await batch(gate, [row()], OK)).toEqual(['counted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
  });

  it('gives each held notification its own slot, and the express lane its own line', async () => {
    const { outage, batch, time } = setUp();
    const gate = await outage();
    const now = time.clock();
    const held = await batch(gate, [...rows(5), ...rows(2, { priority: 'urgent' })], OK);
    const waits = held.filter(isHold).map(({ until }) => Math.round(seconds(now, until) * 10) / 10);
    const [start = 0] = waits;
    expect(waits).toEqual([0, 0.5, 1, 1.5, 2, 0, 0.5].map((later) => start + later));
  });

  it('lets one probe through at its time; when it fails, the next probe comes after twice the interval', async () => {
    const { outage, worker, batch, time, memory } = setUp();
    const gate = await outage();
    await time.run(time.pause(30 * SECOND));
    const now = time.clock();
    const ends = await batch(gate, rows(4), DOWN);
    expect(ends.filter((end) => end === 'uncounted')).toHaveLength(1);
    for (const { until } of ends.filter(isHold)) expect(seconds(now, until)).toBeGreaterThanOrEqual(60);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open', interval_ms: 60 * SECOND });
    const [other] = await batch(worker(), [row()], DOWN);
    expect(isHold(other)).toBe(true);
  });

  it('never waits longer for a probe than the policy allows', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    for (let i = 0; i < 8; i++) {
      await time.run(time.pause(POLICY.max_interval_ms));
      await batch(gate, [row()], DOWN);
    }
    expect(memory.breakers.get(ID)?.interval_ms).toBe(POLICY.max_interval_ms);
  });

  it('sends the notifications that waited in the same worker as soon as the probe is answered', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    await time.run(time.pause(30 * SECOND));
    expect(await batch(gate, rows(4), OK)).toEqual(['counted', 'counted', 'counted', 'counted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
  });

  it('takes the provider as back when its answer to the probe refuses only this message', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    await time.run(time.pause(30 * SECOND));
    await batch(gate, [row()], refused('INVALID_RECIPIENT', '404'));
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
  });

  it('lets the next notification make a probe that did not reach the provider', async () => {
    const { outage, worker, batch, time, memory } = setUp();
    const gate = await outage();
    await time.run(time.pause(30 * SECOND));
    await batch(gate, [row()], refused('AUTH_FAILED'));
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open', interval_ms: 30 * SECOND });
    expect(await batch(worker(), [row()], OK)).toEqual(['counted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
  });

  it('lets another worker make the probe when the first worker died in it', async () => {
    const { outage, worker, batch, time, memory } = setUp();
    const dying = await outage();
    await time.run(time.pause(30 * SECOND));
    expect(await time.run(dying.admit(row(), false))).toMatchObject({ do: 'send' });
    expect(isHold((await batch(worker(), [row()], OK))[0])).toBe(true);
    await time.run(time.pause(26 * SECOND));
    expect(await batch(worker(), [row()], OK)).toEqual(['counted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
  });

  it('closes when its lines are empty', async () => {
    const { outage, batch, time, memory, transitions } = setUp();
    const gate = await outage();
    await batch(gate, rows(20), OK);
    await time.run(time.pause(30 * SECOND));
    await batch(gate, [row()], OK);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
    await time.run(time.pause(45 * SECOND));
    await batch(gate, [row()], OK);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'closed' });
    expect(transitions).toEqual(['closed']);
  });

  it('opens again when the provider fails while it drains, and its failures do not count', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    await batch(gate, rows(20), OK);
    await time.run(time.pause(30 * SECOND));
    await batch(gate, [row()], OK);
    expect(await batch(gate, rows(1), DOWN)).toEqual(['uncounted']);
    expect(await batch(gate, rows(9), DOWN)).not.toContain('counted');
    expect(memory.breakers.get(ID)).toMatchObject({
      state: 'open',
      interval_ms: 60 * SECOND,
      since: expect.any(String),
    });
  });

  it('lets a notification go when its slot shows that the provider is back, which this worker does not know yet', async () => {
    const { outage, worker, batch, memory } = setUp();
    const late = await outage();
    expect(isHold((await batch(late, [row()], OK))[0])).toBe(true);
    await batch(worker(), [row()], OK, true);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
    expect(await batch(late, [row()], OK)).toEqual(['counted']);
  });

  it('sends at once when another worker has shown meanwhile that the provider is back', async () => {
    const { outage, worker, batch, memory, time } = setUp();
    const late = await outage();
    await time.run(time.pause(29 * SECOND));
    expect(isHold((await batch(late, [row()], OK))[0])).toBe(true);
    await batch(worker(), [row()], OK, true);
    const drained = memory.breakers.get(ID);
    // It still trusts what it read, by which the probe is due.
    await time.run(time.pause(2 * SECOND));
    expect(await batch(late, [row()], OK)).toEqual(['counted']);
    expect(memory.breakers.get(ID)?.lines).toEqual(drained?.lines);
  });

  it('forgets the failures from before another worker’s breaker: they do not open it again', async () => {
    const { outage, worker, batch, memory, time } = setUp();
    const gate = worker();
    await batch(gate, rows(2), DOWN);
    await outage();
    await time.run(time.pause(5 * SECOND));
    expect(isHold((await batch(gate, [row()], OK))[0])).toBe(true);
    const open = memory.breakers.get(ID);
    if (open) memory.breakers.set(ID, { ...open, state: 'closed', version: open.version + 1 });
    await time.run(time.pause(5 * SECOND));
    await batch(gate, rows(1), DOWN);
    expect(memory.breakers.get(ID)?.state).toBe('closed');
  });

  it('drains for as long as its lines are, from the time of its last probe', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    await batch(gate, [...rows(20), ...rows(4, { priority: 'urgent' })], OK);
    await time.run(time.pause(30 * SECOND));
    await batch(gate, [row()], OK);
    const { lines, drained_at = '' } = memory.breakers.get(ID) ?? {};
    expect(lines?.standard.slots).toBeGreaterThanOrEqual(20);
    // The longer line, at two a second.
    const end = Date.parse(lines?.standard.from ?? '') + ((lines?.standard.slots ?? 0) * SECOND) / 2;
    expect(Date.parse(drained_at)).toBe(end);
    expect(end).toBeGreaterThan(time.clock().getTime());
  });

  it('that opens anew begins with the shortest interval, and counts what it holds from then', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    await batch(gate, rows(6), OK);
    await time.run(time.pause(30 * SECOND));
    await batch(gate, [row()], DOWN);
    expect(memory.breakers.get(ID)).toMatchObject({ interval_ms: 60 * SECOND });
    await time.run(time.pause(60 * SECOND));
    await batch(gate, [row()], OK);
    await time.run(time.pause(600 * SECOND));
    await batch(gate, rows(3), DOWN);
    const breaker = memory.breakers.get(ID);
    expect(breaker).toMatchObject({ state: 'open', interval_ms: 30 * SECOND, slots_before: 6 });
    expect(breaker).not.toHaveProperty('drained_at');
    expect(breaker && heldSince(breaker)).toBe(0);
    await batch(gate, rows(4), OK);
    const held = memory.breakers.get(ID);
    expect(held && heldSince(held)).toBe(4);
    expect(held?.lines.standard.slots).toBe(10);
  });

  it('that opens while it drains keeps its doubled interval and when it first opened, and no end of the draining', async () => {
    const { outage, batch, time, memory } = setUp();
    const gate = await outage();
    const since = memory.breakers.get(ID)?.since;
    await batch(gate, rows(20), OK);
    await time.run(time.pause(30 * SECOND));
    await batch(gate, [row()], OK);
    const drained = memory.breakers.get(ID);
    expect(drained).toHaveProperty('drained_at');
    await batch(gate, rows(6), DOWN);
    const again = memory.breakers.get(ID);
    expect(again).toMatchObject({ state: 'open', since, interval_ms: 60 * SECOND });
    expect(again).not.toHaveProperty('drained_at');
    expect(Date.parse(again?.probe_at ?? '')).toBeGreaterThanOrEqual(time.clock().getTime() + 59 * SECOND);
    const next = await batch(gate, [row()], OK);
    // The line goes on behind the slots that it gave out before.
    const [slot] = next.filter(isHold);
    const line = Date.parse(drained?.lines.standard.from ?? '') + ((drained?.lines.standard.slots ?? 0) * SECOND) / 2;
    expect(Date.parse(slot?.until ?? '')).toBeGreaterThanOrEqual(line);
  });

  it('lets one through that somebody asks for by name, and uses its answer', async () => {
    const { outage, batch, memory, time } = setUp();
    const gate = await outage();
    expect(await batch(gate, [row()], DOWN, true)).toEqual(['uncounted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'open', interval_ms: 30 * SECOND });
    await time.run(time.pause(5 * SECOND));
    expect(await batch(gate, [row()], OK, true)).toEqual(['counted']);
    expect(memory.breakers.get(ID)).toMatchObject({ state: 'draining' });
  });

  it('lets one of many through that are asked for by name, and the others once it is answered', async () => {
    const { outage, batch, time } = setUp();
    const gate = await outage();
    const down = await batch(gate, rows(10), DOWN, true);
    expect(down.filter(isHold)).toHaveLength(9);
    expect((await batch(gate, rows(10), DOWN, true)).filter(isHold)).toHaveLength(10);
    await time.run(time.pause(5 * SECOND));
    expect((await batch(gate, rows(2), OK, true)).filter(isHold)).toEqual([]);
  });

  it.each([
    ['few', 10, { first: [1, 2], read: [0, 0] }],
    ['more than one read shows', 500, { first: [1, 2], read: [1, 2] }],
  ])('reads its store once for many notifications, and not again for a while, with %s breakers', async (...given) => {
    const [, others, expected] = given;
    const { memory, worker, batch, time } = setUp();
    const from = opened({ id: 'x', error_type: 'UNKNOWN' }, undefined, { now: T0, policy: POLICY });
    for (let i = 0; i < others; i++) memory.breakers.set(`email#${i}`, { ...from, id: `email#${i}` });
    const calls = { first: 0, read: 0 };
    const store: BreakerStore = {
      ...memory.store,
      first: (limit) => {
        calls.first += 1;
        return memory.store.first(limit);
      },
      read: (id, options) => {
        calls.read += 1;
        return memory.store.read(id, options);
      },
    };
    const gate = worker({ store });
    await batch(gate, rows(50), OK);
    await batch(gate, rows(50), OK);
    expect(calls).toEqual({ first: expected.first[0], read: expected.read[0] });
    await time.run(time.pause(5 * SECOND));
    await batch(gate, rows(50), OK);
    expect(calls).toEqual({ first: expected.first[1], read: expected.read[1] });
  });

  it('stops no delivery when its store fails, and reports the fault', async () => {
    const fail = async () => {
      throw new Error('throttled');
    };
    const { worker, batch, faults, outage, memory } = setUp();
    const blind = worker({ store: { list: fail, first: fail, read: fail, write: fail, takeSlot: fail } });
    expect(await batch(blind, rows(4), DOWN)).toEqual(['counted', 'counted', 'counted', 'counted']);
    expect(faults.length).toBeGreaterThan(0);
    await outage();
    const [held] = await batch(worker({ store: { ...memory.store, takeSlot: fail } }), [row()], OK);
    expect(isHold(held)).toBe(true);
  });
});
