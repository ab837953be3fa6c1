import { expect, it } from 'vitest';
import { IMAGE_COLUMNS } from '../../src/adapters/dynamodb/table/guarded-columns.ts';
import { workQueueOf } from '../../src/core/model/work-index.ts';
import { T0 } from '../support/rows.ts';
import { fresh, type StoreUnderTest } from './store-under-test.ts';

/** What every IndexStore must do. `store` is called when a test runs. */
export function indexingSuite(store: () => StoreUnderTest): void {
  it('indexes a foreign row whose failure_reason is NULL, but none that was given up since its image', async () => {
    const image = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED', failure_reason: null };
    await store().put(image);
    expect(await store().indexStore.index(image, { work_queue: 'due#info#0', work_at: T0.toISOString() }, [])).toBe(
      true,
    );
    const given = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED' };
    await store().put({ ...given, failure_reason: 'EXPIRED' });
    expect(await store().indexStore.index(given, { work_queue: 'due#info#0' }, [])).toBe(false);
  });

  it('indexes a foreign row once, and only while it is like its image', async () => {
    const { log_id } = fresh();
    const image = { log_id, tenant_id: 't', send_status: 'FAILED', message_body: 'x', recipient_address: 'y' };
    await store().put(image);
    const set = { work_queue: workQueueOf('due', 'info', log_id), work_at: T0.toISOString() };
    expect(await store().indexStore.index({ ...image, message_body: 'changed since' }, set, [])).toBe(false);
    expect(await store().indexStore.index(image, set, ['message_body', 'recipient_address'])).toBe(true);
    expect(await store().indexStore.index(image, set, [])).toBe(false);
    expect(await store().get(log_id)).not.toHaveProperty('message_body');
  });

  it.each(IMAGE_COLUMNS)('does not index a foreign row whose %s has changed since its image', async (column) => {
    const image = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED', max_retry_count: 3 };
    const set = { work_queue: workQueueOf('due', 'info', image.log_id), work_at: T0.toISOString() };
    await store().put({ ...image, [column]: 'changed' });
    expect(await store().indexStore.index(image, set, [])).toBe(false);
    expect((await store().get(image.log_id))?.['work_queue']).not.toBe(set.work_queue);
  });
}
