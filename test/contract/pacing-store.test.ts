import { describe, expect, it } from 'vitest';
import { createPacingStore } from '../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { type BudgetReader, MOST_STEPS, type PacingStore } from '../../src/core/pacing/registers.ts';
import { MemoryPacing } from '../../tools/simulation/twins/pipeline-state.ts';
import { receiversAt, slotsOf } from '../support/pacing.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

let serial = 0;
const fresh = () => `channel-${++serial}`;

function suite(store: () => PacingStore & BudgetReader): void {
  it('sets, adds to and removes registers, and gives them back as they are then', async () => {
    const channel = fresh();
    expect(await store().read(channel)).toEqual({});
    const first = await store().change(channel, [
      { name: 'next:C1', set: 1_795_317_498_123.25 },
      { name: 'hour:1', add: 3, base: 0 },
      { name: 'enforcement', set: 'HEALTHY' },
    ]);
    expect(first).toEqual({
      applied: true,
      registers: { 'next:C1': 1_795_317_498_123.25, 'hour:1': 3, enforcement: 'HEALTHY' },
    });
    const second = await store().change(channel, [
      { name: 'hour:1', add: 4, base: 100 },
      { name: 'enforcement', remove: true },
    ]);
    expect(second.registers).toEqual({ 'next:C1': 1_795_317_498_123.25, 'hour:1': 7 });
    expect(await store().read(channel)).toEqual(second.registers);
  });

  it('changes nothing when one guard fails, and gives the registers as they are', async () => {
    const channel = fresh();
    await store().change(channel, [{ name: 'a', set: 5 }]);
    const refused = [
      [
        { name: 'b', set: 1 },
        { name: 'a', set: 9, guard: { at_most: 4 } },
      ],
      [{ name: 'a', set: 9, guard: { at_least: 6, at_most: 9 } }],
      [{ name: 'c', set: 9, guard: { at_most: 9 } }],
      [{ name: 'a', remove: true, guard: { at_least: 6 } }],
    ] as const;
    for (const steps of refused) {
      expect(await store().change(channel, steps)).toEqual({ applied: false, registers: { a: 5 } });
    }
    const taken = await store().change(channel, [
      { name: 'a', add: 1, base: 0, guard: { at_least: 5, at_most: 5 } },
      { name: 'c', set: 2, guard: { at_most: 0, or_absent: true } },
    ]);
    expect(taken).toEqual({ applied: true, registers: { a: 6, c: 2 } });
  });

  it('takes a reservation at once that nobody disturbs, although slots are fractions of a millisecond apart', async () => {
    // DynamoDB adds decimals exactly; what is read is the nearest floating-point number, which may be above the sum.
    let refused = 0;
    const { read, change } = store();
    const counting: PacingStore = {
      read,
      change: async (channel, steps) => {
        const answer = await change(channel, steps);
        if (!answer.applied) refused += 1;
        return answer;
      },
    };
    const now = new Date(1_795_362_475_000);
    const worker = receiversAt(() => now, { store: counting, channel: 'slack' });
    const ask = { key: fresh(), per_second: 490, lane: 'express' } as const;
    for (let i = 0; i < 40; i++) {
      const answers = await worker.reserve([{ ...ask }, { ...ask }, { ...ask }]);
      expect(answers.flatMap(slotsOf)).toHaveLength(3);
    }
    expect(refused).toBe(0);
  });

  it('takes the longest change, and refuses one whose expressions DynamoDB would not take', async () => {
    const steps = Array.from({ length: MOST_STEPS }, (_, i) => ({
      name: `hour:${490_000 + i}`,
      add: 1_234_567.25,
      base: 1_795_317_498_123.25,
      guard: { at_least: 1, at_most: 2, or_absent: true } as const,
    }));
    const id = fresh();
    expect(Object.keys((await store().change(id, steps)).registers)).toHaveLength(MOST_STEPS);
    await expect(store().change(id, [...steps, { name: 'one more', set: 1 }])).rejects.toThrow(/steps/);
  });

  it('lists the receivers of a channel, and no other', async () => {
    const channel = fresh();
    for (const id of [channel, `${channel}#a`, `${channel}#b`, `${channel}0#c`])
      await store().change(id, [{ name: 'express', set: id.length }]);
    expect((await store().receivers(channel)).map(({ express }) => express)).toEqual(Array(2).fill(channel.length + 2));
  });

  it('gives each slot once, however many workers ask at the same moment', async () => {
    const now = new Date();
    const workers = Array.from({ length: 6 }, () => receiversAt(() => now, { store: store() }));
    const ask = { key: fresh(), per_second: 4, lane: 'express' } as const;
    const answers = await Promise.all(workers.map((worker) => worker.reserve([{ ...ask }, { ...ask }])));
    const slots = answers
      .flat()
      .flatMap(slotsOf)
      .sort((a, b) => a - b);
    expect(slots.length).toBeGreaterThan(0);
    for (let i = 1; i < slots.length; i++) expect((slots[i] ?? 0) - (slots[i - 1] ?? 0)).toBeCloseTo(250 / 0.98, 1);
  });
}

describe('budgets in memory', () => {
  const { store } = new MemoryPacing();
  suite(() => store);
});

describeOnDynamoDb('budgets', ({ client, tables }) => createPacingStore(client, tables.pipeline_state), suite);
