import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BreakerGate } from '../../../src/core/breaker/breaker-gate.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../src/core/breaker/breaker-policy.ts';
import type { SendResult } from '../../../src/core/delivery/ports.ts';
import { heldVerdict } from '../../../src/core/delivery/verdict.ts';
import { PRIORITIES } from '../../../src/core/model/channels.ts';
import { DEFAULT_RETRY_POLICY, PRIORITY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { VirtualTime } from '../../../tools/simulation/engine/virtual-time.ts';
import { MemoryBreakers } from '../../../tools/simulation/twins/pipeline-state.ts';
import { dueRow, T0 } from '../../support/rows.ts';

const SECOND = 1_000;
const DRAIN_PER_SECOND = 2;
/** Greatest age of a worker's knowledge of the other workers' transitions. */
const KNOWLEDGE_MS = 5 * SECOND;

interface Scene {
  readonly workers: number;
  readonly notifications: readonly { readonly at: number; readonly urgent: boolean }[];
  /** Milliseconds from the start. */
  readonly outage: { readonly from: number; readonly to: number };
  readonly answer_ms: number;
  /** Number of workers that die in their probe. */
  readonly mortal: number;
}

const scene: fc.Arbitrary<Scene> = fc.record({
  workers: fc.integer({ min: 1, max: 4 }),
  notifications: fc.array(fc.record({ at: fc.nat({ max: 200 * SECOND }), urgent: fc.boolean() }), {
    minLength: 10,
    maxLength: 60,
  }),
  outage: fc
    .record({ from: fc.nat({ max: 100 * SECOND }), length: fc.nat({ max: 600 * SECOND }) })
    .map(({ from, length }) => ({ from, to: from + length })),
  answer_ms: fc.integer({ min: 1, max: 20 * SECOND }),
  mortal: fc.nat({ max: 3 }),
});

/** Workers, a provider that is down for a while, and notifications that are held until they are delivered. */
async function play({ workers, notifications, outage, answer_ms, mortal }: Scene) {
  const time = new VirtualTime(T0);
  const { breakers, store } = new MemoryBreakers();
  const openSince = () => {
    const [breaker] = breakers.values();
    return breaker?.state === 'open' ? breaker : undefined;
  };
  let openedAt = Number.POSITIVE_INFINITY;
  const policy = {
    ...DEFAULT_BREAKER_POLICY,
    min_samples: 3,
    drain_per_second: DRAIN_PER_SECOND,
    most_per_second: DRAIN_PER_SECOND,
  };
  const gates = Array.from(
    { length: workers },
    () => new BreakerGate({ store, policy, clock: time.clock, pause: time.pause, probe_ms: 25 * SECOND }),
  );
  const untils: Record<'express' | 'standard', number[]> = { express: [], standard: [] };
  const seen = { delivered: 0, held: 0, probes: 0, together: 0, deaths: 0 };
  let probing = 0;
  const elapsed = () => time.clock().getTime() - T0.getTime();

  const live = async (index: number, at: number, urgent: boolean): Promise<void> => {
    const row = dueRow({ log_id: `n-${index}`, integration_config_id: 'IC', priority: urgent ? 'urgent' : 'info' });
    await time.pause(at);
    for (let attempt = 0; attempt < 500; attempt++) {
      const gate = gates[(index + attempt) % gates.length];
      const admission = await gate?.admit(row, false);
      if (admission === undefined) return;
      if (admission.do === 'hold') {
        seen.held += 1;
        untils[PRIORITY_POLICY[row.priority].lane].push(Date.parse(admission.until));
        // As SQS delays: by whole seconds, never too early.
        await time.pause(
          Math.max(1, Math.ceil((Date.parse(admission.until) - time.clock().getTime()) / SECOND)) * SECOND,
        );
        continue;
      }
      const breaker = openSince();
      openedAt = breaker === undefined ? Number.POSITIVE_INFINITY : Math.min(openedAt, time.clock().getTime());
      // A worker that cannot know yet that the breaker is open makes no probe.
      const probe = breaker !== undefined && time.clock().getTime() - openedAt > KNOWLEDGE_MS;
      if (probe) {
        seen.probes += 1;
        probing += 1;
        if (probing > 1) seen.together += 1;
      }
      const dies = probe && seen.deaths < mortal;
      if (dies) seen.deaths += 1;
      await time.pause(dies ? 25 * SECOND : answer_ms);
      if (probe) probing -= 1;
      if (dies) continue;
      const down = elapsed() >= outage.from && elapsed() < outage.to;
      const result: SendResult = down
        ? { ok: false, error_type: 'SERVER_OVERLOAD', response_code: '503', message: 'down' }
        : { ok: true, response_code: '200' };
      await admission.report(result);
      if (result.ok) {
        seen.delivered += 1;
        return;
      }
      await time.pause(60 * SECOND);
    }
  };
  await time.run(Promise.all(notifications.map(({ at, urgent }, index) => live(index, at, urgent))));
  return { seen, untils };
}

describe('breakers of several workers on one provider', () => {
  it('never make two probes at once, let go no more than the rate allows, and lose nothing', async () => {
    const totals = { held: 0, probes: 0, deaths: 0 };
    await fc.assert(
      fc.asyncProperty(scene, async (given) => {
        const { seen, untils } = await play(given);
        expect(seen.delivered).toBe(given.notifications.length);
        expect(seen.together, 'probes at once').toBe(0);
        for (const times of Object.values(untils)) {
          const gaps = times.sort((a, b) => a - b).map((time, i) => time - (times[i - 1] ?? Number.NEGATIVE_INFINITY));
          expect(Math.min(...gaps, SECOND), 'gap between two that are let go').toBeGreaterThanOrEqual(
            SECOND / DRAIN_PER_SECOND - 1,
          );
        }
        totals.held += seen.held;
        totals.probes += seen.probes;
        totals.deaths += seen.deaths;
      }),
      { numRuns: 100 },
    );
    for (const [what, count] of Object.entries(totals)) expect(count, what).toBeGreaterThan(0);
  }, 60_000);
});

it('a held attempt is retried uncounted before its deadline, or given up as EXPIRED', () => {
  const ends = new Set<string>();
  fc.assert(
    fc.property(fc.constantFrom(...PRIORITIES), fc.nat({ max: 30 * 3600 * SECOND }), (priority, wait) => {
      const until = new Date(T0.getTime() + wait).toISOString();
      const attempt = { row: dueRow({ priority }), first_attempt_at: T0.toISOString(), now: T0 };
      const verdict = heldVerdict({ until, error_type: 'NETWORK_TIMEOUT' }, attempt, DEFAULT_RETRY_POLICY);
      const inTime = wait <= PRIORITY_POLICY[priority].retention_ms;
      ends.add(verdict.status);
      expect(verdict).toMatchObject(
        inTime
          ? { status: 'RETRY', next_retry_at: until, counted: false }
          : { status: 'FAILED', failure_reason: 'EXPIRED', dead_letter: true },
      );
    }),
  );
  expect(ends).toEqual(new Set(['RETRY', 'FAILED']));
});
