import { expect, it } from 'vitest';
import { IMAGE_COLUMNS } from '../../src/core/indexing/row-rules.ts';
import { type PageCursor, workQueueOf } from '../../src/core/model/work-index.ts';
import { iso } from '../support/rows.ts';
import { fresh, type StoreUnderTest } from './store-under-test.ts';

/** What every IndexStore must do. `store` is called when a test runs. */
export function indexingSuite(store: () => StoreUnderTest): void {
  it('indexes a foreign row whose failure_reason is NULL, but none that was given up since its image', async () => {
    const image = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED', failure_reason: null };
    await store().put(image);
    expect(await store().indexStore.index(image, { work_queue: 'due#info#0', work_at: iso() }, [])).toBe(true);
    const given = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED' };
    await store().put({ ...given, failure_reason: 'EXPIRED' });
    expect(await store().indexStore.index(given, { work_queue: 'due#info#0' }, [])).toBe(false);
  });

  it('indexes a foreign row once, and only while it is like its image', async () => {
    const { log_id } = fresh();
    const image = { log_id, tenant_id: 't', send_status: 'FAILED', message_body: 'x', recipient_address: 'y' };
    await store().put(image);
    const set = { work_queue: workQueueOf('due', 'info', log_id), work_at: iso() };
    expect(await store().indexStore.index({ ...image, message_body: 'changed since' }, set, [])).toBe(false);
    expect(await store().indexStore.index(image, set, ['message_body', 'recipient_address'])).toBe(true);
    expect(await store().indexStore.index(image, set, [])).toBe(false);
    expect(await store().get(log_id)).toEqual({ log_id, tenant_id: 't', send_status: 'FAILED', ...set });
  });

  it.each([
    ['21 digits', '170000000000000000000001', '170000000000000000000002'],
    ['38 and 39 digits', '9'.repeat(38), `1${'0'.repeat(38)}`],
    ['39 and 40 digits', '9'.repeat(39), `1${'0'.repeat(39)}`],
    ['40 digits', `4${'0'.repeat(39)}`, `4${'0'.repeat(38)}1`],
  ])('keeps the content of the later image: %s', async (_, earlier, later) => {
    const { log_id } = fresh();
    const owner = { log_id, tenant_id: 't', expires_at: 4_000_000_000 };
    const put = (sequence: string) =>
      store().indexStore.putContent({ ...owner, sequence }, { recipient: 'r', body: sequence, format: 'PLAIN' });
    await store().put({ log_id, tenant_id: 't', send_status: 'FAILED', message_body: 'x' });
    for (const sequence of [earlier, later, earlier]) await put(sequence);
    expect(await store().contents.read({ log_id, tenant_id: 't' } as never)).toMatchObject({ body: later });
    expect((await store().scan.read(log_id))?.sequence).toBe(later);
  });

  it('begins no other life by an image of a row that another image with the same content has taken in', async () => {
    const { indexStore, put, contents } = store();
    const { log_id } = fresh();
    const image = { log_id, tenant_id: 't', send_status: 'FAILED', message_body: 'x', recipient_address: 'y' };
    const owner = { log_id, tenant_id: 't', expires_at: 4_000_000_000 };
    const content = (sequence: string) =>
      indexStore.putContent({ ...owner, sequence }, { recipient: 'y', body: sequence, format: 'PLAIN' });
    await put(image);
    expect(await content('1')).not.toHaveProperty('life');
    const { life } = (await content('2')) ?? {};
    expect(life).toBeTypeOf('number');
    expect(await indexStore.index(image, { work_at: iso(), life }, ['message_body', 'recipient_address'])).toBe(true);
    expect(await content('3')).toBeUndefined();
    expect(await contents.read(owner as never)).toMatchObject({ body: '2' });
  });

  it.each(IMAGE_COLUMNS)('does not index a foreign row whose %s has changed since its image', async (column) => {
    const image = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED', max_retry_count: 3 };
    const set = { work_queue: workQueueOf('due', 'info', image.log_id), work_at: iso() };
    await store().put({ ...image, [column]: 'changed' });
    expect(await store().indexStore.index(image, set, [])).toBe(false);
    expect((await store().get(image.log_id))?.['work_queue']).not.toBe(set.work_queue);
  });

  it('finds every row that was never taken in by a scan, page by page, and leaves out what is ours', async () => {
    const { indexStore, put, scan } = store();
    const foreign = Array.from({ length: 300 }, () => ({
      log_id: fresh().log_id,
      tenant_id: 't',
      send_status: 'FAILED',
    }));
    const ours = { updated_by: 'notification-retry' };
    const left = [
      { ...fresh(), ...ours },
      { ...fresh(), ...ours, work_queue: undefined, failure_reason: 'EXPIRED' },
      { ...fresh(), ...ours, send_status: 'SUCCESS', work_queue: undefined, history_bucket: '2026-01-01#0' },
    ].map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined)));
    const corrected = left.map((row) => ({ ...row, log_id: fresh().log_id, recipient_address: 'r' }));
    for (const row of [...foreign, ...left, ...corrected]) await put(row);
    const found = new Set<unknown>();
    let scanned = 0;
    let pages = 0;
    let next: PageCursor | undefined;
    do {
      const page = await scan.page(next);
      for (const row of page.rows) found.add(row['log_id']);
      scanned += page.scanned;
      pages += 1;
      expect(page.read_units).toBeGreaterThan(0);
      next = page.next;
    } while (next !== undefined);
    expect(pages).toBeGreaterThan(1);
    expect(scanned).toBeGreaterThanOrEqual(306);
    expect([...foreign, ...corrected].filter((row) => !found.has(row['log_id']))).toEqual([]);
    expect(left.filter((row) => found.has(row['log_id']))).toEqual([]);
    const [row] = foreign;
    const log_id = row?.log_id ?? '';
    expect(await scan.read(log_id)).toEqual({ row, sequence: '0', unseen: true });
    const owner = { log_id, tenant_id: 't', expires_at: 4_000_000_000, sequence: '170000000000000000001' };
    await indexStore.putContent(owner, { recipient: 'r', body: 'b', format: 'PLAIN' });
    expect(await scan.read(log_id)).toEqual({ row, sequence: owner.sequence, unseen: true });
    expect(await scan.read('nobody')).toBeUndefined();
  });
}
