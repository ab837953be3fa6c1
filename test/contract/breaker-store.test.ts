import { describe, expect, it } from 'vitest';
import { createBreakerStore } from '../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { MemoryBreakers } from '../../src/adapters/memory/memory-breakers.ts';
import { type Breaker, closed, draining, opened, reopened } from '../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY as POLICY } from '../../src/core/breaker/breaker-policy.ts';
import type { BreakerStore } from '../../src/core/breaker/shared-breakers.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

const NOW = new Date();
let serial = 0;
const AT = { now: NOW, policy: POLICY };
const fresh = () => opened({ id: `webhook#IC${++serial}`, error_type: 'SERVER_OVERLOAD' }, undefined, AT);

function suite(store: () => BreakerStore): void {
  const find = async ({ id }: Breaker) => (await store().list()).find((breaker) => breaker.id === id);

  it('keeps a breaker as it was written', async () => {
    const breaker = fresh();
    expect(await store().write(breaker)).toBe(true);
    expect(await find(breaker)).toEqual(breaker);
    const back = draining(breaker, AT);
    expect(await store().write(back)).toBe(true);
    expect(await find(breaker)).toEqual(back);
    const again = reopened(back, 'NETWORK_TIMEOUT', AT);
    expect(await store().write(again)).toBe(true);
    expect(await find(breaker)).toEqual(again);
  });

  it('lets one of many simultaneous transitions win', async () => {
    const breaker = fresh();
    const first = await Promise.all(Array.from({ length: 8 }, () => store().write(breaker)));
    expect(first.filter(Boolean)).toHaveLength(1);
    const next = await Promise.all(
      [closed(breaker), draining(breaker, AT), closed(breaker)].map((one) => store().write(one)),
    );
    expect(next.filter(Boolean)).toHaveLength(1);
    expect((await find(breaker))?.version).toBe(2);
  });

  it('gives each slot of a line once, whatever the breaker does meanwhile', async () => {
    const breaker = fresh();
    await store().write(breaker);
    const take = (lane: 'express' | 'standard', count: number) =>
      Promise.all(Array.from({ length: count }, () => store().takeSlot(breaker.id, lane)));
    const [some, others] = await Promise.all([take('standard', 7), take('express', 3)]);
    expect(await store().write(reopened(breaker, 'UNKNOWN', AT))).toBe(true);
    const more = await take('standard', 5);
    const slots = (taken: typeof some) => taken.map((one) => one?.slot ?? -1).sort((a, b) => a - b);
    expect(slots([...some, ...more])).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(slots(others)).toEqual([0, 1, 2]);
    expect(more.at(-1)?.breaker).toMatchObject({ version: 2, error_type: 'UNKNOWN' });
    expect((await find(breaker))?.lines).toMatchObject({ standard: { slots: 12 }, express: { slots: 3 } });
  });

  it('gives no slot of an unknown breaker', async () => {
    expect(await store().takeSlot('slack#none', 'express')).toBeUndefined();
  });
}

describe('breakers in memory', () => {
  const { store } = new MemoryBreakers();
  suite(() => store);
});

describeOnDynamoDb(
  'breakers',
  ({ client, tables }) => createBreakerStore(client, tables.pipeline_state, () => new Date()),
  suite,
);
