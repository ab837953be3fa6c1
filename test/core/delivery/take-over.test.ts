import { describe, expect, it } from 'vitest';
import { type DeliverDeps, deliverBatch } from '../../../src/core/delivery/deliver.ts';
import { PASS_THROUGH, type ProviderGate } from '../../../src/core/delivery/ports.ts';
import { CANCELLATION, shownDelivered } from '../../../src/core/delivery/transitions/without-attempt.ts';
import { policyOf } from '../../../src/core/model/error-types.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import type { RowChange } from '../../../src/core/model/row-change.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import {
  ACCEPTED,
  deadLetter,
  dueAgain,
  later,
  MINUTE,
  NEXT_RUN,
  NOW,
  refused,
  retryRecord,
  saidOf,
  settledRow,
  setUp,
  TURN,
} from '../../support/delivering.ts';
import { at, CONTENT, dueRow, iso, messageFor, received } from '../../support/rows.ts';

describe('an attempt whose worker recorded it and died', () => {
  const claim = {
    send_status: 'SENDING',
    claim_until: iso(500),
    claim_id: 'crashed',
    send_attempts: 2,
    attempts_left: 4,
    last_attempt: 1,
  } as const;
  const recordOf = (changes: Partial<RetryRecord>): RetryRecord =>
    retryRecord({ retry_at: iso(), duration_ms: 1, claim_id: 'crashed', ...changes });

  const given = { send_attempts: 1, attempts_left: 5, retry_count: 0 };
  const next_retry_at = iso(20 * MINUTE);

  it.each<[string, Partial<RetryRecord>, ReturnType<typeof settledRow>]>([
    [
      'accepted, at the time of the send',
      { retry_status: 'SUCCESS', response_code: '202' },
      settledRow({ send_status: 'SUCCESS', response_code: '202', sent_at: iso() }, ['work_queue']),
    ],
    [
      'refused for good, with a dead letter of the message at hand',
      {
        error_type: 'AUTH_FAILED',
        failure_reason: 'AUTH_FAILED',
        response_message: 'it is AUTH_FAILED',
        response_code: '401',
      },
      settledRow({
        ...saidOf('AUTH_FAILED').row,
        response_code: '401',
        error_details: JSON.stringify({
          attempt: 1,
          at: NOW.toISOString(),
          type: 'AUTH_FAILED',
          code: '401',
          message: 'it is AUTH_FAILED',
        }),
        ...deadLetter('AUTH_FAILED'),
      }),
    ],
    [
      'refused without using up a retry',
      { error_type: 'UNKNOWN', response_message: 'it is UNKNOWN', next_retry_at, uncounted: true },
      settledRow({ ...saidOf('UNKNOWN').row, ...given, send_status: 'RETRY', next_retry_at, work_at: next_retry_at }),
    ],
    [
      'not made, as it had expired',
      { retry_status: 'SKIPPED', error_type: 'EXPIRED', failure_reason: 'EXPIRED' },
      settledRow({
        ...given,
        error_type: 'EXPIRED',
        ...deadLetter('EXPIRED'),
      }),
    ],
  ])('is settled by its record, and nothing is sent: %s', async (_, record, expected) => {
    const { deliverOne, put, tables, deliveries } = setUp();
    await tables.records.putIfAbsent(recordOf(record));
    const { row, records } = await deliverOne(put(dueRow(claim)));
    expect(row).toEqual(expected);
    expect(records).toEqual([recordOf(record)]);
    expect(deliveries).toEqual([]);
  });

  it('that failed is queued again for the time in its record', async () => {
    const { deliverOne, put, tables, queued } = setUp();
    const next = iso(MINUTE);
    await tables.records.putIfAbsent(recordOf({ error_type: 'UNKNOWN', next_retry_at: next }));
    const { row } = await deliverOne(put(dueRow(claim)));
    const { row: said } = saidOf('UNKNOWN', 1, '');
    expect(row).toEqual(settledRow({ ...said, ...dueAgain(MINUTE - 1_000) }));
    expect(queued).toEqual([{ message: messageFor(dueRow(), { due: next, run_id: NEXT_RUN }), delay_seconds: 59 }]);
  });

  it('is settled as delivered when an event has shown since then that it arrived', async () => {
    const { deliverOne, put, tables, deliveries } = setUp();
    await tables.records.putIfAbsent(recordOf({ error_type: 'UNKNOWN', next_retry_at }));
    const events = { delivered_at: iso(700), delivery_by_attempt: { 1: 'delivered' } } as const;
    const { report, row } = await deliverOne(put(dueRow({ ...claim, ...events })));
    expect(report).toMatchObject({ attempt: 1, verdict: { status: 'SUCCESS' }, disposition: { do: 'done' } });
    const sent = { send_status: 'SUCCESS', sent_at: events.delivered_at, error_message: '' } as const;
    expect(row).toEqual(settledRow({ ...events, ...sent }, ['work_queue']));
    expect(deliveries).toEqual([]);
  });

  it('was no attempt when it was skipped as arrived, which an event has taken back since', async () => {
    const { deliverOne, put, tables } = setUp();
    await tables.records.putIfAbsent(recordOf({ retry_status: 'SKIPPED' }));
    const bounced = { attempts_left: 0, last_attempt: 1, delivery_by_attempt: { 0: 'bounced' } } as const;
    const { row } = await deliverOne(put(dueRow({ ...claim, ...bounced })));
    expect(row).toMatchObject({ send_status: 'RETRY', attempts_left: 1, send_attempts: 1 });
  });

  describe('and whose row another writer settles while the takeover hands it on', () => {
    const settledAs = async (change: RowChange) => {
      const { deps, put, tables, queued, deliveries } = setUp();
      const row = put(dueRow({ ...claim, fallback_channel: 'teams' }));
      tables.content.set('log-1', {
        ...CONTENT,
        tenant_id: 'tenant-1',
        fallback: { recipient: 'https://example.com' },
      });
      await tables.records.putIfAbsent(recordOf({ error_type: 'UNKNOWN', failure_reason: 'MAX_RETRIES' }));
      const successors: typeof deps.successors = {
        ...deps.successors,
        put: async (successor) => {
          expect(await tables.operatorRows.change(row, change)).toBe(true);
          return deps.successors.put(successor);
        },
      };
      await deliverBatch([received(messageFor(row))], { ...deps, successors });
      const [asked] = queued;
      if (asked === undefined) throw new Error('no message for the successor');
      expect(asked.message).toMatchObject({ log_id: 'log-1-fallback' });
      await deliverBatch([received(asked.message)], { ...deps, clock: () => at(70_000) });
      return { successor: tables.row('log-1-fallback'), deliveries };
    };

    it.each<[string, RowChange]>([
      ['delivered', shownDelivered(dueRow({ ...claim }), {}, NOW.toISOString())],
      ['cancelled', CANCELLATION],
      ['deleted', { set: { is_deleted: true } }],
    ])('has no successor that is sent, though its writer found none: %s', async (_, change) => {
      const { successor, deliveries } = await settledAs(change);
      expect(deliveries).toEqual([]);
      expect(successor).toMatchObject({ send_status: 'FAILED', failure_reason: 'CANCELLED', send_attempts: 0 });
      expect(successor).not.toHaveProperty('work_queue');
    });
  });

  it('is settled by its record, whatever clock the worker had', async () => {
    const { deliverOne, put, tables, deliveries } = setUp();
    await tables.records.putIfAbsent(recordOf({ retry_status: 'SUCCESS', retry_at: iso(500 - 3_600_000) }));
    await deliverOne(put(dueRow(claim)));
    expect(deliveries).toEqual([]);
  });

  it('is decided about anew when another worker settles it meanwhile', async () => {
    const { deps, put, tables, deliveries } = setUp();
    await tables.records.putIfAbsent(recordOf({ retry_status: 'SUCCESS' }));
    const row = put(dueRow(claim));
    const change: typeof deps.rows.change = async () => {
      const { work_queue: _, ...done } = row;
      put({ ...done, send_status: 'SUCCESS' });
      return false;
    };
    const [report] = await deliverBatch([received(messageFor(row))], { ...deps, rows: { ...deps.rows, change } });
    expect(report).toMatchObject({ disposition: { do: 'done' }, dropped: 'it is delivered already' });
    expect(report).not.toHaveProperty('attempt');
    expect(deliveries).toEqual([]);
  });

  it('is made again when the record is of another claim, from a version that used numbers again', async () => {
    const { deliverOne, put, tables, deliveries } = setUp();
    await tables.records.putIfAbsent(recordOf({ retry_status: 'SUCCESS', claim_id: 'theirs' }));
    await deliverOne(put(dueRow(claim)));
    expect(deliveries).toHaveLength(1);
  });
});

describe('an attempt whose worker died while claims lasted longer than now', () => {
  const old = { send_status: 'SENDING', claim_until: iso(500), last_attempt: 1 } as const;
  const record = retryRecord({ retry_at: iso(-60_000), retry_status: 'SUCCESS', claim_id: 'theirs' });

  it.each([
    ['is delivered if its record names its claim', 'theirs', 0],
    ['is made again if the record is of another claim, before the row was replaced', 'others', 1],
  ])('%s', async (_, claim_id, sends) => {
    const { deliverOne, put, tables, deliveries } = setUp(() => ACCEPTED, {
      claim_ms: 30_000,
    });
    await tables.records.putIfAbsent(record);
    const { row } = await deliverOne(put(dueRow({ ...old, claim_id })), { receive_count: 2 });
    expect([row?.send_status, deliveries.length]).toEqual(['SUCCESS', sends]);
  });
});

describe('an attempt whose worker died before it recorded anything', () => {
  const lost = { send_status: 'SENDING', claim_until: iso(500), claim_id: 'theirs' } as const;
  const DIED = retryRecord({
    error_type: 'UNKNOWN',
    remedy: policyOf('UNKNOWN').remedy,
    response_message:
      'The worker died before it recorded an outcome; the provider may or may not have taken the message.',
    error_details: '{}',
    next_retry_at: NOW.toISOString(),
    claim_id: 'theirs',
  });

  it('is recorded as failed and counts; the next attempt follows at once', async () => {
    const { deliverOne, put, deliveries } = setUp(() => refused('AUTH_FAILED'));
    const row = put(dueRow({ ...lost, send_attempts: 2, attempts_left: 4, last_attempt: 1 }));
    const { row: ended, records } = await deliverOne(row);
    const said = saidOf('AUTH_FAILED', 2);
    expect(deliveries.map(({ attempt }) => attempt)).toEqual([2]);
    expect(ended).toEqual(
      settledRow({
        ...said.row,
        send_attempts: 3,
        attempts_left: 3,
        retry_count: 2,
        last_attempt: 2,
        ...deadLetter('AUTH_FAILED'),
      }),
    );
    const second = { retry_log_id: 'log-1#2', retry_attempt: 2, failure_reason: 'AUTH_FAILED' } as const;
    expect(records).toEqual([DIED, retryRecord({ ...said.record, ...second })]);
  });

  it('is not recorded as died when an event records it at that moment', async () => {
    const { deps, put, tables, deliveries } = setUp();
    const reported = retryRecord({ retry_status: 'SUCCESS', response_code: '250', claim_id: 'theirs' });
    let finds = 0;
    const records = {
      ...deps.records,
      find: async (log_id: string, attempt: number) => {
        const found = await deps.records.find(log_id, attempt);
        // The first look only finds out that the attempt must be made alone.
        if (++finds === 2) await deps.records.putIfAbsent(reported);
        return found;
      },
    };
    const row = put(dueRow({ ...lost, send_attempts: 2, attempts_left: 4, last_attempt: 1 }));
    await deliverBatch([received(messageFor(row), { receive_count: 2 })], { ...deps, records });
    expect([...tables.retryLog.values()]).toEqual([reported]);
    const sent = { send_status: 'SUCCESS', sent_at: NOW.toISOString(), response_code: '250' } as const;
    expect(tables.row('log-1')).toEqual(settledRow(sent, ['work_queue']));
    expect(deliveries).toEqual([]);
  });

  it('is the last one if it was: the notification is given up, and nothing is sent', async () => {
    const { deliverOne, put, deliveries } = setUp();
    const row = put(dueRow({ ...lost, send_attempts: 6, attempts_left: 0, last_attempt: 1 }));
    const { row: ended, records } = await deliverOne(row);
    expect(deliveries).toEqual([]);
    const exhausted = { error_type: 'MAX_RETRIES', failure_reason: 'MAX_RETRIES' } as const;
    expect(ended).toEqual(
      settledRow({
        ...exhausted,
        send_attempts: 6,
        attempts_left: 0,
        retry_count: 5,
        last_attempt: 2,
        send_status: 'FAILED',
        work_queue: workQueueOf('dead', 'normal', 'log-1'),
        work_at: NOW.toISOString(),
        dead_message_id: 'message-1',
        dead_run_id: 'sweep-1',
        dead_sent_at: iso(),
      }),
    );
    const { remedy } = policyOf('MAX_RETRIES');
    const skipped = { retry_log_id: 'log-1#2', retry_attempt: 2, retry_status: 'SKIPPED' } as const;
    expect(records).toEqual([DIED, retryRecord({ ...skipped, ...exhausted, remedy })]);
  });

  it.each<[string, RetryRecord[], number]>([
    ['the message that takes over', [], 1],
    ['another one, when the takeover died too', [DIED], 1],
    ['the takeover’s own, received again when that died', [DIED], 2],
  ])('was an operator’s on a dead row: it is dead again, and is not sent by %s', async (_, recorded, receive_count) => {
    const { deliverOne, put, tables, deliveries, queued } = setUp();
    for (const record of recorded) await tables.records.putIfAbsent(record);
    const dead = { failure_reason: 'AUTH_FAILED', dead_message_id: 'message-0', dead_run_id: 'sweep-0' } as const;
    const row = put(dueRow({ ...lost, ...dead, send_attempts: 2, attempts_left: 4, last_attempt: 1 }));
    const { report, row: ended, records } = await deliverOne(row, { receive_count });
    expect([deliveries, queued]).toEqual([[], []]);
    // The letter from before may be gone: it met the claim of the forced attempt, or was redriven meanwhile.
    expect(report).toMatchObject({ disposition: { do: 'dead_letter' }, dropped: 'its forced attempt died' });
    expect(ended).toEqual({
      ...row,
      send_status: 'FAILED',
      work_queue: workQueueOf('dead', 'normal', 'log-1'),
      work_at: NOW.toISOString(),
      dead_message_id: 'message-1',
      dead_run_id: 'sweep-1',
      dead_sent_at: iso(),
      turn: TURN,
      updated_at: NOW.toISOString(),
      updated_by: 'notification-retry',
    });
    expect(records).toEqual([DIED]);
  });

  it('is put aside for a moment while others keep changing the row', async () => {
    const { deps, put, deliveries } = setUp();
    const rows = { ...deps.rows, change: async () => false };
    const row = put(dueRow());
    const [report] = await deliverBatch([received(messageFor(row), { receive_count: 2 })], { ...deps, rows });
    expect(report?.disposition).toEqual({ do: 'return', after_seconds: 5 });
    expect(deliveries).toEqual([]);
  });
});

describe('an operator’s attempt on a dead notification', () => {
  const dead = dueRow({
    send_status: 'FAILED',
    failure_reason: 'EXPIRED',
    send_attempts: 3,
    attempts_left: 3,
    last_attempt: 2,
    work_queue: workQueueOf('dead', 'normal', 'log-1'),
    dead_message_id: 'message-0',
    dead_run_id: 'sweep-1',
  });
  const force = { options: { force: true, named: true }, run_id: 'manual-9' } as const;
  const gateThat = (asked: boolean[]): ProviderGate => ({
    admit: async (_, forced) => {
      asked.push(forced);
      return { do: 'send', report: async () => false };
    },
  });

  const holding: ProviderGate = {
    admit: async () => ({ do: 'hold', until: later(MINUTE), error_type: 'RATE_LIMITED', by: { budget: 'email' } }),
  };

  const silent: DeliverDeps['contents'] = { read: () => Promise.reject(new Error('no answer')) };

  it.each<[string, Partial<DeliverDeps>]>([
    ['is held', { gate: holding }],
    ['finds storage that does not answer', { contents: silent }],
  ])('that %s leaves it dead as it was, and its message waits in the lane', async (_, given) => {
    const { deps, put, tables, queued } = setUp(() => ACCEPTED, given);
    const contents = tables.contents;
    const [report] = await deliverBatch([received(messageFor(put(dead), force), { message_id: 'message-9' })], deps);
    expect(report?.disposition).toEqual({ do: 'done' });
    const { send_attempts, attempts_left, work_queue, work_at, dead_message_id, dead_run_id, failure_reason } = dead;
    const as_before = {
      send_attempts,
      attempts_left,
      work_queue,
      work_at,
      dead_message_id,
      dead_run_id,
      failure_reason,
    };
    expect(tables.row('log-1')).toMatchObject({ send_status: 'FAILED', claim_until: '', ...as_before });
    expect(queued).toEqual([
      { delay_seconds: 60, message: { ...messageFor(dead, force), run_id: expect.stringMatching(/^manual-9#/) } },
    ]);
    const [again] = await deliverBatch(
      queued.map(({ message }) => received(message, { message_id: 'message-10' })),
      { ...deps, contents, gate: PASS_THROUGH },
    );
    expect(again?.verdict).toEqual({ status: 'SUCCESS' });
  });

  it('that is held comes back itself where SQS takes no message', async () => {
    const retries = { send: () => Promise.reject(new Error('no')) };
    const { deps, put, tables } = setUp(() => ACCEPTED, { gate: holding, retries });
    const [report] = await deliverBatch([received(messageFor(put(dead), force))], deps);
    expect(report?.disposition).toEqual({ do: 'return', after_seconds: 60 });
    expect(tables.row('log-1')?.work_at).toBe(dead.work_at);
  });

  it.each<[string, Partial<DeliverDeps>]>([
    ['', { gate: holding }],
    [', also where storage does not answer', { contents: silent }],
  ])('of one that is still due and past its window waits, forced, beyond it%s', async (_, given) => {
    const { deps, put, tables, queued } = setUp(() => ACCEPTED, given);
    const late = dueRow({ first_attempt_at: iso(-100 * 60 * MINUTE) });
    await deliverBatch([received(messageFor(put(late), force))], deps);
    expect(tables.row('log-1')).toMatchObject({ send_status: 'RETRY', work_at: later(MINUTE) });
    expect(queued).toMatchObject([{ message: { options: force.options } }]);
  });

  it('asks the gate as a forced one, makes no second one, and keeps the reason of the death', async () => {
    const asked: boolean[] = [];
    const { deps, put, tables, queued } = setUp(() => refused('NETWORK_TIMEOUT'), { gate: gateThat(asked) });
    const [report] = await deliverBatch([received(messageFor(put(dead), force))], deps);
    expect(asked).toEqual([true]);
    expect(report?.disposition).toEqual({ do: 'dead_letter' });
    expect(queued).toEqual([]);
    const numbers = { send_attempts: 4, attempts_left: 2, retry_count: 3, last_attempt: 3 };
    expect(tables.row('log-1')).toEqual(
      settledRow({
        ...saidOf('NETWORK_TIMEOUT', 3).row,
        ...numbers,
        send_status: 'FAILED',
        failure_reason: 'EXPIRED',
        work_queue: workQueueOf('dead', 'normal', 'log-1'),
        work_at: NOW.toISOString(),
        dead_message_id: 'message-1',
        dead_run_id: 'manual-9',
        dead_sent_at: iso(),
      }),
    );
    const remedy = expect.stringMatching(/^Check that the receiver can be reached, then redrive what is still worth/);
    expect([...tables.retryLog.values()]).toEqual([
      retryRecord({
        ...saidOf('NETWORK_TIMEOUT').record,
        retry_log_id: 'log-1#3',
        retry_attempt: 3,
        failure_reason: 'EXPIRED',
        remedy,
        trigger: 'manual',
        requested_by: 'operator',
        run_id: 'manual-9',
      }),
    ]);
  });

  it.each<[string, Partial<RetryRecord>, object]>([
    ['succeeded', { retry_status: 'SUCCESS' }, { send_status: 'SUCCESS' }],
    ['ended', { failure_reason: 'AUTH_FAILED' }, { send_status: 'FAILED', failure_reason: 'AUTH_FAILED' }],
    ['was taken over, and its taker died', {}, { send_status: 'FAILED', failure_reason: 'EXPIRED' }],
  ])('whose worker died after its record is settled by it: %s', async (_, changes, settled) => {
    const { deliveries, deps, put, tables } = setUp();
    const row = put({
      ...dead,
      send_status: 'SENDING',
      claim_id: 'crashed',
      claim_until: iso(500),
      work_queue: workQueueOf('due', 'normal', 'log-1'),
    });
    await deps.records.putIfAbsent(
      retryRecord({ retry_log_id: 'log-1#2', retry_attempt: 2, retry_at: iso(), claim_id: 'crashed', ...changes }),
    );
    await deliverBatch([received(messageFor(row))], deps);
    expect(deliveries).toEqual([]);
    expect(tables.row('log-1')).toMatchObject(settled);
  });

  it('that succeeds leaves nothing of the death', async () => {
    const { deps, put, tables } = setUp();
    await deliverBatch([received(messageFor(put(dead), force))], deps);
    const numbers = { send_attempts: 4, attempts_left: 2, retry_count: 3, last_attempt: 3 };
    const sent = { send_status: 'SUCCESS', sent_at: NOW.toISOString(), response_code: '200' } as const;
    expect(tables.row('log-1')).toEqual(
      settledRow({ ...numbers, ...sent, work_at: NOW.toISOString() }, ['work_queue']),
    );
  });

  it('is not made by a forced message for an earlier time', async () => {
    const { deps, put, deliveries } = setUp();
    const stale = { ...force, due: iso(-1000) };
    const [report] = await deliverBatch([received(messageFor(put(dead), stale))], deps);
    expect(report).toMatchObject({ disposition: { do: 'done' }, dropped: expect.stringContaining('has moved on') });
    expect(deliveries).toEqual([]);
  });

  it('by a redrive starts the budget and the window anew, and asks the gate like any other', async () => {
    const asked: boolean[] = [];
    const { deps, put, tables, queued } = setUp(() => refused('NETWORK_TIMEOUT'), { gate: gateThat(asked) });
    const redriven = received(messageFor(put(dead)), { message_id: 'message-7', sent_at: at(500) });
    await deliverBatch([redriven], deps);
    expect(asked).toEqual([false]);
    const next = later(5 * MINUTE);
    expect(tables.row('log-1')).toEqual(
      settledRow({
        ...saidOf('NETWORK_TIMEOUT', 3).row,
        send_attempts: 1,
        attempts_left: 5,
        retry_count: 0,
        redrive_count: 1,
        turn: TURN,
        last_attempt: 3,
        first_attempt_at: NOW.toISOString(),
        send_status: 'RETRY',
        next_retry_at: next,
        work_at: next,
        queued_for: next.slice(11, 19),
      }),
    );
    expect(queued).toHaveLength(1);
  });
});

describe('a redrive or a forced run of a dead notification that must not be sent', () => {
  const dead = (changes: Partial<NotificationRow>) =>
    dueRow({
      failure_reason: 'AUTH_FAILED',
      send_attempts: 3,
      attempts_left: 3,
      last_attempt: 2,
      work_queue: workQueueOf('dead', 'normal', 'log-1'),
      dead_message_id: 'message-0',
      dead_run_id: 'sweep-1',
      ...changes,
    });

  const redrive = { message: {}, by: { trigger: 'redrive', requested_by: 'operator', run_id: 'sweep-1' } } as const;
  const forced = {
    message: { options: { force: true }, run_id: 'manual-9' },
    by: { trigger: 'manual', requested_by: 'operator', run_id: 'manual-9' },
  } as const;

  it.each([
    ['a redrive', redrive, { is_deleted: true }, 'CANCELLED'],
    ['a forced run', forced, { is_deleted: true }, 'CANCELLED'],
    ['a redrive', redrive, { give_up: 'FORMAT_ERROR' }, 'FORMAT_ERROR'],
    ['a forced run', forced, { give_up: 'FORMAT_ERROR' }, 'FORMAT_ERROR'],
  ] as const)('%s sends nothing, and takes the row out of the index: %o, %o', async (_, run, why, failure_reason) => {
    const { deliveries, deps, put, tables } = setUp();
    const row = put(dead(why));
    const message = received(messageFor(row, run.message), { message_id: 'message-7', sent_at: at(500) });
    const [report] = await deliverBatch([message], deps);
    expect(deliveries).toEqual([]);
    expect(report?.disposition).toEqual({ do: 'done' });
    const numbers = { send_attempts: 3, attempts_left: 3, retry_count: 2, last_attempt: 3 };
    const ended = { send_status: 'FAILED', failure_reason, error_type: failure_reason } as const;
    expect(tables.row('log-1')).toEqual(
      settledRow({ ...why, ...numbers, ...ended, work_at: NOW.toISOString() }, ['work_queue', 'give_up']),
    );
    const { remedy } = policyOf(failure_reason);
    const attempt = { retry_log_id: 'log-1#3', retry_attempt: 3, retry_status: 'SKIPPED' } as const;
    expect([...tables.retryLog.values()]).toEqual([
      retryRecord({ ...attempt, ...run.by, error_type: failure_reason, failure_reason, remedy }),
    ]);
  });
});
