import { describe, expect, it } from 'vitest';
import type { SendResult } from '../../../src/core/delivery/ports.ts';
import type { Priority } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import type { Allowance } from '../../../src/core/pacing/plan-reservation.ts';
import type { ReceiverAsk } from '../../../src/core/pacing/receiver-pacer.ts';
import { VirtualTime } from '../../../tools/simulation/engine/virtual-time.ts';
import { MemoryPacing } from '../../../tools/simulation/twins/pipeline-state.ts';
import { accountGate, pacerAt, receiversAt, slotsOf, type WorkerGate } from '../../support/pacing.ts';
import { dueRow } from '../../support/rows.ts';

const START = new Date('2026-03-01T10:30:00.000Z');

interface Message {
  readonly row: NotificationRow;
  readonly visible_at: number;
}

/** Workers that post what is in a lane, and receivers that refuse what comes faster than their rate. */
class Posts {
  readonly time = new VirtualTime(START);
  readonly memory = new MemoryPacing();
  readonly sent: {
    readonly at: number;
    readonly key: string;
    readonly priority: Priority;
    readonly tenant_id: string;
  }[] = [];
  refused = 0;
  held = 0;
  /** Most writes to one item in one second. */
  hottest = 0;
  readonly #per_second: number;
  /** Messages that a receiver takes at once. */
  readonly #burst: number;
  readonly #buckets = new Map<string, { readonly at: number; readonly left: number }>();
  readonly #writes = new Map<string, number>();
  #waiting: Message[] = [];
  #serial = 0;

  constructor(per_second: number, burst = 1) {
    this.#per_second = per_second;
    this.#burst = burst;
  }

  put(key: string, after_ms = 0, priority: Priority = 'normal', tenant_id = 'tenant-1'): void {
    const visible_at = START.getTime() + after_ms;
    const work_at = new Date(visible_at).toISOString();
    const log_id = `n-${this.#serial++}`;
    const row = dueRow({
      log_id,
      tenant_id,
      channel: 'slack',
      integration_config_id: key,
      work_at,
      priority,
      last_attempt: 1,
    });
    this.#waiting.push({ row, visible_at });
  }

  /** @param skews of the workers' clocks, milliseconds */
  run(skews: readonly number[], pause_ms: number): Promise<unknown> {
    return this.time.run(Promise.all(skews.map((skew, i) => this.#worker(skew, pause_ms, i))));
  }

  /** Messages per second, from the first to the last. */
  get rate(): number {
    const times = this.sent.map(({ at }) => at);
    return ((this.sent.length - 1) * 1000) / (Math.max(...times) - Math.min(...times));
  }

  async #worker(skew: number, pause_ms: number, number: number): Promise<void> {
    const { time } = this;
    const clock = () => new Date(time.clock().getTime() + skew);
    const store = {
      ...this.memory.store,
      change: async (...args: Parameters<MemoryPacing['store']['change']>) => {
        await time.pause(5);
        const second = `${args[0]} ${Math.floor(time.clock().getTime() / 1000)}`;
        this.#writes.set(second, (this.#writes.get(second) ?? 0) + 1);
        this.hottest = Math.max(this.hottest, this.#writes.get(second) ?? 0);
        return this.memory.store.change(...args);
      },
    };
    const receivers = receiversAt(clock, { store });
    let asks: {
      ask: ReceiverAsk;
      resolve: (answer: { slots: readonly number[]; waits: readonly number[] }) => void;
    }[] = [];
    const reserveAt = (ask: ReceiverAsk) =>
      new Promise<{ slots: readonly number[]; waits: readonly number[] }>((resolve) => {
        asks.push({ ask, resolve });
        if (asks.length > 1) return;
        void time.pause(3).then(async () => {
          const all = asks;
          asks = [];
          const answers = await receivers.reserve(all.map((one) => one.ask));
          all.forEach((one, i) => {
            one.resolve(answers[i] ?? { slots: [], waits: [] });
          });
        });
      });
    const gate = accountGate(pacerAt(clock), { clock, pause: time.pause }, undefined, {
      channel: 'slack',
      receiver: async ({ integration_config_id: key = '', tenant_id: tenant }) => ({
        key,
        tenant,
        per_second: this.#per_second,
      }),
      budgets: {
        reserve: () => Promise.reject(new Error('there is no account')),
        exceeded: async () => {},
        reserveAt,
        blocked: (...args) => receivers.blocked(...args),
      },
    });
    await time.pause(number * 13);
    while (this.#waiting.length > 0 || this.#underWay > 0) {
      const batch = this.#receive();
      await Promise.all(batch.map(({ row }) => this.#post(row, gate, clock)));
      this.#underWay -= batch.length;
      await time.pause(pause_ms);
    }
  }

  #underWay = 0;

  #receive(): Message[] {
    const now = this.time.clock().getTime();
    const batch = this.#waiting.filter(({ visible_at }) => visible_at <= now).slice(0, 10);
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((one) => !taken.has(one));
    this.#underWay += batch.length;
    return batch;
  }

  async #post(row: NotificationRow, gate: WorkerGate, clock: () => Date): Promise<void> {
    if (Date.parse(row.work_at ?? '') > clock().getTime()) {
      this.#again(row, clock);
      return;
    }
    const admission = await gate.admit(row, false);
    const last_attempt = row.last_attempt + 1;
    if (admission.do === 'hold') {
      this.held += 1;
      this.#again({ ...row, last_attempt, error_type: admission.error_type, work_at: admission.until }, clock);
      return;
    }
    const result = this.#take(row);
    await this.time.pause(80);
    await admission.report(result);
    if (result.ok) return;
    const until = new Date(clock().getTime() + 10_000).toISOString();
    const error_details = JSON.stringify({ attempt: row.last_attempt });
    this.#again({ ...row, last_attempt, error_type: 'RATE_LIMITED', error_details, work_at: until }, clock);
  }

  /** SQS delays by whole seconds. */
  #again(row: NotificationRow, clock: () => Date): void {
    const delay = Math.max(1, Math.ceil((Date.parse(row.work_at ?? '') - clock().getTime()) / 1000));
    this.#waiting.push({ row, visible_at: this.time.clock().getTime() + delay * 1000 });
  }

  #take({ integration_config_id: key = '', priority, tenant_id }: NotificationRow): SendResult {
    const at = this.time.clock().getTime();
    const { at: last = 0, left = this.#burst } = this.#buckets.get(key) ?? {};
    const tokens = Math.min(this.#burst, left + ((at - last) * this.#per_second) / 1000);
    if (tokens < 0.98) {
      this.refused += 1;
      return { ok: false, error_type: 'RATE_LIMITED', message: 'slow down', retry_after_ms: 1_000 };
    }
    this.#buckets.set(key, { at, left: Math.max(0, tokens - 1) });
    this.sent.push({ at, key, priority, tenant_id });
    return { ok: true, response_code: '200' };
  }
}

/** Repeatable draws (a linear congruential generator). */
function seededRandom(): () => number {
  let seed = 42;
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return seed / 2 ** 32;
  };
}

const TEN = Array(10).fill(0) as number[];

describe('ten workers that post', () => {
  it('to one receiver use its rate, without a refusal, for a tenth of a write per message', async () => {
    const posts = new Posts(1);
    for (let i = 0; i < 300; i++) posts.put('C1');
    await posts.run(TEN, 100);
    expect(posts.sent).toHaveLength(300);
    expect(posts.rate).toBeGreaterThanOrEqual(0.95);
    expect(posts.refused).toBe(0);
    expect(posts.memory.writes / 300).toBeLessThanOrEqual(0.1);
    // Each message waits on its row once at most, and then has its slot.
    expect(posts.held).toBeLessThanOrEqual(300);
  }, 60_000);

  it('one message at a time, to a receiver with a long line, share reservations', async () => {
    const posts = new Posts(1, 5);
    for (let i = 0; i < 900; i++) posts.put('C1', i * 750);
    await posts.run(TEN, 1_000);
    expect(posts.sent).toHaveLength(900);
    expect(posts.rate).toBeGreaterThanOrEqual(0.95);
    expect(posts.refused).toBeLessThanOrEqual(10);
    expect(posts.memory.writes / 900).toBeLessThanOrEqual(0.5);
  }, 60_000);

  it('to one receiver by clocks up to five seconds apart hardly ever exceed its rate', async () => {
    const posts = new Posts(1, 5);
    for (let i = 0; i < 200; i++) posts.put('C1');
    await posts.run([0, 0, 2_500, 0, -2_500, 0, 1_500, 0, 0, -1_000], 100);
    expect(posts.sent).toHaveLength(200);
    expect(posts.rate).toBeGreaterThanOrEqual(0.9);
    expect(posts.refused).toBeLessThanOrEqual(20);
  }, 60_000);

  it.each([1_000, 5_000])(
    'to %i receivers write hardly anything, and no item often',
    async (receivers) => {
      const posts = new Posts(1, 3);
      const draw = seededRandom();
      for (let i = 0; i < 10_000; i++) posts.put(`C${Math.floor(draw() * receivers)}`, i * 4);
      await posts.run(TEN, 100);
      expect(posts.sent).toHaveLength(10_000);
      expect(posts.refused).toBeLessThanOrEqual(100);
      expect(posts.memory.writes / 10_000).toBeLessThanOrEqual(0.1);
      expect(posts.hottest).toBeLessThanOrEqual(500);
      expect(
        Math.max(...[...posts.memory.channels.values()].map((registers) => Object.keys(registers).length)),
      ).toBeLessThanOrEqual(5);
    },
    60_000,
  );

  it.each(['urgent', 'normal'] as const)(
    'send what a tenant posts within ten seconds, though another has 300 %s ones for the same receiver',
    async (priority) => {
      const posts = new Posts(4);
      for (let i = 0; i < 300; i++) posts.put('one', 0, priority, 'B');
      const own = [3_000, 20_000, 40_000, 60_000];
      for (const after of own) posts.put('one', after, priority, 'A');
      await posts.run(Array(5).fill(0), 50);
      const times = posts.sent.filter(({ tenant_id }) => tenant_id === 'A').map(({ at }) => at - START.getTime());
      const waits = times.sort((a, b) => a - b).map((at, i) => at - (own[i] ?? 0));
      expect(Math.max(...waits), waits.join()).toBeLessThan(10_000);
      expect(posts.sent).toHaveLength(304);
      expect(posts.rate).toBeGreaterThan(0.9 * 4);
      expect(posts.refused).toBeLessThanOrEqual(10);
      expect(posts.memory.writes / 304).toBeLessThanOrEqual(0.2);
    },
  );

  it('send what is urgent within seconds, whatever waits for the same receiver', async () => {
    const posts = new Posts(1);
    for (let i = 0; i < 120; i++) posts.put('C1');
    for (let i = 0; i < 5; i++) posts.put('C1', 20_000 + i * 10_000, 'urgent');
    await posts.run(TEN, 100);
    const urgent = posts.sent.filter(({ priority }) => priority === 'urgent').map(({ at }) => at - START.getTime());
    expect(urgent).toHaveLength(5);
    urgent.forEach((at, i) => {
      expect(at - (20_000 + i * 10_000)).toBeLessThanOrEqual(5_000);
    });
    expect(posts.refused).toBeLessThanOrEqual(10);
  }, 60_000);
});

describe('a receiver', () => {
  const ask = { key: 'C1', per_second: 1, lane: 'standard' } as const;

  it('costs no write while this worker sends to it less often than its rate', async () => {
    const memory = new MemoryPacing();
    let now = START.getTime();
    const worker = receiversAt(() => new Date(now), { store: memory.store });
    for (let i = 0; i < 5; i++, now += 1_000)
      expect((await worker.reserve([{ ...ask }])).flatMap(slotsOf)).toEqual([now]);
    expect(memory.writes).toBe(0);
    now -= 1;
    await worker.reserve([{ ...ask }]);
    expect(memory.writes).toBe(1);
  });

  it('that refused a worker is reserved for by all others, who have not sent to it', async () => {
    const memory = new MemoryPacing();
    const now = START.getTime();
    const [one, other] = [0, 1].map(() => receiversAt(() => new Date(now), { store: memory.store }));
    await one?.blocked('C1', now + 1_000);
    expect(memory.writes).toBe(1);
    await other?.reserve([{ ...ask }]);
    await other?.reserve([{ ...ask, key: 'C2' }]);
    expect(memory.writes).toBe(2);
  });

  it('loses one slot of the standard lane per express message, and no other', async () => {
    const memory = new MemoryPacing();
    let now = START.getTime();
    const worker = receiversAt(() => new Date(now), { store: memory.store });
    const all = await worker.reserve(Array.from({ length: 9 }, () => ({ ...ask })));
    const given = all.flatMap(({ slots, waits }) => [...slots, ...waits]);
    const express = [];
    for (const at of [0, 3_100]) {
      now = START.getTime() + at;
      express.push(
        ...(await worker.reserve([{ ...ask, lane: 'express' }])).flatMap(({ slots, waits }) => [...slots, ...waits]),
      );
    }
    const kept = await worker.reserve(given.slice(3).map((slot) => ({ ...ask, slot: Math.ceil(slot) })));
    const moved = kept.flatMap(({ slots }, i) => (slots[0] === Math.ceil(given[i + 3] ?? 0) ? [] : [given[i + 3]]));
    expect(moved).toEqual(express.filter((at) => at >= (given[3] ?? 0)));
    expect(new Set([...given, ...express]).size).toBe(given.length);
  });

  it('with a long line wastes three slots at most when a worker dies, and none that is given in time', async () => {
    const memory = new MemoryPacing();
    let now = START.getTime();
    const [one, other] = [0, 1].map(() => receiversAt(() => new Date(now), { store: memory.store }));
    await one?.reserve(Array.from({ length: 100 }, () => ({ ...ask })));
    const given: number[] = [];
    for (let i = 0; i < 6; i++) {
      now += 1_000;
      given.push(...((await one?.reserve([{ ...ask }]))?.flatMap(({ waits }) => waits) ?? []));
    }
    // For all, for the first, for it and the next four, and for one that takes three ahead before its worker dies.
    expect(memory.writes).toBe(4);
    given.push(...((await other?.reserve([{ ...ask }, { ...ask }]))?.flatMap(({ waits }) => waits) ?? []));
    const slots = given.map((at) => Math.round((at - START.getTime()) / (1_000 / 0.98)));
    expect(slots).toEqual([100, 101, 102, 103, 104, 105, 109, 110]);
  });

  it.each([
    ['that express took since, as another worker knows', 'express'],
    ['while the receiver takes nothing, as another worker knows', 'blocked'],
  ])('gets nothing at a slot that was reserved ahead %s', async (_, what) => {
    const memory = new MemoryPacing();
    let now = START.getTime();
    const [one, other] = [0, 1].map(() => receiversAt(() => new Date(now), { store: memory.store }));
    const times = (answers: readonly Allowance[] = []) => answers.flatMap(({ slots, waits }) => [...slots, ...waits]);
    await one?.reserve(Array.from({ length: 8 }, () => ({ ...ask })));
    now += 1_000;
    // Who waits now reserves for the next three as well.
    const [last = 0] = times(await one?.reserve([{ ...ask }]));
    now += 1_000;
    await one?.reserve([{ ...ask }]);
    const next = last + (2 * 1_000) / 0.98;
    now = next - 2_010;
    if (what === 'blocked') await other?.blocked('C1', now + 20_000);
    else expect(times(await other?.reserve([{ ...ask, lane: 'express' }]))).toEqual([expect.closeTo(next, 0)]);
    now = next - 1_900;
    const [answer] = (await one?.reserve([{ ...ask }])) ?? [];
    // What is held reads the receiver's item again when its slot comes.
    expect(answer?.slots).toEqual([]);
    expect(answer?.waits[0]).toBeGreaterThan(next + 500);
  });

  it('that refused a message gets no other before the time it asked for, from any worker that reserves', async () => {
    const memory = new MemoryPacing();
    const now = START.getTime();
    const [one, other] = [0, 1].map(() => receiversAt(() => new Date(now), { store: memory.store }));
    await one?.blocked('C1', now + 30_000);
    const answers = [await one?.reserve([{ ...ask }]), await other?.reserve([{ ...ask, refused: true }])];
    for (const [answer] of answers.map((all) => all ?? [])) {
      expect(answer?.slots).toEqual([]);
      expect(answer?.waits[0]).toBeGreaterThanOrEqual(now + 30_000);
    }
    expect((await one?.reserve([{ ...ask, key: 'C2' }]))?.flatMap(slotsOf)).toEqual([now]);
  });

  it('gets what was held for it at the slot that it was given, unless it refused since or the message is late', async () => {
    const memory = new MemoryPacing();
    let now = START.getTime();
    const worker = receiversAt(() => new Date(now), { store: memory.store });
    const [, , , far] = await worker.reserve(Array.from({ length: 4 }, () => ({ ...ask })));
    const slot = far?.waits[0] ?? 0;
    expect(slot).toBeCloseTo(now + 3_000 / 0.98, 3);
    const writes = memory.writes;
    now = slot - 500;
    expect((await worker.reserve([{ ...ask, slot }])).flatMap(slotsOf)).toEqual([slot]);
    expect(memory.writes).toBe(writes);
    now = slot + 10_000;
    await worker.reserve([{ ...ask, slot }]);
    expect(memory.writes).toBe(writes + 1);
    await worker.blocked('C1', now + 5_000);
    expect((await worker.reserve([{ ...ask, slot: now }]))[0]?.slots).toEqual([]);
  });
});

it('a worker whose storage fails takes its part of the rate alone, and sends what has a slot', async () => {
  let now = START.getTime();
  let calls = 0;
  const broken = () => {
    calls += 1;
    return Promise.reject(new Error('throttled'));
  };
  const worker = receiversAt(() => new Date(now), { store: { read: broken, change: broken }, workers: 10 });
  const ask = { key: 'C1', per_second: 1, lane: 'standard' } as const;
  const answers = await worker.reserve([{ ...ask }, { ...ask }, { ...ask, slot: now + 100 }]);
  expect(answers.map(({ slots, waits }) => [...slots, ...waits].map((at) => at - now))).toEqual([
    [0],
    [expect.closeTo(10_000 / 0.98, 2)],
    [100],
  ]);
  now += 4_000;
  await worker.reserve([{ ...ask }]);
  expect(calls).toBe(1);
});

it('a worker whose storage fails takes no more than its part, either, where its messages come one by one', async () => {
  let now = START.getTime();
  const broken = () => Promise.reject(new Error('throttled'));
  const worker = receiversAt(() => new Date(now), { store: { read: broken, change: broken }, workers: 10 });
  let sent = 0;
  for (const end = now + 60_000; now < end; now += 1_100) {
    const [answer] = await worker.reserve([{ key: 'C1', per_second: 1, lane: 'standard' }]);
    if (answer?.slots.some((at) => at <= now)) sent += 1;
  }
  expect(sent).toBeLessThanOrEqual(7);
  expect(sent).toBeGreaterThan(0);
});
