import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import type { Pacer } from '../../../src/core/pacing/pacer.ts';
import { DEFAULT_PACING_POLICY, type PacingPolicy, USES, type Use } from '../../../src/core/pacing/pacing-policy.ts';
import { MemoryPacing } from '../../../tools/simulation/twins/pipeline-state.ts';
import { pacerAt } from '../../support/pacing.ts';

const START = Date.parse('2026-03-01T10:30:00.000Z');
const HEALTHY: AccountLimits = { per_second: 14, sent_24h: 0, sending: true, enforcement: 'HEALTHY', production: true };

/** A request of one worker: milliseconds after the previous one, and the error of its clock. */
const request = fc.record({
  after_ms: fc.integer({ min: 0, max: 400 }),
  worker: fc.nat({ max: 3 }),
  count: fc.integer({ min: 1, max: 50 }),
  use: fc.constantFrom(...USES),
  // What comes through a lane takes slots ahead, and no crumbs.
  of_lane: fc.boolean(),
});
const skews = fc.array(fc.integer({ min: -400, max: 400 }), { minLength: 4, maxLength: 4 });

async function slotsAfter(
  requests: readonly { after_ms: number; worker: number; count: number; use: Use; of_lane?: boolean }[],
  wrong: readonly number[],
  limits: AccountLimits,
  policy: PacingPolicy = DEFAULT_PACING_POLICY,
) {
  const memory = new MemoryPacing();
  let now = START;
  const workers: Pacer[] = wrong.map((skew) =>
    pacerAt(() => new Date(now + skew), { store: memory.store, policy, readLimits: async () => limits }),
  );
  const granted: { slot: number; sent_at: number; left_at: number; asked_at: number; use: Use }[] = [];
  for (const { after_ms, worker, count, use, of_lane } of requests) {
    now += after_ms;
    const [allowance] = (await workers[worker]?.reserve([{ count, use, ...(of_lane && { lane: 'standard' }) }])) ?? [];
    const skew = wrong[worker] ?? 0;
    for (const slot of allowance?.slots ?? []) {
      const sent_at = slot - skew;
      granted.push({ slot, sent_at, left_at: Math.max(sent_at, now), asked_at: now + skew, use });
    }
    expect((allowance?.slots.length ?? 0) + (allowance?.waits.length ?? 0)).toBe(count);
    for (const wait of allowance?.waits ?? []) expect(wait).toBeGreaterThan(now + (wrong[worker] ?? 0));
  }
  return { granted, memory };
}

describe('the budget of an account', () => {
  const spaced = (slots: readonly number[], interval: number) => {
    const sorted = [...slots].sort((a, b) => a - b);
    for (let i = 1; i < sorted.length; i++)
      expect((sorted[i] ?? 0) - (sorted[i - 1] ?? 0)).toBeGreaterThanOrEqual(interval - 0.01);
  };

  it('never has more slots in any stretch of time than the rate allows, whatever the order of requests', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 5, maxLength: 60 }),
        fc.constantFrom(1, 14, 500),
        async (requests, per_second) => {
          const { granted } = await slotsAfter(requests, [0, 0, 0, 0], { ...HEALTHY, per_second });
          const slots = granted.map(({ slot }) => slot);
          spaced(slots, 1000 / per_second);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('never lets more leave at once than a second allows, whatever workers have taken ahead', async () => {
    // Idle whiles in between, as those fill what is taken ahead; then all workers at once.
    const gap = fc.constantFrom(0, 0, 0, 50, 600, 3_000, 9_000);
    const one = fc.record({ after_ms: gap, worker: fc.nat({ max: 14 }), count: fc.integer({ min: 1, max: 9 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(one, { minLength: 5, maxLength: 60 }),
        fc.constantFrom(1, 14, 50, 200, 500),
        async (few, per_second) => {
          const all = few.map((ask) => ({ ...ask, use: 'standard' as const, of_lane: true }));
          // Each worker once before, one after the other, so that each has what the budget keeps; then all of it.
          const before = Array.from({ length: 15 }, (_, worker) => ({
            worker,
            use: 'standard' as const,
            of_lane: true,
          }));
          const requests = [
            ...before.map((ask) => ({ ...ask, after_ms: 600, count: 1 })),
            ...all,
            ...before.map((ask) => ({ ...ask, after_ms: 550, count: 1 })),
            ...before.flatMap((ask) => Array.from({ length: 9 }, () => ({ ...ask, after_ms: 0, count: 1 }))),
          ];
          const { granted } = await slotsAfter(requests, Array<number>(15).fill(0), { ...HEALTHY, per_second });
          const times = granted.map(({ left_at }) => left_at).sort((a, b) => a - b);
          // As a bucket of one second, from which each takes one: by how much it was exceeded at most.
          const [exceeded] = times.reduce(
            ([most, used, last], at) => {
              const taken = Math.max(0, used - ((at - last) * per_second) / 1_000) + 1;
              return [Math.max(most, taken - per_second), taken, at] as const;
            },
            [0, 0, 0] as readonly [number, number, number],
          );
          expect(exceeded).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('nor where clocks are wrong, once all workers know of the one that is furthest ahead', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 5, maxLength: 60 }),
        skews,
        fc.constantFrom(1, 14, 500),
        async (requests, wrong, per_second) => {
          const known = wrong.indexOf(Math.max(...wrong));
          const first = [known, 0, 1, 2, 3].map(
            (worker) => ({ after_ms: 0, worker, count: 1, use: 'express' }) as const,
          );
          const { granted } = await slotsAfter([...first, ...requests], wrong, { ...HEALTHY, per_second });
          spaced(
            granted.map(({ sent_at }) => sent_at),
            1000 / per_second,
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it('gives each use slots within its share of the next second only, so that express always finds a near one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 5, maxLength: 60 }), async (requests) => {
        const { granted } = await slotsAfter(requests, [0, 0, 0, 0], { ...HEALTHY, per_second: 100 });
        const share = { express: 1, standard: 0.9, info: 0.8, newsletter: 0.7 };
        // Milliseconds since 1970 are exact to a quarter of a microsecond.
        for (const { slot, asked_at, use } of granted) {
          expect(slot - asked_at).toBeLessThanOrEqual(1000 * share[use] + 0.001);
        }
        expect(granted.length).toBeGreaterThan(0);
      }),
      { numRuns: 50 },
    );
  });

  it('never exceeds the daily quota, and stops newsletters first, then info, then normal', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 20, maxLength: 80 }), async (requests) => {
        const max_24h = 200;
        const { granted } = await slotsAfter(requests, [0, 0, 0, 0], { ...HEALTHY, per_second: 10, max_24h });
        expect(granted.length).toBeLessThanOrEqual(max_24h);
        let taken = 0;
        const most = { express: 180, standard: 162, info: 144, newsletter: 126 };
        for (const { use } of granted) expect(++taken, use).toBeLessThanOrEqual(most[use]);
      }),
      { numRuns: 50 },
    );
  });
});
