import { describe, expect, it } from 'vitest';
import { createDataKeyStore, type DataKeyStore } from '../../src/adapters/sealing/data-keys.ts';
import { createMemoryDataKeys } from '../../tools/simulation/twins/pipeline-state.ts';
import { T0 } from '../support/rows.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

const bytes = (...values: number[]) => Uint8Array.from(values);
const named = (tenant_id: string, month = '2026-11') =>
  ({ tenant_id, purpose: 'recipient', key_id: `recipient#${month}` }) as const;
let tenants = 0;
const freshTenant = () => `T${++tenants}`;

/** What every DataKeyStore must do. */
function dataKeySuite(store: () => DataKeyStore): void {
  it('returns a key to its tenant and month only', async () => {
    const tenant = freshTenant();
    expect(await store().add(named(tenant), bytes(1, 2), T0)).toBeUndefined();
    expect([...((await store().find(tenant, 'recipient#2026-11')) ?? [])]).toEqual([1, 2]);
    expect(await store().find(tenant, 'recipient#2026-10')).toBeUndefined();
    expect(await store().find(freshTenant(), 'recipient#2026-11')).toBeUndefined();
  });

  it('never replaces a key, and gives the one that was first to whoever comes later', async () => {
    const tenant = freshTenant();
    await store().add(named(tenant), bytes(1), T0);
    expect([...((await store().add(named(tenant), bytes(2), T0)) ?? [])]).toEqual([1]);
    expect([...((await store().find(tenant, 'recipient#2026-11')) ?? [])]).toEqual([1]);
    expect(await store().add(named(tenant, '2026-12'), bytes(2), T0)).toBeUndefined();
  });

  it('lets one of many win that add a key at the same moment', async () => {
    const tenant = freshTenant();
    const adding = [1, 2, 3, 4, 5].map(async (value) => {
      const first = await store().add(named(tenant), bytes(value), T0);
      return first === undefined ? value : [...first][0];
    });
    expect(new Set(await Promise.all(adding)).size).toBe(1);
  });
}

describe('data keys in memory', () => {
  const store = createMemoryDataKeys();
  dataKeySuite(() => store);
});

describeOnDynamoDb<DataKeyStore>(
  'data keys',
  ({ client, tables }) => createDataKeyStore(client, tables.data_keys),
  dataKeySuite,
);
