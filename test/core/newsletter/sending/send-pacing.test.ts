import { describe, expect, it } from 'vitest';
import { createSendPacing } from '../../../../src/core/newsletter/sending/send-pacing.ts';
import { sendTestMail } from '../../../../src/core/newsletter/sending/test-mail.ts';
import { DEFAULT_PACING_POLICY } from '../../../../src/core/pacing/pacing-policy.ts';
import { emailContent } from '../../../support/newsletter/job-rows.ts';
import { JobWorld } from '../../../support/newsletter/job-world.ts';
import { pacerAt } from '../../../support/pacing.ts';

const NOW = Date.parse('2026-03-01T10:00:00.000Z');

function pacingWith(slots: readonly number[], waits: readonly number[]) {
  const asked: unknown[] = [];
  const paused: number[] = [];
  const exceeded: string[] = [];
  const pacing = createSendPacing(
    {
      reserve: async (asks) => {
        asked.push(...asks);
        return [{ slots: slots.map((ms) => NOW + ms), waits: waits.map((ms) => NOW + ms) }];
      },
      exceeded: async (limit) => void exceeded.push(limit),
    },
    { clock: () => new Date(NOW), pause: async (ms) => void paused.push(ms) },
  );
  return { pacing, asked, paused, exceeded };
}

describe('a call of newsletters', () => {
  it('begins with the first of its slots, and holds as many mails as it has slots', async () => {
    const { pacing, asked, paused } = pacingWith([250, 300, 350], []);
    expect(await pacing.reserve(3)).toEqual({ granted: 3 });
    expect(paused).toEqual([250]);
    expect(asked).toEqual([{ count: 3, use: 'newsletter' }]);
  });

  it('begins at once with a slot that the budget kept', async () => {
    const { pacing, paused } = pacingWith([-200, 50], []);
    expect(await pacing.reserve(2)).toEqual({ granted: 2 });
    expect(paused).toEqual([]);
  });

  it('is told when the earliest of the others may ask again', async () => {
    const { pacing, paused } = pacingWith([], [9_000, 4_000]);
    expect(await pacing.reserve(2)).toEqual({ granted: 0, retry_at: '2026-03-01T10:00:04.000Z' });
    expect(paused).toEqual([]);
  });

  it('tells the budget which limit refused it', async () => {
    const { pacing, exceeded } = pacingWith([], []);
    await pacing.refused('throttled');
    await pacing.refused('quota');
    expect(exceeded).toEqual(['rate', 'quota']);
  });
});

describe('a reservation for two calls', () => {
  const INTERVAL = 2;

  /** A budget whose slots are 2 ms apart, so that 50 mails take 100 ms. */
  function plentiful({ most = Number.POSITIVE_INFINITY, first_in = 0 } = {}) {
    let now = NOW;
    let next = NOW;
    const asked: number[] = [];
    const wait = (ms: number) => {
      now += ms;
    };
    const pacing = createSendPacing(
      {
        async reserve([ask]) {
          const { count = 0 } = ask ?? {};
          asked.push(count);
          next = Math.max(next, now + first_in);
          const slots = Array.from({ length: Math.min(count, most) }, (_, i) => next + i * INTERVAL);
          next += slots.length * INTERVAL;
          return [{ slots, waits: Array.from({ length: count - slots.length }, () => now + 1_000) }];
        },
        exceeded: async () => {},
      },
      { clock: () => new Date(now), pause: async (ms) => wait(ms) },
    );
    return { pacing, asked, wait, now: () => now - NOW };
  }

  it('serves both, each from the first of its slots on', async () => {
    const { pacing, asked, now } = plentiful();
    expect(await pacing.reserve(50, 50)).toEqual({ granted: 50 });
    expect(now()).toBe(0);
    expect(await pacing.reserve(50, 50)).toEqual({ granted: 50 });
    expect(now()).toBe(100);
    expect(await pacing.reserve(50, 20)).toEqual({ granted: 50 });
    expect(asked).toEqual([100, 70]);
  });

  it('is completed when the next call has more recipients', async () => {
    const { pacing, asked } = plentiful();
    await pacing.reserve(50, 10);
    expect(await pacing.reserve(30, 0)).toEqual({ granted: 30 });
    expect(asked).toEqual([60, 20]);
  });

  it('gives up slots that are too late, and each call reserves for itself for a minute', async () => {
    const { pacing, asked, wait } = plentiful();
    await pacing.reserve(50, 50);
    // The slots end 200 ms after the first one; those that are up to 300 ms late are used.
    wait(450);
    expect(await pacing.reserve(50, 50)).toEqual({ granted: 50 });
    expect(await pacing.reserve(50, 50)).toEqual({ granted: 50 });
    expect(asked).toEqual([100, 25, 50]);
    wait(60_000);
    await pacing.reserve(50, 50);
    expect(asked.at(-1)).toBe(100);
  });

  it.each([
    ['the rate is short', { most: 70 }],
    ['others are before it', { first_in: 400 }],
  ])('is not made again where %s', async (_, budget) => {
    const { pacing, asked } = plentiful(budget);
    await pacing.reserve(50, 50);
    await pacing.reserve(50, 50);
    await pacing.reserve(50, 50);
    expect(asked[0]).toBe(100);
    expect(Math.max(...asked.slice(1))).toBeLessThanOrEqual(50);
  });

  it('is given up when the provider refuses a call', async () => {
    const { pacing, asked } = plentiful();
    await pacing.reserve(50, 50);
    await pacing.refused('throttled');
    await pacing.reserve(50, 50);
    expect(asked).toEqual([100, 100]);
  });
});

describe('a test mail on a slow account', () => {
  async function slow(per_second: number) {
    const world = await JobWorld.of();
    const { clock, pause } = world.deps();
    const policy = { ...DEFAULT_PACING_POLICY, fallback_per_second: per_second };
    let counted = 0;
    const deps = {
      ...world.deps(),
      pacing: createSendPacing(pacerAt(clock, { policy, workers: 1 }), { clock, pause }),
      newsletters: { senders: async () => [], sendersAt: async () => [] },
      countTests: async (_: string, __: number, mails: number) => (counted += mails),
    };
    const begun = clock().getTime();
    const send = async (mails: number) => {
      const to = Array.from({ length: mails }, (_, i) => `reader${i}@example.com`);
      return sendTestMail({ email: await world.email(), content: emailContent(), to }, deps);
    };
    return { world, deps, send, counted: () => counted, passed: () => clock().getTime() - begun };
  }

  it('waits for its turns in the sandbox of SES, ten addresses less than an answer may take', async () => {
    const { world, send, counted, passed } = await slow(1);
    const results = await send(10);
    expect(results.filter(({ accepted }) => accepted)).toHaveLength(10);
    expect(passed()).toBeGreaterThan(8_000);
    expect(passed() + (world.calls[0]?.timeout_ms ?? Infinity)).toBeLessThanOrEqual(14_000);
    expect(counted()).toBe(10);
  });

  it('that would wait too long is refused at once, and takes nothing of the cap', async () => {
    const { world, send, counted, passed } = await slow(0.01);
    for (let i = 0; i < 12; i++) {
      await expect(send(10)).rejects.toMatchObject({ message: expect.stringContaining('other mail') });
    }
    expect([world.calls.length, counted(), passed()]).toEqual([0, 0, 0]);
  });

  it('takes nothing of the cap either when it fails before it is sent', async () => {
    const { deps, send, counted } = await slow(14);
    Object.assign(deps, { renderings: { of: () => Promise.reject(new Error('no memory')) } });
    await expect(send(3)).rejects.toThrow('no memory');
    expect(counted()).toBe(0);
  });
});
