import { describe, expect, it } from 'vitest';
import { createBreakerStore } from '../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { MAX_WRITES, writeItems } from '../../src/adapters/dynamodb/table/writes.ts';
import { type Breaker, closed, draining, opened, reopened } from '../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY as POLICY } from '../../src/core/breaker/breaker-policy.ts';
import type { BreakerStore } from '../../src/core/breaker/shared-breakers.ts';
import { groupsOf } from '../../src/core/model/collections.ts';
import type { DownProviders } from '../../src/core/monitor/dead-providers.ts';
import { MemoryBreakers } from '../../tools/simulation/twins/pipeline-state.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

const NOW = new Date();
let serial = 0;
const AT = { now: NOW, policy: POLICY };
const fresh = () => opened({ id: `webhook#IC${++serial}`, error_type: 'SERVER_OVERLOAD' }, undefined, AT);

interface BreakersUnderTest {
  readonly store: BreakerStore & DownProviders;
  /** Puts breakers of 4 KB. */
  fill(breakers: readonly Breaker[]): Promise<void>;
}

function suite(created: () => BreakersUnderTest): void {
  const store = () => created().store;
  const find = async ({ id }: Breaker) => (await store().list()).find((breaker) => breaker.id === id);

  it('keeps a breaker as it was written', async () => {
    const breaker = fresh();
    expect(await store().write(breaker)).toBe(true);
    expect(await find(breaker)).toEqual(breaker);
    expect(await store().first(100)).toEqual({ breakers: [breaker], all: true });
    const back = draining(breaker, AT);
    expect(await store().write(back)).toBe(true);
    expect(await find(breaker)).toEqual(back);
    const again = reopened(back, 'NETWORK_TIMEOUT', AT);
    expect(await store().write(again)).toBe(true);
    expect(await find(breaker)).toEqual(again);
  });

  it('keeps what was noted of an outage, whoever makes the next transition from an earlier view', async () => {
    const breaker = fresh();
    await store().write(breaker);
    const noted = { since: breaker.since, days: 1, waiting: 3 };
    await store().note(breaker.id, noted);
    await store().write(reopened({ ...breaker, noted: { ...noted, days: 0 } }, 'UNKNOWN', AT));
    expect((await find(breaker))?.noted).toEqual(noted);
    await store().note('webhook#nobody', noted);
    expect((await store().list()).map(({ id }) => id)).not.toContain('webhook#nobody');
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

  it('finds each of more breakers than fit into one page, and says when the first ones are not all', async () => {
    // More than 1 MB: DynamoDB answers with less than asked for.
    const many = Array.from({ length: 300 }, (_, i) => ({ ...fresh(), id: `email#${String(i).padStart(3, '0')}` }));
    await created().fill(many);
    const last = fresh();
    await store().write(last);
    const first = await store().first(100);
    expect(first).toMatchObject({ all: false });
    expect(first.breakers).toHaveLength(100);
    const listed = new Set((await store().list()).map(({ id }) => id));
    expect([...many, last].filter(({ id }) => !listed.has(id))).toEqual([]);
    for (const newest of [true, false]) {
      const read = [last.id, 'slack#none', many[299]?.id ?? ''].map((id) => store().read(id, { newest }));
      expect(await Promise.all(read)).toEqual([last, undefined, expect.objectContaining(many[299] ?? {})]);
    }
  });

  it('gives no slot of an unknown breaker', async () => {
    expect(await store().takeSlot('slack#none', 'express')).toBeUndefined();
  });
}

describe('breakers in memory', () => {
  const memory = new MemoryBreakers();
  const fill: BreakersUnderTest['fill'] = async (breakers) => {
    for (const breaker of breakers) memory.breakers.set(breaker.id, breaker);
  };
  suite(() => ({ store: memory.store, fill }));
});

describeOnDynamoDb<BreakersUnderTest>(
  'breakers',
  ({ client, tables: { pipeline_state: table } }) => ({
    store: createBreakerStore(client, table, () => new Date()),
    async fill(breakers) {
      const items = breakers.map(({ lines, ...rest }) =>
        toItem({
          ...rest,
          kind: 'breaker',
          expires_at: NOW.getTime() / 1000 + 60,
          padding: 'x'.repeat(4_000),
          express_from: lines.express.from,
          standard_from: lines.standard.from,
        }),
      );
      const puts = items.map((Item) => ({ PutRequest: { Item } }));
      for (const some of groupsOf(puts, MAX_WRITES)) await writeItems(client, table, some);
    },
  }),
  suite,
);
