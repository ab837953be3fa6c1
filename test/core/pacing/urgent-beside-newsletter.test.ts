import { describe, expect, it } from 'vitest';
import { createSendPacing } from '../../../src/core/newsletter/sending/send-pacing.ts';
import { USES, type Use } from '../../../src/core/pacing/pacing-policy.ts';
import type { PacingStore } from '../../../src/core/pacing/registers.ts';
import { SendingLimits } from '../../../src/local/providers/ses/sending-limits.ts';
import { VirtualTime } from '../../../tools/simulation/engine/virtual-time.ts';
import { MemoryPacing } from '../../../tools/simulation/twins/pipeline-state.ts';
import { accountGate, pacerAt } from '../../support/pacing.ts';
import { dueRow, messageFor } from '../../support/rows.ts';

const START = new Date('2026-03-01T10:30:00.000Z');
const SECONDS = 60;
const URGENT_EVERY_MS = 100;

/** Senders of a newsletter that take all they get, and urgent mails on the same budget, in virtual time. */
class SharedBudget {
  readonly #time = new VirtualTime(START);
  readonly #memory = new MemoryPacing();
  readonly provider: SendingLimits;
  readonly #per_second: number;
  /** Milliseconds from the lane to SES, of each urgent mail. */
  readonly waits: number[] = [];
  newsletters = 0;
  postponed = 0;
  /** Milliseconds that each mail of a full batch has waited for its slot. */
  readonly waitsInBatches: Record<Use, number[]> = { express: [], standard: [], info: [], newsletter: [] };
  #seed = 5;

  constructor(per_second: number) {
    this.#per_second = per_second;
    this.provider = new SendingLimits({ per_second, per_day: -1 }, START.getTime());
  }

  run(senders: number): Promise<unknown> {
    const urgent = (SECONDS * 1_000) / URGENT_EVERY_MS;
    return this.#time.run(
      Promise.all([
        ...Array.from({ length: senders }, (_, i) => this.#newsletter(i)),
        ...Array.from({ length: urgent }, (_, i) => this.#urgent(i)),
      ]),
    );
  }

  /** A full batch of each use, again and again, beside the newsletter. */
  runBatches(senders: number, uses: readonly Use[], every_ms: number): Promise<unknown> {
    const batches = Array.from({ length: (SECONDS * 1_000) / every_ms }, (_, i) => i * every_ms);
    return this.#time.run(
      Promise.all([
        ...Array.from({ length: senders }, (_, i) => this.#newsletter(i)),
        ...uses.flatMap((use) => batches.map((after_ms) => this.#batch(use, after_ms))),
      ]),
    );
  }

  async #batch(use: Use, after_ms: number): Promise<void> {
    const { clock, pause } = this.#time;
    await pause(2_000 + after_ms);
    const handed_over = clock().getTime();
    const pacer = this.#pacer();
    for (let count = 10; clock().getTime() < START.getTime() + SECONDS * 1_000; ) {
      const lane = use === 'express' ? 'express' : 'standard';
      const [{ slots, waits } = { slots: [], waits: [] }] = await pacer.reserve([{ count, use, lane }]);
      this.waitsInBatches[use].push(...slots.map((slot) => Math.max(slot, clock().getTime()) - handed_over));
      count = waits.length;
      if (count === 0) return;
      // SQS delays by whole seconds.
      await pause(Math.max(1, Math.ceil(((waits[0] ?? 0) - clock().getTime()) / 1_000)) * 1_000);
    }
  }

  #random(): number {
    this.#seed = (this.#seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return this.#seed / 2 ** 32;
  }

  /** Each worker has a view of its own, and storage takes time. */
  #pacer() {
    const { clock, pause } = this.#time;
    const slowly = async <T>(run: () => Promise<T>): Promise<T> => {
      await pause(1 + this.#random() * 15);
      return run();
    };
    const { read, change } = this.#memory.store;
    const store: PacingStore = {
      read: (channel) => slowly(() => read(channel)),
      change: (channel, steps) => slowly(() => change(channel, steps)),
    };
    const account = { sent_24h: 0, sending: true, enforcement: 'HEALTHY', production: true };
    return pacerAt(clock, { store, readLimits: async () => ({ ...account, per_second: this.#per_second }) });
  }

  async #newsletter(number: number): Promise<void> {
    const { clock, pause } = this.#time;
    const pacing = createSendPacing(this.#pacer(), { clock, pause });
    await pause(number * 13);
    while (clock().getTime() < START.getTime() + SECONDS * 1_000) {
      const { granted, retry_at } = await pacing.reserve(50, 50);
      if (granted === 0) {
        await pause(Math.max(1, Date.parse(retry_at ?? '') - clock().getTime()));
        continue;
      }
      this.newsletters += granted;
      this.provider.take(granted, clock().getTime());
      await pause(20 + this.#random() * 100);
    }
  }

  /** One urgent mail, alone in its batch: the worst case, as each comes to an instance that knows nothing yet. */
  async #urgent(number: number): Promise<void> {
    const { clock, pause } = this.#time;
    await pause(2_000 + number * URGENT_EVERY_MS);
    const handed_over = clock().getTime();
    const row = dueRow({
      log_id: `urgent-${number}`,
      channel: 'email',
      priority: 'urgent',
      work_at: START.toISOString(),
    });
    const received = { message: messageFor(row), message_id: row.log_id, sent_at: START, receive_count: 1 };
    const pacer = this.#pacer();
    const gate = accountGate(pacer, this.#time);
    for (let delay = 0; ; ) {
      await pause(delay);
      const { later } = await gate.screen([received]);
      const [postponed] = later;
      if (postponed === undefined) break;
      this.postponed += 1;
      delay = postponed.delay_seconds * 1_000;
    }
    const admission = await gate.admit(row, false);
    if (admission.do !== 'send') throw new Error('an urgent mail was held though only the rate is short');
    this.provider.take(1, clock().getTime());
    this.waits.push(clock().getTime() - handed_over);
  }
}

describe('urgent mail beside a newsletter that takes the whole rate', () => {
  it.each([
    { per_second: 500, senders: 2 },
    { per_second: 500, senders: 10 },
    { per_second: 100, senders: 2 },
  ])(
    'is sent within a second at $per_second a second, $senders batches at once',
    async ({ per_second, senders }) => {
      const shared = new SharedBudget(per_second);
      await shared.run(senders);
      const waits = shared.waits.toSorted((a, b) => a - b);
      const p99 = waits[Math.floor(waits.length * 0.99)] ?? Number.NaN;
      if (process.env['SHOW_HISTORIES'] !== undefined) {
        console.log({ per_second, senders, median: waits[waits.length / 2], p99, postponed: shared.postponed });
      }
      expect(p99).toBeLessThanOrEqual(1_000);
      expect(shared.provider.refused.rate).toBe(0);
      // Otherwise nothing was short.
      expect(shared.newsletters + waits.length).toBeGreaterThan(0.9 * per_second * SECONDS);
    },
    120_000,
  );
});

describe('full batches of the lanes beside a newsletter that takes the whole rate of fourteen a second', () => {
  it.each([4, 10].flatMap((senders) => USES.filter((use) => use !== 'newsletter').map((use) => ({ senders, use }))))(
    'get slots before it: $use, $senders batches of the newsletter at once',
    async ({ senders, use }) => {
      const shared = new SharedBudget(14);
      await shared.runBatches(senders, [use], 10_000);
      const waits = shared.waitsInBatches[use];
      if (process.env['SHOW_HISTORIES'] !== undefined)
        console.log({ senders, use, sent: waits.length, longest: Math.max(...waits), newsletters: shared.newsletters });
      expect(waits.length).toBe(60);
      expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
    },
  );
});
