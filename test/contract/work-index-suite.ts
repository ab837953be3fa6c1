import { expect, it } from 'vitest';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { iso } from '../support/rows.ts';
import { putFresh, type StoreUnderTest, UNTIL } from './store-under-test.ts';

let serial = 0;

/** What every DueIndex must do. `store` is called when a test runs. */
export function workIndexSuite(store: () => StoreUnderTest): void {
  const put = (changes?: Partial<NotificationRow>) => putFresh(store(), changes);

  it('lists a partition of the work index in pages, oldest first, up to a time', async () => {
    const work_queue = `due#normal#${7000 + ++serial}`;
    const rows = await Promise.all([5, 1, 4, 2, 3].map((s) => put({ work_queue, work_at: iso(s * 1000) })));
    await put({ work_queue, work_at: iso(99_000) });
    const first = await store().dueIndex.page(work_queue, { until: iso(5000), limit: 3 });
    const second = await store().dueIndex.page(work_queue, {
      until: iso(5000),
      limit: 3,
      ...(first.next && { after: first.next }),
    });
    const times = [...first.items, ...second.items].map(({ work_at }) => work_at);
    expect(first.items).toHaveLength(3);
    expect(times).toEqual(rows.map(({ work_at }) => work_at).sort());
    expect(first.items[0]).toMatchObject({ tenant_id: 'tenant-1', channel: 'webhook', priority: 'normal' });
  });

  it('lists a partition of the work index between two times, both included', async () => {
    const work_queue = `dead#normal#${9000 + ++serial}`;
    const time = (s: number) => iso(s * 1000);
    await Promise.all([1, 2, 3, 4].map((s) => put({ work_queue, work_at: time(s) })));
    const { items } = await store().dueIndex.page(work_queue, { from: time(2), until: time(3), limit: 9 });
    expect(items.map(({ work_at }) => work_at)).toEqual([time(2), time(3)]);
  });

  it('leaves out other channels, which count for the length of a page', async () => {
    const work_queue = `due#normal#${9300 + ++serial}`;
    for (const [i, channel] of (['slack', 'email', 'slack', 'teams', 'email'] as const).entries())
      await put({ work_queue, work_at: iso(i * 1000), channel });
    const asked = { until: iso(9_000), limit: 3, channels: ['email', 'teams'] as const };
    const first = await store().dueIndex.page(work_queue, asked);
    expect(first.items.map(({ channel }) => channel)).toEqual(['email']);
    const second = await store().dueIndex.page(work_queue, { ...asked, ...(first.next && { after: first.next }) });
    expect(second.items.map(({ channel }) => channel)).toEqual(['teams', 'email']);
  });

  it('lists for which time an entry of the work index is queued', async () => {
    const work_queue = `due#normal#${9500 + ++serial}`;
    const work_at = iso(1000);
    await put({ work_queue, work_at, queued_for: '10:30:01' });
    const { items } = await store().dueIndex.page(work_queue, { until: work_at, limit: 9 });
    expect(items).toMatchObject([{ work_at, queued_for: '10:30:01' }]);
  });

  it('keeps malformed entries apart, with the rule that each breaks, and reads them whatever their time is', async () => {
    const work_queue = `due#normal#${9700 + ++serial}`;
    const good = await put({ work_queue });
    const bad = await Promise.all([
      put({ work_queue, priority: 'urgent' }),
      put({ work_queue, channel: 'fax' as never }),
      put({ work_queue, tenant_id: '' }),
      put({ work_queue, work_at: '!' }),
    ]);
    const { items, malformed = [] } = await store().dueIndex.page(work_queue, { until: UNTIL, limit: 9 });
    expect(items.map(({ log_id }) => log_id)).toEqual([good.log_id]);
    const found = new Map(malformed.map(({ log_id, faults }) => [log_id, faults[0]?.column]));
    expect(bad.map(({ log_id }) => found.get(log_id))).toEqual(['work_queue', 'channel', 'tenant_id', 'work_at']);
  });

  it('removes a settled row from the work index', async () => {
    const work_queue = `due#normal#${8000 + ++serial}`;
    const row = await put({ work_queue });
    const settled = await store().rows.change(row, { set: { send_status: 'SUCCESS' }, remove: ['work_queue'] });
    expect(settled).toBe(true);
    expect((await store().dueIndex.page(work_queue, { until: UNTIL, limit: 9 })).items).toEqual([]);
  });
}
