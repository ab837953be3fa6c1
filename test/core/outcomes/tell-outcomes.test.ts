import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Outcome } from '../../../src/core/outcomes/outcome.ts';
import { MAX_ENTRIES, type ToTell, tellOutcomes } from '../../../src/core/outcomes/tell-outcomes.ts';

const outcome = (event_id: string): Outcome => ({
  kind: 'Notification Delivered',
  detail: { version: 1, event_id, at: '2026-03-01T10:30:00.000Z' },
});

class Died extends Error {}

/**
 * What becomes of a stream whose function is killed and whose bus refuses. Time is the bus's calls: each of `answers`
 * is one, and after them the bus takes everything.
 */
async function read(
  stream: readonly ToTell[],
  answers: readonly ('takes' | 'refuses' | 'refuses some' | 'breaks' | 'dies before' | 'dies after')[],
) {
  const taken: string[] = [];
  const left = [...answers];
  const bus = {
    put: async (outcomes: readonly Outcome[]) => {
      expect(outcomes.length).toBeLessThanOrEqual(MAX_ENTRIES);
      const answer = left.shift() ?? 'takes';
      if (answer === 'dies before') throw new Died();
      if (answer === 'breaks') throw new Error('no answer');
      const has = outcomes.map(
        (_, i) => answer === 'takes' || answer === 'dies after' || (answer === 'refuses some' && i % 2 === 0),
      );
      for (const [i, { detail }] of outcomes.entries()) if (has[i]) taken.push(detail.event_id);
      if (answer === 'dies after') throw new Died();
      return has;
    },
  };
  let kill = () => {};
  const dying = {
    put: (outcomes: readonly Outcome[]) =>
      bus.put(outcomes).catch((error) => {
        if (!(error instanceof Died)) throw error;
        kill();
        // A dead function sees no answer, and reports nothing.
        return new Promise<never>(() => {});
      }),
  };
  let rounds = 0;
  for (let from = 0; from < stream.length; rounds++) {
    const death = new Promise<{ failed: string }>((resolve) => {
      kill = () => resolve({ failed: stream[from]?.sequence ?? '' });
    });
    const { failed } = await Promise.race([
      death,
      tellOutcomes(stream.slice(from), { bus: dying, pause: async () => {} }),
    ]);
    from = failed === undefined ? stream.length : stream.findIndex(({ sequence }) => sequence === failed);
    expect(from).toBeGreaterThanOrEqual(0);
  }
  return { taken, rounds };
}

const streams = fc
  .array(fc.record({ subject: fc.integer({ min: 0, max: 4 }), outcomes: fc.integer({ min: 0, max: 3 }) }), {
    maxLength: 60,
  })
  .map((changes) =>
    changes.map(({ subject, outcomes }, i) => ({
      sequence: String(i),
      subject: String(subject),
      outcomes: Array.from({ length: outcomes }, (_, n) => outcome(`${subject}/${i}/${n}`)),
    })),
  );
const answers = fc.array(
  fc.constantFrom('takes', 'refuses', 'refuses some', 'breaks', 'dies before', 'dies after' as const),
  { maxLength: 40 },
);

it('every outcome reaches the bus, and first comes in the order of its subject, whatever the bus and the function do', async () => {
  let retold = 0;
  await fc.assert(
    fc.asyncProperty(streams, answers, async (stream, given) => {
      const { taken, rounds } = await read(stream, given);
      if (rounds > 1) retold += 1;
      const all = stream.flatMap(({ outcomes }) => outcomes.map(({ detail }) => detail.event_id));
      const firsts = [...new Set(taken)];
      expect(new Set(firsts)).toEqual(new Set(all));
      for (const subject of ['0', '1', '2', '3', '4']) {
        const of = (ids: readonly string[]) => ids.filter((one) => one.startsWith(`${subject}/`));
        expect(of(firsts)).toEqual(of(all));
      }
    }),
    { numRuns: 200 },
  );
  expect(retold).toBeGreaterThan(20);
});

it('a bus that takes everything is asked once for ten outcomes', async () => {
  const stream = Array.from({ length: 95 }, (_, i) => ({
    sequence: String(i),
    subject: String(i),
    outcomes: [outcome(String(i))],
  }));
  let calls = 0;
  const put = async (outcomes: readonly Outcome[]) => {
    calls += 1;
    return outcomes.map(() => true);
  };
  expect(await tellOutcomes(stream, { bus: { put }, pause: async () => {} })).toEqual({ told: 95 });
  expect(calls).toBe(10);
});
