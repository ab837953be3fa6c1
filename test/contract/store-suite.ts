import { expect, it } from 'vitest';
import { failOver, type SuccessorStore, successorId } from '../../src/core/delivery/failover.ts';
import type { ClaimStore, RecordStore } from '../../src/core/delivery/ports.ts';
import type { ContentStore } from '../../src/core/delivery/send.ts';
import { retryLogId } from '../../src/core/delivery/settlement.ts';
import { giveUp } from '../../src/core/delivery/verdict.ts';
import type { IndexStore } from '../../src/core/indexing/index-row.ts';
import type { ForeignRow } from '../../src/core/model/foreign-row.ts';
import type { NotificationRow, RetryRecord } from '../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { type DueIndex, workQueueOf } from '../../src/core/model/work-index.ts';
import { at, CONTENT, dueRow, messageFor, T0 } from '../support/rows.ts';

/** One implementation of the storage ports, on tables of its own. */
export interface StoreUnderTest {
  readonly rows: ClaimStore;
  readonly records: RecordStore;
  readonly contents: ContentStore;
  readonly dueIndex: DueIndex;
  readonly indexStore: IndexStore;
  readonly successors: SuccessorStore;
  /** Puts a row as any writer could. */
  put(row: ForeignRow): Promise<void>;
  get(log_id: string): Promise<ForeignRow | undefined>;
}

const UNTIL = at(60_000).toISOString();
let serial = 0;
const fresh = (changes: Partial<NotificationRow> = {}) => {
  const log_id = `log-${++serial}-${Math.random().toString(36).slice(2)}`;
  const priority = changes.priority ?? 'normal';
  return dueRow({ log_id, work_queue: workQueueOf('due', priority, log_id), ...changes });
};

const recordOf = (row: NotificationRow, attempt: number): RetryRecord => ({
  retry_log_id: retryLogId(row.log_id, attempt),
  original_log_id: row.log_id,
  retry_attempt: attempt,
  tenant_id: row.tenant_id,
  channel: row.channel,
  retry_at: T0.toISOString(),
  retry_status: 'FAILED',
  duration_ms: 3,
  trigger: 'sweep',
  run_id: 'sweep-1',
});

/** What every implementation of the storage ports must do; `store` is read when a test runs. */
export function storeSuite(store: () => StoreUnderTest): void {
  const putFresh = async (changes: Partial<NotificationRow> = {}) => {
    const row = fresh(changes);
    await store().put({ ...row });
    return row;
  };

  it('claims a due row: SENDING, counted, held until its end', async () => {
    const row = await putFresh({ next_retry_at: T0.toISOString() });
    const { claimed, row: after } = await store().rows.claim(messageFor(row), UNTIL);
    expect(claimed).toBe(true);
    expect(after).toMatchObject({
      send_status: 'SENDING',
      send_attempts: 2,
      attempts_left: 4,
      last_attempt: 1,
      claim_until: UNTIL,
    });
    expect(after).not.toHaveProperty('next_retry_at');
    expect(after).toMatchObject({ work_queue: row.work_queue, work_at: row.work_at });
  });

  it.each([
    ['is held by another', { send_status: 'SENDING', claim_until: UNTIL } as const],
    ['has no attempt left', { attempts_left: 0 }],
    ['has moved to another time', { work_at: at(1).toISOString() }],
    ['is dead', { work_queue: 'dead#normal#0' }],
  ])('does not claim a row that %s, and gives it as it is', async (_, changes) => {
    const row = await putFresh(changes);
    const answer = await store().rows.claim(messageFor(row, { due: T0.toISOString() }), UNTIL);
    expect(answer.claimed).toBe(false);
    expect(answer.row).toMatchObject({ log_id: row.log_id, send_attempts: 1, ...changes });
  });

  it('answers a claim on what does not exist with no row', async () => {
    expect(await store().rows.claim(messageFor(fresh()), UNTIL)).toEqual({ claimed: false });
  });

  it('lets one of many claims at the same moment win', async () => {
    const row = await putFresh();
    const answers = await Promise.all(Array.from({ length: 12 }, () => store().rows.claim(messageFor(row), UNTIL)));
    expect(answers.filter(({ claimed }) => claimed)).toHaveLength(1);
    expect(await store().rows.read(row.log_id)).toMatchObject({ send_attempts: 2 });
  });

  it('claims and settles the rows of a batch each on its own', async () => {
    const rows = await Promise.all(Array.from({ length: 30 }, () => putFresh()));
    const claims = await Promise.all(
      rows.map((row, i) => store().rows.claim(messageFor(row, i % 3 ? {} : { due: 'never' }), UNTIL)),
    );
    expect(claims.filter(({ claimed }) => claimed)).toHaveLength(20);
    const settled = await Promise.all(
      claims.map(
        ({ row }) => row && store().rows.settle(row, { set: { send_status: 'SUCCESS' }, remove: ['work_queue'] }),
      ),
    );
    expect(settled.filter(Boolean)).toHaveLength(20);
  });

  it('settles only the attempt that holds the claim', async () => {
    const row = await putFresh();
    const { row: claimed } = await store().rows.claim(messageFor(row), UNTIL);
    if (!claimed) throw new Error('the claim was refused');
    expect(await store().rows.settle({ ...claimed, last_attempt: 0 }, { set: { send_status: 'RETRY' } })).toBe(false);
    expect(
      await store().rows.settle(claimed, { set: { send_status: 'RETRY', work_at: UNTIL, error_message: '失敗 "x"' } }),
    ).toBe(true);
    expect(await store().rows.settle(claimed, { set: { send_status: 'SUCCESS' } })).toBe(false);
    expect(await store().rows.read(row.log_id)).toMatchObject({
      send_status: 'RETRY',
      work_at: UNTIL,
      error_message: '失敗 "x"',
    });
  });

  it('changes a row only while it is as it was read', async () => {
    const row = await putFresh();
    expect(
      await store().rows.change(row, {
        set: { send_status: 'SENDING', last_attempt: 1 },
        remove: ['first_attempt_at'],
      }),
    ).toBe(true);
    expect(await store().rows.change(row, { set: { send_status: 'SENDING' } })).toBe(false);
    expect(await store().rows.read(row.log_id)).not.toHaveProperty('first_attempt_at');
  });

  it('keeps a retry record once, however often it is put', async () => {
    const row = fresh();
    const record = recordOf(row, 2);
    await Promise.all([store().records.put(record), store().records.put(record)]);
    expect(await store().records.find(row.log_id, 2)).toMatchObject(record);
    expect(await store().records.find(row.log_id, 3)).toBeUndefined();
  });

  it('lists a partition of the work index oldest first, in pages, up to a time', async () => {
    const work_queue = `due#info#${7000 + ++serial}`;
    const rows = await Promise.all(
      [5, 1, 4, 2, 3].map((s) => putFresh({ work_queue, work_at: at(s * 1000).toISOString() })),
    );
    await putFresh({ work_queue, work_at: at(99_000).toISOString() });
    const first = await store().dueIndex.page(work_queue, { until: at(5000).toISOString(), limit: 3 });
    const second = await store().dueIndex.page(work_queue, {
      until: at(5000).toISOString(),
      limit: 3,
      ...(first.next && { after: first.next }),
    });
    const times = [...first.items, ...second.items].map(({ work_at }) => work_at);
    expect(first.items).toHaveLength(3);
    expect(times).toEqual(rows.map(({ work_at }) => work_at).sort());
    expect(first.items[0]).toMatchObject({ tenant_id: 'tenant-1', channel: 'webhook', priority: 'normal' });
  });

  it('lists what is in a partition of the work index from a time on, both ends included', async () => {
    const work_queue = `dead#info#${9000 + ++serial}`;
    const time = (s: number) => at(s * 1000).toISOString();
    await Promise.all([1, 2, 3, 4].map((s) => putFresh({ work_queue, work_at: time(s) })));
    const { items } = await store().dueIndex.page(work_queue, { from: time(2), until: time(3), limit: 9 });
    expect(items.map(({ work_at }) => work_at)).toEqual([time(2), time(3)]);
  });

  it('tells of what is in the work index for which time it is queued', async () => {
    const work_queue = `due#info#${9500 + ++serial}`;
    const work_at = at(1000).toISOString();
    await putFresh({ work_queue, work_at, queued_for: '10:30:01' });
    const { items } = await store().dueIndex.page(work_queue, { until: work_at, limit: 9 });
    expect(items).toMatchObject([{ work_at, queued_for: '10:30:01' }]);
  });

  it('takes a settled row out of the work index', async () => {
    const work_queue = `due#info#${8000 + ++serial}`;
    const row = await putFresh({ work_queue });
    const settled = await store().rows.change(row, { set: { send_status: 'SUCCESS' }, remove: ['work_queue'] });
    expect(settled).toBe(true);
    expect((await store().dueIndex.page(work_queue, { until: UNTIL, limit: 9 })).items).toEqual([]);
  });

  it('stores content under its owner and gives it back to no one else', async () => {
    const { log_id, tenant_id } = fresh();
    const hash = await store().indexStore.putContent(
      { log_id, tenant_id, expires_at: 4_000_000_000, sequence: '7' },
      CONTENT,
    );
    expect(hash).not.toBe('');
    expect(await store().contents.read({ log_id, tenant_id })).toEqual(CONTENT);
    expect(await store().indexStore.hasContent(log_id)).toBe(true);
    await expect(store().contents.read({ log_id, tenant_id: 'other' })).rejects.toMatchObject({
      name: 'ContentUnreadableError',
    });
    await expect(store().contents.read({ log_id: 'none', tenant_id })).rejects.toMatchObject({
      name: 'ContentUnreadableError',
    });
  });

  it.each([
    ['a long body in Japanese', '通知の本文です。😀\n'.repeat(10_000)],
    ['a body at the edge of what is kept as text', 'x'.repeat(2_048)],
    ['a body just beyond it', 'x'.repeat(2_049)],
  ])('gives back %s as it was', async (_, body) => {
    const owner = { ...fresh(), expires_at: 4_000_000_000, sequence: '1' };
    await store().indexStore.putContent(owner, { ...CONTENT, body });
    expect((await store().contents.read(owner)).body).toBe(body);
  });

  it('keeps the content of the latest image, in whatever order they come', async () => {
    const owner = { ...fresh(), expires_at: 4_000_000_000 };
    const put = (sequence: string, body: string) =>
      store().indexStore.putContent({ ...owner, sequence }, { ...CONTENT, body });
    await put('111000000000000000000002', 'second');
    await put('111000000000000000000001', 'first');
    expect((await store().contents.read(owner)).body).toBe('second');
    await put('211000000000000000000000', 'third');
    expect((await store().contents.read(owner)).body).toBe('third');
  });

  it('continues a notification on its fallback channel: content and row once, linked, due at once', async () => {
    const row = fresh({ fallback_channel: 'email', last_attempt: 3 });
    const { log_id, tenant_id } = row;
    const owner = { log_id, tenant_id, expires_at: 4_000_000_000, sequence: '1' };
    const fallback = { recipient: 'yamada@example.com', integration_config_id: 'IC9' };
    await store().indexStore.putContent(owner, { ...CONTENT, body: '本文'.repeat(2_000), fallback });
    const deps = { rows: store().rows, successors: store().successors, policy: DEFAULT_RETRY_POLICY, clock: () => T0 };
    const verdict = giveUp('MAX_RETRIES', 'SERVER_OVERLOAD');
    const first = await failOver(row, verdict, 'sweep-1', deps);
    const again = await failOver(row, verdict, 'sweep-2', { ...deps, clock: () => at(60_000) });
    expect(again).toEqual({ ...first, message: { ...first.message, run_id: 'sweep-2' } });
    expect(first).toMatchObject({
      verdict: { successor_log_id: successorId(log_id), dead_letter: false },
      message: { log_id: successorId(log_id), channel: 'email', due: T0.toISOString() },
    });
    const successor = await store().rows.read(successorId(log_id));
    expect(successor).toMatchObject({ predecessor_log_id: log_id, integration_config_id: 'IC9', attempts_left: 6 });
    expect(await store().contents.read({ log_id: successorId(log_id), tenant_id })).toEqual({
      ...CONTENT,
      body: '本文'.repeat(2_000),
      recipient: 'yamada@example.com',
    });
    const { claimed } = await store().rows.claim(messageFor(fresh(), first.message ?? {}), UNTIL);
    expect(claimed).toBe(true);
  });

  it('gives up as usual what has no fallback recipient stored, or whose successor’s name is taken', async () => {
    const row = fresh({ fallback_channel: 'email' });
    const { log_id, tenant_id } = row;
    const deps = { rows: store().rows, successors: store().successors, policy: DEFAULT_RETRY_POLICY, clock: () => T0 };
    const verdict = giveUp('EXPIRED', 'NETWORK_TIMEOUT');
    expect(await failOver(row, verdict, 'sweep-1', deps)).toEqual({ verdict });
    const owner = { log_id, tenant_id, expires_at: 4_000_000_000, sequence: '1' };
    await store().indexStore.putContent(owner, { ...CONTENT, fallback: { recipient: 'yamada@example.com' } });
    await store().put({ log_id: successorId(log_id), tenant_id, send_status: 'SUCCESS' });
    expect(await failOver(row, verdict, 'sweep-1', deps)).toEqual({ verdict });
  });

  it('takes a foreign row in whose failure_reason is NULL, but none that was given up', async () => {
    const image = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED', failure_reason: null };
    await store().put(image);
    expect(await store().indexStore.index(image, { work_queue: 'due#info#0', work_at: T0.toISOString() }, [])).toBe(
      true,
    );
    const given = { log_id: fresh().log_id, tenant_id: 't', send_status: 'FAILED', failure_reason: 'EXPIRED' };
    await store().put(given);
    expect(await store().indexStore.index(given, { work_queue: 'due#info#0' }, [])).toBe(false);
  });

  it('takes a foreign row in once, and only as it was seen', async () => {
    const { log_id } = fresh();
    const image = { log_id, tenant_id: 't', send_status: 'FAILED', message_body: 'x', recipient_address: 'y' };
    await store().put(image);
    const set = { work_queue: workQueueOf('due', 'info', log_id), work_at: T0.toISOString() };
    expect(await store().indexStore.index({ ...image, message_body: 'changed since' }, set, [])).toBe(false);
    expect(await store().indexStore.index(image, set, ['message_body', 'recipient_address'])).toBe(true);
    expect(await store().indexStore.index(image, set, [])).toBe(false);
    expect(await store().get(log_id)).not.toHaveProperty('message_body');
  });
}
