import { describe, expect, it } from 'vitest';
import type { Priority } from '../../../src/core/model/channels.ts';
import type { ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import { VirtualTime } from '../../../tools/simulation/engine/virtual-time.ts';
import { MemoryPacing } from '../../../tools/simulation/twins/pipeline-state.ts';
import { accountGate, pacerAt } from '../../support/pacing.ts';
import { dueRow, messageFor } from '../../support/rows.ts';

const START = new Date('2026-03-01T10:30:00.000Z');

/** A lane, and workers that take batches of ten from it, as Lambda's pollers do. */
class Lane {
  readonly time = new VirtualTime(START);
  readonly memory = new MemoryPacing();
  readonly sent: { readonly at: number; readonly priority: Priority }[] = [];
  resent = 0;
  #waiting: { readonly visible_at: number; readonly received: ReceivedMessage }[] = [];
  #serial = 0;
  readonly #per_second: number;

  constructor(per_second: number, backlog: Readonly<Partial<Record<Priority, number>>>) {
    this.#per_second = per_second;
    for (const [priority, count] of Object.entries(backlog)) {
      for (let i = 0; i < count; i++) this.put(priority as Priority, START.getTime());
    }
  }

  put(priority: Priority, visible_at: number): void {
    const row = dueRow({
      log_id: `${priority}-${++this.#serial}`,
      channel: 'email',
      priority,
      // Due by every worker's clock.
      work_at: new Date(START.getTime() - 10_000).toISOString(),
    });
    const received = { message: messageFor(row), message_id: row.log_id, sent_at: START, receive_count: 1 };
    this.#waiting.push({ visible_at, received });
  }

  /** @param skews of their clocks, milliseconds */
  run(workers: number, skews: readonly number[] = []): Promise<unknown> {
    return this.time.run(Promise.all(Array.from({ length: workers }, (_, i) => this.#worker(i, skews[i] ?? 0))));
  }

  async #worker(number: number, skew: number): Promise<void> {
    const { pause } = this.time;
    const clock = () => new Date(this.time.clock().getTime() + skew);
    const limits = {
      per_second: this.#per_second,
      sent_24h: 0,
      sending: true,
      enforcement: 'HEALTHY',
      production: true,
    };
    const pacer = pacerAt(clock, { store: this.memory.store, readLimits: async () => limits });
    const gate = accountGate(pacer, { clock, pause });
    await pause(number * 13);
    while (this.sent.length < this.#serial) {
      const batch = this.#receive();
      if (batch.length === 0) {
        await pause(100);
        continue;
      }
      const { now, later } = await gate.screen(batch);
      for (const { received, delay_seconds } of later) {
        this.resent += 1;
        this.#waiting.push({ received, visible_at: this.time.clock().getTime() + delay_seconds * 1000 });
      }
      await Promise.all(
        now.map(async ({ message }) => {
          const admission = await gate.admit(dueRow({ log_id: message.log_id, priority: message.priority }), false);
          if (admission.do !== 'send') throw new Error('a message was held though only the rate is short');
          this.sent.push({ at: this.time.clock().getTime(), priority: message.priority });
          await pause(80);
        }),
      );
    }
  }

  #receive(): ReceivedMessage[] {
    const now = this.time.clock().getTime();
    const batch = this.#waiting.filter(({ visible_at }) => visible_at <= now).slice(0, 10);
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((one) => !taken.has(one));
    return batch.map(({ received }) => received);
  }
}

describe('a lane with more than the rate allows', () => {
  it.each([
    { per_second: 14, count: 1_500 },
    { per_second: 200, count: 6_000 },
  ])(
    'sends at least 95 % of $per_second a second, and never more',
    async ({ per_second, count }) => {
      const lane = new Lane(per_second, { normal: count });
      await lane.run(10);
      const times = lane.sent.map(({ at }) => at).sort((a, b) => a - b);
      const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
      expect(times).toHaveLength(count);
      expect(count / seconds).toBeGreaterThanOrEqual(0.95 * per_second);
      expect(count / seconds).toBeLessThanOrEqual(per_second);
    },
    60_000,
  );

  it.each([
    ['1.5 s ahead of the nine others', [1_500]],
    ['between 2.5 s behind and 2.5 s ahead', [2_500, -2_500, 1_000, -1_000, 0, 2_000, -2_000, 500, -500, 1_500]],
  ])(
    'goes on at its rate with a worker whose clock is %s',
    async (_, skews) => {
      const lane = new Lane(98, { normal: 3_000 });
      await lane.run(10, skews);
      const times = lane.sent.map(({ at }) => at).sort((a, b) => a - b);
      const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
      expect(times).toHaveLength(3_000);
      expect(3_000 / seconds).toBeGreaterThanOrEqual(0.95 * 98);
      expect(3_000 / seconds).toBeLessThanOrEqual(1.05 * 98);
    },
    60_000,
  );

  it('costs a tenth of a write per message in full batches below the rate', async () => {
    const lane = new Lane(500, { normal: 400 });
    await lane.run(1);
    expect(lane.resent).toBe(0);
    // One more to take the lease on the account's limits, and one to write them down.
    expect(lane.memory.writes).toBeLessThanOrEqual(40 + 2);
  });

  it.each([
    { of: 'twenty-eight of a hundred', per_second: 100, arriving: 28, most: 0.27 },
    // Half a second of 14 are seven slots, so at most seven messages share a reservation.
    { of: 'five of fourteen', per_second: 14, arriving: 5, most: 0.49 },
  ])(
    'shares reservations between small batches: $of a second arrive, one or a few at a time',
    async ({ per_second, arriving, most }) => {
      const lane = new Lane(per_second, {});
      const count = arriving * 120;
      for (let i = 0; i < count; i++)
        lane.put(i % 3 === 0 ? 'urgent' : 'normal', START.getTime() + Math.floor((i / 3) * (3_000 / arriving)));
      await lane.run(4);
      expect(lane.sent).toHaveLength(count);
      expect(lane.memory.writes / count).toBeLessThanOrEqual(most);
      expect(lane.resent).toBe(0);
      const waits = lane.sent.map(({ at }, i) => at - (START.getTime() + Math.floor((i / 3) * (3_000 / arriving))));
      expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
    },
    60_000,
  );

  it('writes a third of a unit per message where much more waits than fourteen a second', async () => {
    const lane = new Lane(14, { normal: 1_500 });
    await lane.run(10);
    expect(lane.memory.writes / 1_500).toBeLessThanOrEqual(0.34);
  }, 60_000);

  it('sends urgent messages within a second, whatever waits in the other lane', async () => {
    const lane = new Lane(20, { normal: 600 });
    const [urgent, at] = [20, START.getTime() + 5_000];
    for (let i = 0; i < urgent; i++) lane.put('urgent', at + i * 500);
    await lane.run(10);
    const waits = lane.sent.filter(({ priority }) => priority === 'urgent').map((one, i) => one.at - (at + i * 500));
    expect(waits).toHaveLength(urgent);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_000);
  }, 60_000);
});
