import { expect, it } from 'vitest';
import { retryLogId } from '../../src/core/delivery/retry-record.ts';
import type { NotificationRow, RetryRecord } from '../../src/core/model/notification.ts';
import type { RowChange } from '../../src/core/model/row-change.ts';
import { clip } from '../../src/core/model/text.ts';
import { iso, messageFor } from '../support/rows.ts';
import { fresh, putFresh, type StoreUnderTest, UNTIL } from './store-under-test.ts';

export const recordOf = (row: NotificationRow, attempt: number): RetryRecord => ({
  retry_log_id: retryLogId(row.log_id, attempt),
  original_log_id: row.log_id,
  retry_attempt: attempt,
  tenant_id: row.tenant_id,
  channel: row.channel,
  retry_at: iso(),
  retry_status: 'FAILED',
  duration_ms: 3,
  trigger: 'sweep',
  requested_by: 'schedule',
  run_id: 'sweep-1',
});

const DELIVERED = { retry_status: 'SUCCESS', claim_id: 'claim-1' } as const;

/** What every ClaimStore and RecordStore must do. `store` is called when a test runs. */
export function claimSuite(store: () => StoreUnderTest): void {
  const put = (changes?: Partial<NotificationRow>) => putFresh(store(), changes);

  it('claims a due row: it is SENDING, the attempt is counted, and the claim has an end', async () => {
    const row = await put({ next_retry_at: iso() });
    const { claimed, row: after } = await store().rows.claim(messageFor(row), UNTIL, 'claim-1');
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

  it('leaves the name of who wrote the row last, so that the indexer sees what a writer changed before', async () => {
    const row = await put({ updated_by: 'user-1' });
    const { row: after } = await store().rows.claim(messageFor(row), UNTIL, 'claim-1');
    expect(after).toMatchObject({ updated_by: 'user-1' });
  });

  it('changes what a claim has to, and nothing else', async () => {
    const row = await put({ next_retry_at: iso(), updated_by: 'user-1' });
    await store().rows.claim(messageFor(row), UNTIL, 'claim-1');
    const { next_retry_at: _, ...rest } = row;
    const counted = { send_attempts: 2, attempts_left: 4, last_attempt: 1 };
    const claim = { send_status: 'SENDING', claim_until: UNTIL, claim_id: 'claim-1', ...counted };
    expect(await store().get(row.log_id)).toEqual({ ...rest, ...claim, updated_at: expect.any(String) });
  });

  it.each(['rows', 'eventRows', 'operatorRows', 'settle'] as const)(
    'by %s changes what it is told to, and says who wrote it',
    async (by) => {
      const row = await put({ send_status: 'SENDING', give_up: 'EXPIRED', updated_by: 'user-1' });
      const change = { set: { error_message: 'x', response_code: undefined }, remove: ['give_up'] } as never;
      const write = by === 'settle' ? store().rows.settle(row, change) : store()[by].change(row, change);
      expect(await write).toBe(true);
      const { give_up: _, ...rest } = row;
      const ours = { updated_at: expect.any(String), updated_by: 'notification-retry' };
      expect(await store().get(row.log_id)).toEqual({ ...rest, error_message: 'x', ...ours });
    },
  );

  it.each([
    ['eventRows', 'delivery_by_attempt', { 0: 'seen' }],
    ['eventRows', 'updated_at', UNTIL],
    ['operatorRows', 'work_at', UNTIL],
    ['operatorRows', 'delivery_by_attempt', { 0: 'delivered' }],
  ] as const)('by %s changes nothing when %s has changed since', async (by, column, value) => {
    const row = await put({ send_status: 'SENDING' });
    await store().put({ ...row, [column]: value });
    expect(await store()[by].change(row, { set: { error_message: 'late' } })).toBe(false);
    expect(await store().get(row.log_id)).not.toHaveProperty('error_message');
  });

  it('by operatorRows changes nothing when an event has taken back what it had shown, though the state is the same', async () => {
    const row = await put({ send_status: 'RETRY', delivery_by_attempt: { 0: 'delivered' } });
    await store().put({ ...row, delivery_by_attempt: { 0: 'bounced' } });
    expect(await store().operatorRows.change(row, { set: { send_status: 'SUCCESS' } })).toBe(false);
  });

  it('sets a malformed entry aside, takes a delivered one out of the index alone, and leaves one that has moved', async () => {
    const faults = [{ column: 'work_at', rule: 'a rule', expected: 'a time' }];
    const { work_queue: _, work_at: __, ...rest } = fresh();
    const entry = { work_queue: 'due#info#0', work_at: 'never' };
    for (const send_status of ['FAILED', 'SUCCESS']) {
      const { log_id } = fresh();
      await store().put({ ...rest, ...entry, log_id, send_status });
      expect(await store().malformed.setAside({ log_id, ...entry, work_at: 'ever', faults } as never)).toBeUndefined();
      const delivered = send_status === 'SUCCESS';
      const why = await store().malformed.setAside({ log_id, ...entry, faults } as never);
      expect(why).toMatch(delivered ? /delivered already/ : /a time/);
      const aside = { failure_reason: 'FORMAT_ERROR', error_type: 'FORMAT_ERROR', error_message: expect.any(String) };
      const ours = { updated_at: expect.any(String), updated_by: 'notification-retry' };
      const turn = expect.stringMatching(/^[0-9a-z]{7}$/);
      const left = {
        ...rest,
        log_id,
        send_status,
        ...ours,
        ...(delivered ? { work_at: 'never' } : { ...aside, turn }),
      };
      expect(await store().get(log_id)).toEqual(left);
    }
  });

  it.each([
    ['is held', () => new Date(Date.now() + 60_000).toISOString(), false],
    ['is held by a worker whose clock is 5 s ahead', () => new Date(Date.now() + 70_000).toISOString(), false],
    ['ended just now by a clock that may be wrong', () => new Date().toISOString(), false],
    ['has expired', () => iso(), true],
  ])('sets a malformed entry aside only where no worker may still settle it: its claim %s', async (_, until, aside) => {
    const row = await put({ send_status: 'SENDING', claim_until: until() });
    const { log_id, work_queue, work_at } = row as Required<NotificationRow>;
    const faults = [{ column: 'channel', rule: 'a rule', expected: 'another channel' }];
    const why = await store().malformed.setAside({ log_id, work_queue, work_at, faults });
    expect(why !== undefined).toBe(aside);
    expect(await store().get(log_id)).toMatchObject(aside ? { send_status: 'FAILED' } : row);
    const record = await store().records.find(log_id, row.last_attempt);
    expect(record?.failure_reason).toBe(aside ? 'FORMAT_ERROR' : undefined);
  });

  it('takes a malformed entry out of the index as delivered, where the worker that crashed has recorded that', async () => {
    const row = await put({ send_status: 'SENDING', claim_until: iso(), claim_id: 'claim-1' });
    const { log_id, work_queue, work_at } = row as Required<NotificationRow>;
    await store().records.putIfAbsent({ ...recordOf(row, row.last_attempt), ...DELIVERED });
    const faults = [{ column: 'channel', rule: 'a rule', expected: 'another channel' }];
    expect(await store().malformed.setAside({ log_id, work_queue, work_at, faults })).toMatch(/delivered/);
    expect(await store().get(log_id)).toMatchObject({ send_status: 'SUCCESS', sent_at: iso() });
    expect((await store().get(log_id))?.['work_queue']).toBeUndefined();
  });

  it('claims a due row in whichever shard it is', async () => {
    const row = await put({ work_queue: 'due#normal#63' });
    const { claimed, row: after } = await store().rows.claim(messageFor(row), UNTIL, 'claim-1');
    expect(claimed).toBe(true);
    expect(after).toMatchObject({ work_queue: 'due#normal#63' });
  });

  it.each([
    ['another worker has claimed', { send_status: 'SENDING', claim_until: UNTIL } as const],
    ['is delivered, and stays in the index because it owes its record', { send_status: 'SUCCESS' } as const],
    ['has no attempt left', { attempts_left: 0 }],
    ['has moved to another time', { work_at: iso(1) }],
    ['is dead', { work_queue: 'dead#normal#0' }],
    ['has another priority than its message says', { work_queue: 'due#info#0' }],
  ])('does not claim a row that %s, and returns it unchanged', async (_, changes) => {
    const row = await put(changes);
    const answer = await store().rows.claim(messageFor(row, { due: iso() }), UNTIL, 'claim-1');
    expect(answer.claimed).toBe(false);
    expect(answer.row).toMatchObject({ log_id: row.log_id, send_attempts: 1, ...changes });
  });

  it.each([{ channel: 'slack' }, { tenant_id: 'tenant-9' }] as const)(
    'does not claim a row for a message of another channel or tenant: %o',
    async (other) => {
      const row = await put();
      expect(await store().rows.claim(messageFor(row, other), UNTIL, 'claim-1')).toEqual({ claimed: false, row });
      expect(await store().rows.read(row.log_id)).toEqual(row);
    },
  );

  it('answers a claim for a missing row with no row', async () => {
    expect(await store().rows.claim(messageFor(fresh()), UNTIL, 'claim-1')).toEqual({ claimed: false });
  });

  it('lets one of many claims at the same moment win', async () => {
    const row = await put();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => store().rows.claim(messageFor(row), UNTIL, `claim-${i}`)),
    );
    expect(answers.filter(({ claimed }) => claimed)).toHaveLength(1);
    expect(await store().rows.read(row.log_id)).toMatchObject({ send_attempts: 2 });
  });

  it('claims and settles each row of a batch separately', async () => {
    const rows = await Promise.all(Array.from({ length: 30 }, () => put()));
    const claims = await Promise.all(
      rows.map((row, i) => store().rows.claim(messageFor(row, i % 3 ? {} : { due: 'never' }), UNTIL, 'claim-1')),
    );
    expect(claims.filter(({ claimed }) => claimed)).toHaveLength(20);
    const settled = await Promise.all(
      claims.map(
        ({ row }) => row && store().rows.settle(row, { set: { send_status: 'SUCCESS' }, remove: ['work_queue'] }),
      ),
    );
    expect(settled.filter(Boolean)).toHaveLength(20);
  });

  it('takes its own claim for a claim when it is repeated, and no other', async () => {
    const row = await put();
    const first = await store().rows.claim(messageFor(row), UNTIL, 'mine');
    expect(await store().rows.claim(messageFor(row), UNTIL, 'mine')).toEqual(first);
    expect(await store().rows.claim(messageFor(row), UNTIL, 'theirs')).toEqual({ claimed: false, row: first.row });
    expect(await store().rows.read(row.log_id)).toMatchObject({ claim_id: 'mine', last_attempt: 1 });
  });

  it('takes its own settlement for a settlement when it is repeated, and no other', async () => {
    const row = await put();
    const { row: claimed } = await store().rows.claim(messageFor(row), UNTIL, 'mine');
    if (!claimed) throw new Error('the claim was refused');
    const change = { set: { send_status: 'RETRY', work_at: UNTIL, claim_until: '' }, remove: ['give_up'] } as const;
    expect(await store().rows.settle(claimed, change)).toBe(true);
    expect(await store().rows.settle(claimed, change)).toBe(true);
    expect(await store().rows.settle(claimed, { set: { send_status: 'RETRY', work_at: iso(7) } })).toBe(false);
    expect(await store().rows.settle({ ...claimed, last_attempt: 0 }, change)).toBe(false);
  });

  it('sets the turn anew with each write that enters or leaves a final state, and with no other', async () => {
    const row = await put();
    const { row: claimed } = await store().rows.claim(messageFor(row), UNTIL, 'mine');
    if (!claimed) throw new Error('the claim was refused');
    const found = async () => (await store().rows.read(row.log_id)) ?? row;
    const turns: unknown[] = [claimed.turn];
    const delivery = { set: { send_status: 'SUCCESS', work_at: UNTIL, claim_id: '' } } as const;
    expect(await store().rows.settle(claimed, delivery)).toBe(true);
    expect(await store().rows.settle(claimed, delivery)).toBe(true);
    turns.push((await found()).turn);
    const changes = [
      { set: { opened_at: UNTIL } },
      { set: { delivery_by_attempt: { 1: 'bounced' } } },
      { set: { send_status: 'RETRY' } },
      { set: { send_status: 'FAILED', failure_reason: 'CANCELLED' }, remove: ['work_queue'] },
      { set: { is_deleted: true } },
      { set: { send_status: 'RETRY', work_queue: row.work_queue ?? '' }, remove: ['failure_reason'] },
      { set: { work_at: UNTIL } },
    ] as const satisfies RowChange[];
    for (const change of changes) {
      expect(await store().eventRows.change(await found(), change)).toBe(true);
      turns.push((await found()).turn);
    }
    const isNew = turns.map((turn, i) => turn !== turns[i - 1]);
    expect(isNew).toEqual([false, true, false, true, true, true, false, true, false]);
    expect(new Set(turns).size).toBe(6);
    for (const turn of turns.slice(1)) expect(turn).toMatch(/^[0-9a-z]{7}$/);
  });

  it('takes its own settlement for one when it is repeated, though its message was cut at an emoji', async () => {
    const row = await put();
    const { row: claimed } = await store().rows.claim(messageFor(row), UNTIL, 'mine');
    if (!claimed) throw new Error('the claim was refused');
    const error_message = clip(`${'x'.repeat(98)}😀 and more`, 100);
    const change = { set: { send_status: 'RETRY', work_at: UNTIL, error_message } } as const;
    expect(await store().rows.settle(claimed, change)).toBe(true);
    expect(await store().rows.settle(claimed, change)).toBe(true);
  });

  it('takes its own claim by a change for one when it is repeated, and no other', async () => {
    const row = await put();
    const claim = (claim_id: string) =>
      store().rows.change(row, { set: { send_status: 'SENDING', claim_until: UNTIL, claim_id, last_attempt: 1 } });
    expect(await claim('mine')).toBe(true);
    expect(await claim('mine')).toBe(true);
    expect(await claim('theirs')).toBe(false);
  });

  it('settles only the attempt that holds the claim', async () => {
    const row = await put();
    const { row: claimed } = await store().rows.claim(messageFor(row), UNTIL, 'claim-1');
    if (!claimed) throw new Error('the claim was refused');
    expect(await store().rows.settle({ ...claimed, last_attempt: 0 }, { set: { send_status: 'RETRY' } })).toBe(false);
    // Of a row that its writer has put anew since: its attempts are numbered from the beginning.
    expect(await store().rows.settle({ ...claimed, claim_id: 'claim-0' }, { set: { send_status: 'RETRY' } })).toBe(
      false,
    );
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

  it('settles nothing as stopped that its writer has given other content since the claim, and a death as ever', async () => {
    const recipient_address = 'new@example.com';
    const set = {
      send_status: 'FAILED',
      failure_reason: 'INVALID_RECIPIENT',
      error_type: 'INVALID_RECIPIENT',
    } as const;
    const stop: RowChange = { set, remove: ['work_queue'] };
    const claimedAndEdited = async () => {
      const { row } = await store().rows.claim(messageFor(await put()), UNTIL, 'claim-1');
      if (!row) throw new Error('the claim was refused');
      await store().put({ ...row, recipient_address });
      return row;
    };
    const [stopped, cancelled, dead] = [await claimedAndEdited(), await claimedAndEdited(), await claimedAndEdited()];
    expect(await store().rows.settle(stopped, stop)).toBe(false);
    expect(await store().rows.settle({ ...stopped, recipient_address } as NotificationRow, stop)).toBe(true);
    const cancellation = { ...set, failure_reason: 'CANCELLED' } as const;
    expect(await store().rows.settle(cancelled, { ...stop, set: cancellation })).toBe(true);
    expect(await store().rows.settle(dead, { set: { ...set, work_queue: 'dead#normal#0' } })).toBe(true);
  });

  it('changes a row only while it is as it was read', async () => {
    const row = await put();
    expect(
      await store().rows.change(row, {
        set: { send_status: 'SENDING', last_attempt: 1 },
        remove: ['first_attempt_at'],
      }),
    ).toBe(true);
    expect(await store().rows.change(row, { set: { send_status: 'SUCCESS' } })).toBe(false);
    expect(await store().rows.read(row.log_id)).not.toHaveProperty('first_attempt_at');
  });

  it('changes a row whose writer has set the columns that it does not use to NULL', async () => {
    const row = fresh();
    await store().put({ ...row, give_up: null, is_deleted: null, delivery_by_attempt: null });
    const read = await store().rows.read(row.log_id);
    if (!read) throw new Error('the row is missing');
    expect(await store().rows.change(read, { set: { error_message: 'in time' } })).toBe(true);
  });

  it('puts a record if its attempt has none, and leaves one that is there as it is', async () => {
    const row = fresh();
    const record = recordOf(row, 2);
    expect(await store().records.putIfAbsent(record)).toBe(true);
    expect(await store().records.putIfAbsent({ ...record, retry_status: 'SUCCESS' })).toBe(false);
    expect(await store().records.find(row.log_id, 2)).toMatchObject(record);
    expect(await store().records.find(row.log_id, 3)).toBeUndefined();
  });

  it('keeps one record of an attempt that two workers put at the same moment', async () => {
    const record = recordOf(fresh(), 2);
    const twice = ['one', 'other'].map((claim_id) => store().records.putIfAbsent({ ...record, claim_id }));
    const [one, other] = await Promise.all(twice);
    expect([one, other].sort()).toEqual([false, true]);
    const claim_id = one ? 'one' : 'other';
    expect(await store().records.find(record.original_log_id, 2)).toMatchObject({ claim_id });
  });

  it('replaces a record by another one, whole', async () => {
    const record = { ...recordOf(fresh(), 2), error_type: 'UNKNOWN' } as const;
    const { error_type: _, ...delivered } = { ...record, retry_status: 'SUCCESS', evidence: 'delivered' } as const;
    await store().records.putIfAbsent(record);
    expect(await store().records.replace(delivered, record)).toBe(true);
    const stored = await store().records.find(record.original_log_id, 2);
    expect(stored).toMatchObject(delivered);
    expect(stored).not.toHaveProperty('error_type');
  });

  it.each([
    ['evidence', 'seen'],
    ['claim_id', 'theirs'],
    ['retry_at', iso(1)],
  ])('replaces no record whose %s is another one than was read', async (name, value) => {
    const record = { ...recordOf(fresh(), 2), claim_id: 'mine' };
    await store().records.putIfAbsent({ ...record, [name]: value });
    expect(await store().records.replace({ ...record, evidence: 'bounced' }, record)).toBe(false);
    expect(await store().records.find(record.original_log_id, 2)).toMatchObject({ [name]: value });
  });

  it('replaces no record that is gone, and takes its own replacement for one when the call is repeated', async () => {
    const record = recordOf(fresh(), 2);
    const seen = { ...record, evidence: 'seen' } as const;
    expect(await store().records.replace(seen, record)).toBe(false);
    await store().records.putIfAbsent(record);
    expect(await store().records.replace(seen, record)).toBe(true);
    expect(await store().records.replace(seen, record)).toBe(true);
  });

  it('keeps a record as long as its row', async () => {
    const record = { ...recordOf(fresh(), 1), expires_at: 4_000_000_000 };
    expect(await store().records.putIfAbsent(record)).toBe(true);
    expect(await store().records.putIfAbsent(record)).toBe(true);
    expect(await store().records.find(record.original_log_id, 1)).toMatchObject({ expires_at: 4_000_000_000 });
  });

  it('takes its own record for put when the call is repeated', async () => {
    const record = { ...recordOf(fresh(), 2), error_details: '{}', uncounted: true } as const;
    expect(await store().records.putIfAbsent(record)).toBe(true);
    expect(await store().records.putIfAbsent({ ...record })).toBe(true);
  });

  it('changes a row that is in no index, and whose counters are missing', async () => {
    const { work_queue: _queue, work_at: _at, last_attempt: _last, ...unattempted } = fresh();
    await store().put(unattempted);
    const row = await store().rows.read(unattempted.log_id);
    if (!row) throw new Error('the row is missing');
    expect(await store().rows.change(row, { set: { send_status: 'RETRY' } })).toBe(true);
    expect(await store().rows.change(row, { set: { send_status: 'SENDING' } })).toBe(false);
    expect(await store().get(row.log_id)).toMatchObject({ send_status: 'RETRY' });
  });

  it.each([
    ['send_status', 'SUCCESS'],
    ['last_attempt', 9],
    ['work_queue', 'due#urgent#0'],
    ['work_at', UNTIL],
    ['delivery_by_attempt', { 0: 'delivered' }],
    ['give_up', 'INVALID_RECIPIENT'],
    ['is_deleted', true],
    ['recipient_address', 'other@example.com'],
    ['message_body', 'other words'],
    ['fallback_recipient', 'other@example.com'],
  ])('changes nothing when %s has changed since', async (column, value) => {
    const row = await put();
    await store().put({ ...row, [column]: value });
    expect(await store().rows.change(row, { set: { error_message: 'late' } })).toBe(false);
    expect(await store().get(row.log_id)).not.toHaveProperty('error_message');
  });

  it('changes a row with content that was there when it was read', async () => {
    const row = fresh();
    await store().put({ ...row, recipient_address: 'a@example.com', message_body: 'words', subject: null });
    const read = await store().rows.read(row.log_id);
    if (!read) throw new Error('the row is missing');
    expect(await store().rows.change(read, { set: { error_message: 'in time' } })).toBe(true);
  });
}
