import { describe, expect, it } from 'vitest';
import { deliverBatch } from '../../../src/core/delivery/deliver.ts';
import type { SendResult } from '../../../src/core/delivery/ports.ts';
import { recordDue } from '../../../src/core/delivery/retry-record.ts';
import { policyOf } from '../../../src/core/model/error-types.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import {
  ACCEPTED,
  dueAgain,
  later,
  NEXT_RUN,
  NOW,
  REPORTED,
  refused,
  retryRecord,
  saidOf,
  settledRow,
  setUp,
  UNCOUNTED,
} from '../../support/delivering.ts';
import { at, dueRow, iso, messageFor, received } from '../../support/rows.ts';

/** A RetryLog that refuses this number of times, and what the worker does meanwhile. */
function refusing(
  times: number,
  answer: SendResult,
  more: { readonly settles?: boolean; readonly row?: Partial<NotificationRow> } = {},
) {
  const pauses: number[] = [];
  const error = new Error('throttled');
  let puts = 0;
  const world = setUp(() => answer, { pause: async (ms) => void pauses.push(ms) });
  const records = {
    ...world.deps.records,
    putIfAbsent: async (record: Parameters<typeof world.deps.records.putIfAbsent>[0]) => {
      if (++puts <= times) throw error;
      return world.deps.records.putIfAbsent(record);
    },
  };
  const rows = {
    ...world.deps.rows,
    ...(more.settles === false && { settle: () => Promise.reject(new Error('throttled, too')) }),
  };
  const deliver = async () => {
    const [report] = await deliverBatch([received(messageFor(world.put(dueRow(more.row))))], {
      ...world.deps,
      records,
      rows,
    });
    return { report, row: world.tables.row('log-1'), records: [...world.tables.retryLog.values()] };
  };
  return { deliver, pauses, error, puts: () => puts };
}

describe('an attempt whose record RetryLog refuses', () => {
  it('is recorded at last, after growing pauses, when it failed', async () => {
    const { deliver, pauses, puts } = refusing(5, refused('NETWORK_TIMEOUT'));
    const { report, row, records } = await deliver();
    expect(pauses).toEqual([200, 400, 800, 1600, 3200]);
    expect(puts()).toBe(6);
    const said = saidOf('NETWORK_TIMEOUT');
    expect(records).toEqual([retryRecord({ ...said.record, next_retry_at: later(600_000) })]);
    expect(row).toEqual(settledRow({ ...said.row, ...dueAgain(600_000) }));
    expect(report).not.toHaveProperty('record_error');
  });

  it('and that failed is not settled when the sixth try fails, and its message returns after the claim', async () => {
    const { deliver, error, puts } = refusing(6, refused('NETWORK_TIMEOUT'));
    const { report, row, records } = await deliver();
    expect(report).toMatchObject({ disposition: { do: 'return', after_seconds: 65 }, error });
    const claim = { send_status: 'SENDING', claim_until: later(65_000), claim_id: row?.claim_id ?? '' } as const;
    expect(row).toEqual(settledRow({ ...claim, retry_count: 0 }, ['updated_by']));
    expect([records, puts()]).toEqual([[], 6]);
  });

  it('is SUCCESS when it was accepted, after the second try: the row keeps the record', async () => {
    const { deliver, pauses, error } = refusing(6, ACCEPTED);
    const { report, row, records } = await deliver();
    expect(pauses).toEqual([200]);
    expect(records).toEqual([]);
    const record = retryRecord({ retry_status: 'SUCCESS', response_code: '200' });
    const sent_at = NOW.toISOString();
    const owing = { record_due: recordDue(record), work_at: sent_at };
    expect(row).toEqual(settledRow({ send_status: 'SUCCESS', sent_at, response_code: '200', ...owing }));
    expect(report).toEqual({
      ...REPORTED,
      attempt: 1,
      verdict: { status: 'SUCCESS' },
      record,
      record_error: error,
      disposition: { do: 'done' },
    });
  });

  it('owes no record when the second try succeeds', async () => {
    const { deliver, pauses } = refusing(1, ACCEPTED);
    const { report, row, records } = await deliver();
    expect(pauses).toEqual([200]);
    expect(records).toEqual([retryRecord({ retry_status: 'SUCCESS', response_code: '200' })]);
    const sent = { send_status: 'SUCCESS', sent_at: NOW.toISOString(), response_code: '200' } as const;
    expect(row).toEqual(settledRow(sent, ['work_queue']));
    expect(report).not.toHaveProperty('record_error');
  });

  it('is not overwritten by a put that was given up and is applied after an event has corrected it', async () => {
    const late: (() => Promise<unknown>)[] = [];
    const { deps, put, tables } = setUp();
    const givenUp = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
      return (...args: A): Promise<T> => {
        if (late.length > 0) return call(...args);
        late.push(() => call(...args));
        return Promise.reject(new Error('no answer'));
      };
    };
    const records = { ...deps.records, putIfAbsent: givenUp(deps.records.putIfAbsent) };
    await deliverBatch([received(messageFor(put(dueRow())))], { ...deps, records });
    const [accepted = retryRecord({})] = tables.retryLog.values();
    const bounced = retryRecord({ error_type: 'INVALID_RECIPIENT', evidence: 'bounced' });
    expect(await deps.records.replace(bounced, accepted)).toBe(true);
    await late[0]?.();
    expect([...tables.retryLog.values()]).toEqual([bounced]);
  });

  it('overwrites one of another claim, whatever clock that had', async () => {
    const { deliverOne, tables } = setUp();
    const theirs = { error_type: 'AUTH_FAILED', claim_id: 'theirs', retry_at: iso(60_000) } as const;
    await tables.records.putIfAbsent(retryRecord(theirs));
    const { records } = await deliverOne();
    expect(records).toEqual([retryRecord({ retry_status: 'SUCCESS', response_code: '200' })]);
  });

  it('is not delivered by an arrival that another event takes back before it is settled', async () => {
    const { deps, put, tables } = setUp();
    const row = put(dueRow({ delivery_by_attempt: { 0: 'delivered' } }));
    const putIfAbsent: typeof deps.records.putIfAbsent = async (record) => {
      tables.log.set(row.log_id, { ...tables.log.get(row.log_id), delivery_by_attempt: { 0: 'bounced' } });
      return tables.records.putIfAbsent(record);
    };
    const deliver = (more: object) => deliverBatch([received(messageFor(row))], { ...deps, ...more });
    const [report] = await deliver({ records: { ...deps.records, putIfAbsent } });
    expect(report).toMatchObject({ disposition: { do: 'return', after_seconds: 65 } });
    await deliver({ clock: () => at(70_000), random: () => 0.5 });
    expect(tables.row(row.log_id)).toMatchObject({ send_status: 'RETRY' });
  });

  it('is recorded at last when nothing was sent, too', async () => {
    const { deliver, puts } = refusing(1, ACCEPTED, { row: { is_deleted: true } });
    const { report, row, records } = await deliver();
    expect(puts()).toBe(2);
    const why = { error_type: 'CANCELLED', failure_reason: 'CANCELLED' } as const;
    const { remedy } = policyOf('CANCELLED');
    expect(records).toEqual([retryRecord({ retry_status: 'SKIPPED', ...why, remedy })]);
    const deleted = { is_deleted: true, send_status: 'FAILED' } as const;
    expect(row).toEqual(settledRow({ ...UNCOUNTED, ...deleted, ...why }, ['work_queue']));
    expect(report).toMatchObject({ disposition: { do: 'done' } });
  });

  it('is tried to its end when the row refuses, too', async () => {
    const { deliver, error, puts } = refusing(6, ACCEPTED, { settles: false });
    const { report } = await deliver();
    expect(puts()).toBe(6);
    expect(report).toMatchObject({ disposition: { do: 'return', after_seconds: 65 }, error });
  });
});

describe('the message of a near retry', () => {
  const retryAfter = (retry_after_ms: number) => setUp(() => refused('RATE_LIMITED', { retry_after_ms }));

  it.each([
    [600_000, 600],
    [600_001, 601],
    [900_000, 900],
  ])('waits in whole seconds, and not less than it must: %d ms are %d s', async (wait, delay_seconds) => {
    const { deliverOne, queued } = retryAfter(wait);
    await deliverOne();
    expect(queued).toEqual([{ message: messageFor(dueRow(), { due: later(wait), run_id: NEXT_RUN }), delay_seconds }]);
  });

  it('beyond what SQS delays is left to a sweep', async () => {
    const { deliverOne, queued } = retryAfter(900_001);
    const { row } = await deliverOne();
    expect(queued).toEqual([]);
    expect(row).toEqual(settledRow({ ...saidOf('RATE_LIMITED').row, ...UNCOUNTED, ...dueAgain(900_001) }));
  });

  it('has no options: what an operator asked for held for one attempt', async () => {
    const { deps, put, queued } = setUp(() => refused('NETWORK_TIMEOUT'));
    const message = messageFor(put(dueRow()), { run_id: 'manual-1', options: { max_retry_count: 9 } });
    await deliverBatch([received(message)], deps);
    expect(queued.map((sent) => sent.message)).toEqual([
      messageFor(dueRow(), { due: later(600_000), run_id: 'manual-1#000000', requested_by: 'schedule' }),
    ]);
  });

  it.each([
    ['user', { run_id: 'manual-1', requested_by: 'user' }],
    ['job', { run_id: 'manual-1', requested_by: 'job' }],
    ['operator', { run_id: 'manual-1' }],
  ] as const)('follows by itself from the one that a %s asked for', async (requested_by, asked) => {
    let now = NOW.getTime();
    const { deps, put, queued, tables } = setUp(() => refused('NETWORK_TIMEOUT'), { clock: () => new Date(now) });
    await deliverBatch([received(messageFor(put(dueRow()), asked))], deps);
    const message = queued.pop()?.message ?? messageFor(dueRow());
    now = Date.parse(message.due);
    await deliverBatch([received(message)], deps);
    expect([...tables.retryLog.values()]).toMatchObject([
      { trigger: 'manual', requested_by, run_id: 'manual-1' },
      { trigger: 'sweep', requested_by: 'schedule', run_id: 'manual-1' },
    ]);
  });

  it('is still the one that was asked for if that one was held', async () => {
    const hold = { do: 'hold', until: later(60_000), error_type: 'RATE_LIMITED', by: { budget: 'slack' } } as const;
    const { deps, put, queued } = setUp(() => ACCEPTED, { gate: { admit: async () => hold } });
    await deliverBatch([received(messageFor(put(dueRow()), { run_id: 'manual-1', requested_by: 'user' }))], deps);
    expect(queued).toMatchObject([{ message: { requested_by: 'user' } }]);
    await deliverBatch([received(messageFor(put(dueRow({ log_id: 'log-2' }))))], deps);
    expect(queued[1]?.message).not.toHaveProperty('requested_by');
  });

  it('comes no sooner than its row is settled, also when the time in the record is past', async () => {
    const { deliverOne, put, tables, queued } = setUp();
    const row = put(dueRow({ send_status: 'SENDING', claim_id: 'crashed', claim_until: iso(), last_attempt: 1 }));
    const next_retry_at = iso(500);
    await tables.records.putIfAbsent(
      retryRecord({ error_type: 'UNKNOWN', claim_id: 'crashed', retry_at: iso(), next_retry_at }),
    );
    await deliverOne(row, { receive_count: 2 });
    expect(queued).toEqual([{ message: messageFor(row, { due: next_retry_at, run_id: NEXT_RUN }), delay_seconds: 1 }]);
  });
});

describe('an attempt that is not sent', () => {
  it('because it was redriven and must not be sent is no dead letter again', async () => {
    const { deps, put, tables, deliveries } = setUp();
    const dead = put(
      dueRow({
        work_queue: dueRow().work_queue?.replace('due', 'dead') ?? '',
        failure_reason: 'MAX_RETRIES',
        error_type: 'UNKNOWN',
        is_deleted: true,
        dead_message_id: 'message-0',
        dead_run_id: 'sweep-1',
      }),
    );
    const redriven = received(messageFor(dead), { message_id: 'message-9', sent_at: at(500), receive_count: 2 });
    const [report] = await deliverBatch([redriven], deps);
    expect(report?.disposition).toEqual({ do: 'done' });
    expect(report?.verdict).toEqual({
      status: 'FAILED',
      error_type: 'UNKNOWN',
      failure_reason: 'CANCELLED',
      dead_letter: false,
    });
    expect(tables.row('log-1')).not.toHaveProperty('work_queue');
    expect(deliveries).toEqual([]);
  });

  it('names what held it, in report and record', async () => {
    const by = { breaker: 'webhook#shop' };
    const hold = { do: 'hold', by, until: later(60_000), error_type: 'SERVER_OVERLOAD' } as const;
    const world = setUp(() => ACCEPTED, { gate: { admit: async () => hold } });
    const { report, row, records } = await world.deliverOne();
    expect(report?.held_by).toEqual(by);
    const { remedy } = policyOf('SERVER_OVERLOAD');
    expect(records).toEqual([
      retryRecord({
        retry_status: 'SKIPPED',
        error_type: 'SERVER_OVERLOAD',
        remedy,
        error_details: JSON.stringify(by),
        next_retry_at: later(60_000),
        uncounted: true,
      }),
    ]);
    expect(row).toEqual(settledRow({ ...UNCOUNTED, ...dueAgain(60_000), error_type: 'SERVER_OVERLOAD' }));
    expect(world.deliveries).toEqual([]);
  });
});
