import { describe, expect, it } from 'vitest';
import { createWarmingStore } from '../../src/adapters/dynamodb/newsletter/warming-store.ts';
import type { DomainWarming, WarmingStore } from '../../src/core/newsletter/warming/domain-warming.ts';
import { createMemoryWarming } from '../../tools/simulation/twins/newsletter-items.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

let serial = 0;
const fresh = (): DomainWarming => ({
  domain: `domain-${++serial}.example.com`,
  version: 0,
  day: '2026-03-01',
  step: 0,
  reserved: {},
  bounced: 0,
  complained: 0,
});

function suite(store: () => WarmingStore): void {
  it('keeps what was written, once per version', async () => {
    const first = { ...fresh(), reserved: { 'email-1': 200 } };
    expect(await store().read(first.domain)).toBeUndefined();
    expect(await store().write(first)).toBe(true);
    expect(await store().read(first.domain)).toEqual({ ...first, version: 1 });
    expect(await store().write({ ...first, step: 9 })).toBe(false);
    expect(await store().write({ ...first, version: 1, step: 1 })).toBe(true);
    expect(await store().read(first.domain)).toEqual({ ...first, version: 2, step: 1 });
  });

  it('lets one of many simultaneous first writes win', async () => {
    const first = fresh();
    const won = await Promise.all([1, 2, 3, 4].map((step) => store().write({ ...first, step })));
    expect(won.filter(Boolean)).toHaveLength(1);
  });
}

describe('warming in memory', () => {
  const store = createMemoryWarming();
  suite(() => store);
});

describeOnDynamoDb(
  'warming',
  ({ client, tables }) => createWarmingStore(client, tables.pipeline_state, () => new Date()),
  suite,
);
