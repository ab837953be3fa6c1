import { describe, expect, it } from 'vitest';
import { createOperationStore } from '../../src/adapters/dynamodb/console/operation-store.ts';
import { NOTHING, type Operation, type OperationStore } from '../../src/core/operator/operations/operation.ts';
import { createMemoryOperations } from '../../tools/simulation/twins/row-stores.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

let serial = 0;
const fresh = (more: Partial<Operation> = {}): Operation => ({
  operation_id: `op-${String(++serial).padStart(8, '0')}`,
  version: 0,
  kind: 'redrive',
  status: 'previewing',
  filter: { tenant_id: 'T', created: { from: 'a', to: 'b' } },
  asked: { tenant: 'T' },
  rate: 0.5,
  include_stopped: false,
  cut_off: '2026-03-01T10:00:00.000Z',
  created_by: 'mori',
  created_at: '2026-03-01T10:00:00.000Z',
  checkpoint: { source: 'dead' },
  sample: [],
  progress: NOTHING,
  ...more,
});

function suite(store: () => OperationStore): void {
  it('keeps an operation as it was made', async () => {
    const made = await store().create(fresh());
    expect(made).toEqual({ ...fresh(), operation_id: made.operation_id, version: 1 });
    expect(await store().read(made.operation_id)).toEqual(made);
    expect(await store().read('op-nobody')).toBeUndefined();
  });

  it('makes an operation once per id: who comes second gets what the first one made', async () => {
    const first = await store().create(fresh());
    expect(await store().create({ ...first, version: 0, created_by: 'sato', rate: 7 })).toEqual(first);
    expect(await store().read(first.operation_id)).toEqual(first);
  });

  it('is changed by its version: one of many at the same time wins', async () => {
    const made = await store().create(fresh());
    const changes = [1, 2, 3, 4].map((rate) => store().change(made, { set: { rate } }));
    const won = (await Promise.all(changes)).filter((changed) => changed !== undefined);
    expect(won).toHaveLength(1);
    expect(await store().read(made.operation_id)).toEqual({ ...won[0], version: 2 });
    expect(await store().change(made, { set: { rate: 9 } })).toBeUndefined();
  });

  it('sets and removes, whole pages too', async () => {
    const made = await store().create(fresh());
    const page = {
      log_ids: ['NL1'],
      matched: 2,
      excluded: { deleted: 1 },
      next: { source: 'created', after: { a: 'b' } },
    } as const;
    const claimed = await store().change(made, { set: { page, claim_id: 'c', wanted: 'pause' } });
    expect(claimed).toMatchObject({ page, claim_id: 'c', wanted: 'pause', version: 2 });
    if (claimed === undefined) return;
    const left = await store().change(claimed, { set: { status: 'paused' }, remove: ['page', 'claim_id', 'wanted'] });
    expect(left).toEqual({ ...made, status: 'paused', version: 3 });
    expect(await store().read(made.operation_id)).toEqual(left);
  });

  it('lists newest first, in pages', async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift((await store().create(fresh())).operation_id);
    const first = await store().list({ limit: 2 });
    expect(first.map(({ operation_id }) => operation_id)).toEqual(made.slice(0, 2));
    const next = await store().list({ limit: 3, before: made[1] ?? '' });
    expect(next.map(({ operation_id }) => operation_id)).toEqual(made.slice(2));
  });
}

describe('operations in memory', () => {
  const store = createMemoryOperations();
  suite(() => store);
});

describeOnDynamoDb('operations', ({ client, tables }) => createOperationStore(client, tables.pipeline_state), suite);
