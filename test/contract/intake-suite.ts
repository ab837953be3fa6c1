import { expect, it } from 'vitest';
import type { ContentStore } from '../../src/core/delivery/ports.ts';
import type { IntakeRecord, IntakeStore } from '../../src/core/intake/ports.ts';
import type { ForeignRow } from '../../src/core/model/notification.ts';
import { at, CONTENT, dueRow, iso, T0 } from '../support/rows.ts';

export interface IntakeStoreUnderTest {
  readonly intake: IntakeStore;
  readonly contents: ContentStore;
  get(log_id: string): Promise<ForeignRow | undefined>;
}

let serial = 0;
const LATER = Math.ceil(at(3_600_000).getTime() / 1000);

/** What every IntakeStore must do. `store` is called when a test runs. */
export function intakeSuite(store: () => IntakeStoreUnderTest): void {
  const recordOf = (changes: Partial<IntakeRecord> = {}): IntakeRecord => ({
    log_id: `intake-${++serial}-${Math.random().toString(36).slice(2)}`,
    request_hash: 'hash',
    accepted_at: iso(),
    accepted_status: 'processing',
    accepted_by: 'request-0',
    expires_at: LATER,
    ...changes,
  });
  const reserve = (record: IntakeRecord, body = 'Hello', now = T0) =>
    store().intake.reserve({ record, tenant_id: 'tenant-1', content: { ...CONTENT, body } }, now);

  it('reserves a log_id once, and returns the first record to later reservations', async () => {
    const record = recordOf({ accepted_by: 'request-1' });
    expect(await reserve(record)).toBeUndefined();
    expect(await reserve({ ...record, request_hash: 'other' }, 'other')).toEqual(record);
    expect(await store().intake.find(record.log_id)).toEqual(record);
    const content = await store().contents.read({ log_id: record.log_id, tenant_id: 'tenant-1' });
    expect(content).toMatchObject({ body: 'Hello', recipient: CONTENT.recipient });
  });

  it('lets one of many simultaneous reservations win', async () => {
    const record = recordOf();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => reserve({ ...record, request_hash: `hash-${i}` })),
    );
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(1);
    const winner = await store().intake.find(record.log_id);
    for (const answer of answers) expect(answer ?? winner).toEqual(winner);
  });

  it('reserves a log_id again once its record has expired', async () => {
    const record = recordOf({ expires_at: Math.floor(T0.getTime() / 1000) - 1 });
    await reserve(record);
    const next = { ...record, request_hash: 'next', expires_at: LATER };
    expect(await reserve(next)).toBeUndefined();
    expect(await store().intake.find(record.log_id)).toEqual(next);
  });

  it('finds no record without a reservation', async () => {
    expect(await store().intake.find('intake-none')).toBeUndefined();
  });

  it('advances a key by one generation at a time, once each', async () => {
    const record = recordOf();
    await reserve(record);
    const { intake } = store();
    await Promise.all([intake.advance(record.log_id, 0, LATER + 1), intake.advance(record.log_id, 0, LATER + 1)]);
    expect(await intake.find(record.log_id)).toEqual({ ...record, latest_generation: 1, expires_at: LATER + 1 });
    await intake.advance(record.log_id, 0, LATER + 9);
    await intake.advance(record.log_id, 1, LATER + 2);
    expect(await intake.find(record.log_id)).toEqual({ ...record, latest_generation: 2, expires_at: LATER + 2 });
  });

  it('puts a row once, with the hash of the recipient and without the recipient', async () => {
    const row = dueRow({ log_id: recordOf().log_id, send_status: 'PENDING' });
    const { intake } = store();
    expect(await intake.findRow(row.log_id)).toBeUndefined();
    const results = await Promise.all(Array.from({ length: 5 }, () => intake.putRow(row, 'someone@example.com', T0)));
    expect(results.filter((there) => there === undefined)).toHaveLength(1);
    const { log_id, tenant_id, channel, priority, send_status, last_attempt, work_queue, work_at } = row;
    const there = { log_id, tenant_id, channel, priority, send_status, last_attempt, work_queue, work_at };
    for (const result of results) expect(result ?? there).toMatchObject(there);
    expect(await intake.findRow(row.log_id)).toMatchObject(there);
    expect(await store().get(row.log_id)).toMatchObject({ ...row, recipient_hash: expect.any(String) });
    expect(await intake.putRow({ ...row, send_status: 'SUCCESS' }, 'someone@example.com', T0)).toMatchObject({
      send_status: 'PENDING',
    });
    expect(await store().get(row.log_id)).toMatchObject({ send_status: 'PENDING' });
  });
}
