import { describe, expect, it } from 'vitest';
import { createRecordStore } from '../../src/adapters/dynamodb/delivery/delivery-stores.ts';
import { createEventRows } from '../../src/adapters/dynamodb/delivery/guarded-rows.ts';
import type { RecordStore } from '../../src/core/delivery/ports.ts';
import { applyDeliveryEvent, type EventRows } from '../../src/core/delivery-events/apply-delivery-event.ts';
import type { NotificationRow } from '../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../tools/simulation/twins/memory-tables.ts';
import { acceptedRow, eventOf, PERMANENT, recordOf, uncertainRow } from '../support/delivery-events.ts';
import { at, iso } from '../support/rows.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

interface Store {
  readonly rows: EventRows;
  readonly records: RecordStore;
  put(row: NotificationRow): Promise<void>;
}

let time = 0;
const clock = () => at(time++);
const stamped = (row: NotificationRow) => ({ ...row, updated_at: clock().toISOString() });

/** What every implementation of EventRows must do. */
function suite(store: () => Store): void {
  let serial = 0;
  const put = async (row: NotificationRow) => {
    const stored = stamped({ ...row, log_id: `log-${++serial}` });
    await store().put(stored);
    return stored;
  };

  it.each([
    ['in no index', acceptedRow()],
    ['in the index', uncertainRow()],
  ])('changes a row that is %s once, and not after another change', async (_, given) => {
    const { log_id } = await put(given);
    const read = await store().rows.read(log_id);
    if (read === undefined) throw new Error('the row is missing');
    const set = { delivered_at: iso(0), delivery_by_attempt: { 2: 'delivered' } } as const;
    expect(await store().rows.change(read, { set })).toBe(true);
    expect(await store().rows.read(log_id)).toMatchObject(set);
    // Status, attempt and place in the index are still as they were read.
    expect(await store().rows.change(read, { set: { opened_at: iso(0) } })).toBe(false);
    expect(await store().rows.read(log_id)).not.toHaveProperty('opened_at');
  });

  it('changes no row whose writer has corrected it since: the correction is taken in without a change of its state', async () => {
    const { log_id, ...given } = await put(acceptedRow());
    const read = await store().rows.read(log_id);
    if (read === undefined) throw new Error('the row is missing');
    await store().put({ log_id, ...given, next_life: 4 });
    expect(await store().rows.change(read, { set: { send_status: 'RETRY' } })).toBe(false);
  });

  it('cancels a successor by the same write, where both rows are as they were read, and else changes none', async () => {
    const { rows } = store();
    const [{ log_id }, { log_id: successor_id }] = [await put(uncertainRow()), await put(uncertainRow())];
    const [row, successor] = [await rows.read(log_id), await rows.read(successor_id)];
    if (row === undefined || successor === undefined) throw new Error('a row is missing');
    const set = { send_status: 'SUCCESS' } as const;
    expect(await rows.change(row, { set }, { ...successor, last_attempt: 9 })).toBe(false);
    expect(await rows.change({ ...row, last_attempt: 9 }, { set }, successor)).toBe(false);
    expect([await rows.read(log_id), await rows.read(successor_id)]).toEqual([row, successor]);
    expect(await rows.change(row, { set, remove: ['work_queue'] }, successor)).toBe(true);
    expect(await rows.read(log_id)).toMatchObject({ ...set, updated_by: 'notification-retry' });
    expect(await rows.read(log_id)).not.toHaveProperty('work_queue');
    expect(await rows.read(successor_id)).toMatchObject({ failure_reason: 'CANCELLED' });
  });

  it('returns no row for an unknown log_id', async () => expect(await store().rows.read('none')).toBeUndefined());

  it('applies an event that reconciles an attempt, and one that takes the delivery back', async () => {
    const { log_id } = await put({ ...uncertainRow(), last_attempt: 2 });
    const { rows, records } = store();
    const ids = { retry_log_id: `${log_id}#2`, original_log_id: log_id };
    await records.putIfAbsent({ ...recordOf(2, 'NETWORK_TIMEOUT'), ...ids, next_retry_at: iso(9) });
    const deps = {
      rows,
      records,
      retries: { send: async () => {} },
      policy: DEFAULT_RETRY_POLICY,
      clock,
      random: () => 0,
    };
    await applyDeliveryEvent(eventOf({ kind: 'delivered' }, { log_id }), deps);
    const reconciled = await rows.read(log_id);
    expect(reconciled).toMatchObject({ send_status: 'SUCCESS', delivered_at: iso(1000) });
    for (const name of ['work_queue', 'next_retry_at']) expect(reconciled).not.toHaveProperty(name);
    expect(await records.find(log_id, 2)).toMatchObject({ retry_status: 'SUCCESS' });
    for (const name of ['error_type', 'next_retry_at']) expect(await records.find(log_id, 2)).not.toHaveProperty(name);

    await applyDeliveryEvent(eventOf(PERMANENT, { log_id }), deps);
    const bounced = await rows.read(log_id);
    expect(bounced).toMatchObject({ send_status: 'RETRY', give_up: 'INVALID_RECIPIENT' });
    expect(bounced).toMatchObject({
      work_queue: expect.stringMatching(/^due#/),
      delivery_by_attempt: { 2: 'bounced' },
    });
    for (const name of ['delivered_at', 'sent_at']) expect(bounced).not.toHaveProperty(name);
    expect(await records.find(log_id, 2)).toMatchObject({ retry_status: 'FAILED', error_type: 'INVALID_RECIPIENT' });
  });
}

describe('rows as delivery events change them, in memory', () => {
  const tables = new MemoryTables(clock);
  const put = async (row: NotificationRow) => void tables.log.set(row.log_id, { ...row });
  suite(() => ({ rows: tables.eventRows, records: tables.records, put }));
});

describeOnDynamoDb<Store>(
  'rows as delivery events change them,',
  ({ client, tables, put }) => ({
    rows: createEventRows(client, tables.notification_log, clock),
    records: createRecordStore(client, tables.notification_retry_log),
    put: (row) => put({ ...row }),
  }),
  suite,
);
