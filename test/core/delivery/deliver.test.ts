import { describe, expect, it } from 'vitest';
import { deliverBatch } from '../../../src/core/delivery/deliver.ts';
import type { Sender, SendResult } from '../../../src/core/delivery/ports.ts';
import { policyOf } from '../../../src/core/model/error-types.ts';
import {
  deadLetter,
  dueAgain,
  later,
  MINUTE,
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
import { CONTENT, dueRow, iso, messageFor, received } from '../../support/rows.ts';

describe('an attempt', () => {
  it('that the provider accepts ends the notification: SUCCESS, out of the index, with its record', async () => {
    const { deliverOne, deliveries } = setUp(() => ({ ok: true, response_code: '200', provider_message_id: 'p-1' }));
    const { report, row, records } = await deliverOne();
    expect(report?.disposition).toEqual({ do: 'done' });
    const said = { response_code: '200' };
    expect(row).toEqual(settledRow({ ...said, send_status: 'SUCCESS', sent_at: NOW.toISOString() }, ['work_queue']));
    expect(records).toEqual([retryRecord({ ...said, retry_status: 'SUCCESS', provider_message_id: 'p-1' })]);
    expect(deliveries).toEqual([
      { log_id: 'log-1', tenant_id: 'tenant-1', attempt: 1, channel: 'webhook', content: CONTENT, at: NOW },
    ]);
  });

  it('that fails temporarily queues a message at once, with the delay of its backoff', async () => {
    const { deliverOne, queued } = setUp(() => refused('NETWORK_TIMEOUT'));
    const { row, records } = await deliverOne();
    const next = later(10 * MINUTE);
    const said = saidOf('NETWORK_TIMEOUT');
    expect(row).toEqual(settledRow({ ...said.row, ...dueAgain(10 * MINUTE) }));
    expect(queued).toEqual([{ message: messageFor(dueRow(), { due: next, run_id: NEXT_RUN }), delay_seconds: 600 }]);
    expect(records).toEqual([retryRecord({ ...said.record, next_retry_at: next })]);
  });

  it('leaves a retry to a sweep when SQS cannot delay its message until then', async () => {
    const { deliverOne, queued } = setUp(() => refused('SERVER_OVERLOAD'));
    const { row } = await deliverOne();
    const { row: said } = saidOf('SERVER_OVERLOAD');
    expect(row).toEqual(settledRow({ ...said, ...dueAgain(20 * MINUTE) }));
    expect(queued).toEqual([]);
  });

  it('that meets a rate limit uses up no retry', async () => {
    const { deliverOne } = setUp(() => refused('RATE_LIMITED', { retry_after_ms: 7 * MINUTE }));
    const { row, records } = await deliverOne();
    const next_retry_at = later(7 * MINUTE);
    const said = saidOf('RATE_LIMITED');
    expect(row).toEqual(
      settledRow({
        ...said.row,
        ...UNCOUNTED,
        ...dueAgain(7 * MINUTE),
      }),
    );
    expect(records).toEqual([retryRecord({ ...said.record, next_retry_at, uncounted: true })]);
  });

  it('on a wrong recipient stops without a dead letter', async () => {
    const { deliverOne } = setUp(() => refused('INVALID_RECIPIENT'));
    const { report, row, records } = await deliverOne();
    expect(report?.disposition).toEqual({ do: 'done' });
    const said = saidOf('INVALID_RECIPIENT');
    const failure_reason = 'INVALID_RECIPIENT';
    expect(row).toEqual(settledRow({ ...said.row, send_status: 'FAILED', failure_reason }, ['work_queue']));
    expect(records).toEqual([retryRecord({ ...said.record, failure_reason })]);
  });

  it('that ends in the DLQ stores the id of the message that goes there', async () => {
    const { deliverOne } = setUp(() => refused('PERMISSION_DENIED'));
    const { report, row, records } = await deliverOne();
    expect(report?.disposition).toEqual({ do: 'dead_letter' });
    const said = saidOf('PERMISSION_DENIED');
    expect(row).toEqual(
      settledRow({
        ...said.row,
        ...deadLetter('PERMISSION_DENIED'),
      }),
    );
    expect(records).toEqual([retryRecord({ ...said.record, failure_reason: 'PERMISSION_DENIED' })]);
  });

  it('beyond the deadline is not made: SKIPPED, EXPIRED, and not counted', async () => {
    const { deliverOne, deliveries, put } = setUp();
    const first_attempt_at = iso(-7 * 60 * MINUTE);
    const { row, records } = await deliverOne(put(dueRow({ first_attempt_at })));
    expect(deliveries).toEqual([]);
    expect(row).toEqual(
      settledRow({
        ...UNCOUNTED,
        first_attempt_at,
        error_type: 'EXPIRED',
        ...deadLetter('EXPIRED'),
      }),
    );
    const { remedy } = policyOf('EXPIRED');
    expect(records).toEqual([
      retryRecord({ retry_status: 'SKIPPED', error_type: 'EXPIRED', failure_reason: 'EXPIRED', remedy }),
    ]);
  });

  it.each([
    ['for a retry', {}, 5],
    ['to be given up', { give_up: 'MAX_RETRIES' }, 5],
    ['without an attempt left', { attempts_left: 0 }, 0],
  ] as const)(
    'is not made when an event has shown that the notification arrived: it is SUCCESS, %s',
    async (_, changes, attempts_left) => {
      const { deliverOne, put, deliveries } = setUp();
      const delivered_at = iso();
      const { report, row, records } = await deliverOne(
        put(dueRow({ ...changes, delivered_at, delivery_by_attempt: { 0: 'delivered' } })),
      );
      expect(deliveries).toEqual([]);
      expect(report?.disposition).toEqual({ do: 'done' });
      const arrived = { delivered_at, delivery_by_attempt: { 0: 'delivered' } } as const;
      expect(row).toEqual(
        settledRow({ ...UNCOUNTED, attempts_left, ...arrived, send_status: 'SUCCESS', sent_at: delivered_at }, [
          'work_queue',
        ]),
      );
      const response_message = 'Nothing was sent: an event had shown that an earlier attempt arrived.';
      expect(records).toEqual([retryRecord({ retry_status: 'SKIPPED', response_message })]);
    },
  );

  it.each([
    ['FORMAT_ERROR', { do: 'dead_letter' }, { ...settledRow(deadLetter('FORMAT_ERROR')), claim_until: '' }],
    [
      'INVALID_RECIPIENT',
      { do: 'done' },
      settledRow({ send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' }, ['work_queue']),
    ],
  ] as const)(
    'is not made when an event has shown that it is pointless, and a redrive does not see the reason: %s',
    async (give_up, disposition, ended) => {
      const { deliverOne, put, deliveries } = setUp();
      const bounced = { error_type: give_up, error_message: 'it bounced' } as const;
      const { report, row, records } = await deliverOne(put(dueRow({ give_up, ...bounced })));
      expect(deliveries).toEqual([]);
      expect(report?.disposition).toEqual(disposition);
      expect(row).toEqual({ ...ended, ...UNCOUNTED, ...bounced });
      const why = { error_type: give_up, failure_reason: give_up, remedy: policyOf(give_up).remedy };
      expect(records).toEqual([retryRecord({ retry_status: 'SKIPPED', ...why })]);
    },
  );

  it('is not made on a logically deleted notification: CANCELLED, without a dead letter', async () => {
    const { deliverOne, deliveries, put } = setUp();
    const { report, row } = await deliverOne(put(dueRow({ is_deleted: true })));
    expect(deliveries).toEqual([]);
    expect(report?.disposition).toEqual({ do: 'done' });
    const uncounted = { send_attempts: 1, attempts_left: 5, retry_count: 0, is_deleted: true } as const;
    const ended = { send_status: 'FAILED', failure_reason: 'CANCELLED', error_type: 'CANCELLED' } as const;
    expect(row).toEqual(settledRow({ ...uncounted, ...ended }, ['work_queue']));
  });

  it('keeps the time of the first attempt, with which the window begins, and sets it if there was none', async () => {
    const { deliverOne, put } = setUp(() => refused('NETWORK_TIMEOUT'));
    const first_attempt_at = iso(-60 * MINUTE);
    const failed = { ...saidOf('NETWORK_TIMEOUT').row, ...dueAgain(10 * MINUTE) };
    const early = await deliverOne(put(dueRow({ first_attempt_at })));
    expect(early.row).toEqual(settledRow({ ...failed, first_attempt_at }));
    const { first_attempt_at: _, ...unattempted } = dueRow();
    const { row } = await deliverOne(put(unattempted));
    expect(row).toEqual(settledRow({ ...failed, first_attempt_at: NOW.toISOString() }));
  });

  it('records how long the provider took, and when it was asked', async () => {
    let now = NOW.getTime();
    const clock = () => new Date(now);
    const { deliverOne } = setUp(
      () => {
        now += 1234;
        return { ok: true, response_code: '200' };
      },
      { clock },
    );
    const { row, records } = await deliverOne();
    expect(records).toEqual([retryRecord({ retry_status: 'SUCCESS', response_code: '200', duration_ms: 1234 })]);
    const sent_at = later(1234);
    expect(row).toEqual(settledRow({ response_code: '200', send_status: 'SUCCESS', sent_at }, ['work_queue']));
  });

  it('keeps the raw answer in its record, shortened so that it stays JSON', async () => {
    const small = { status: 503 };
    const large = { body: 'y'.repeat(900) };
    const kept = async (details: object) => {
      const { records } = await setUp(() =>
        refused('UNKNOWN', { message: 'm'.repeat(200), details: { ...details } }),
      ).deliverOne();
      return JSON.parse(records[0]?.error_details ?? '');
    };
    expect(await kept(small)).toEqual(small);
    expect(await kept(large)).toEqual({ shortened: expect.stringMatching(/^\{"body":"y{300,}…$/) });
  });

  it('whose claim is lost before its settlement says so, and its message is done', async () => {
    const { deliverOne, put, tables, queued } = setUp(() => {
      // Its writer replaces the row.
      put(dueRow({ send_attempts: 0, last_attempt: -1 }));
      return { ok: true, response_code: '200' };
    });
    const { report, row } = await deliverOne();
    expect(report).toMatchObject({ disposition: { do: 'done' }, dropped: expect.stringContaining('claim was lost') });
    expect(row).toEqual(dueRow({ send_attempts: 0, last_attempt: -1 }));
    expect([...tables.retryLog.values()]).toEqual([retryRecord({ retry_status: 'SUCCESS', response_code: '200' })]);
    expect(queued).toEqual([]);
  });

  it('that meets a fault of storage returns its message after the end of the claim', async () => {
    const { deps, put } = setUp();
    const error = new Error('storage is down');
    const rows = { ...deps.rows, claim: () => Promise.reject(error) };
    const [report] = await deliverBatch([received(messageFor(put(dueRow())))], { ...deps, rows });
    expect(report).toEqual({ ...REPORTED, disposition: { do: 'return', after_seconds: 65 }, error });
  });

  it.each([
    ['claim', 1],
    ['change', 2],
  ] as const)('is made although the answer to its claim was an error: %s', async (method, receive_count) => {
    const { deps, put, tables, deliveries } = setUp();
    const unanswered = async (...args: never[]) => {
      await (deps.rows[method] as (...args: never[]) => Promise<unknown>)(...args);
      throw new Error('the answer was lost');
    };
    const rows = { ...deps.rows, [method]: unanswered };
    const [report] = await deliverBatch([received(messageFor(put(dueRow())), { receive_count })], { ...deps, rows });
    expect(report?.disposition).toEqual({ do: 'done' });
    expect(deliveries).toHaveLength(1);
    const sent = { send_status: 'SUCCESS', response_code: '200', sent_at: NOW.toISOString() } as const;
    expect(tables.row('log-1')).toEqual(settledRow(sent, ['work_queue']));
  });

  it.each([
    ['claim', 1],
    ['change', 2],
  ] as const)('is not made by the claim of another worker, nor when the row cannot be read: %s', async (method, n) => {
    for (const read of ['theirs', 'error']) {
      const { deps, put, deliveries } = setUp();
      const row = put(dueRow());
      const error = new Error('the call failed');
      const rows = {
        ...deps.rows,
        [method]: async () => {
          put({ ...row, send_status: 'SENDING', claim_id: 'theirs', claim_until: iso(9000) });
          if (read === 'error') rows.read = () => Promise.reject(new Error('the read failed'));
          throw error;
        },
      };
      const [report] = await deliverBatch([received(messageFor(row), { receive_count: n })], { ...deps, rows });
      expect(report).toMatchObject({ disposition: { do: 'return', after_seconds: 65 }, error });
      expect(deliveries).toEqual([]);
    }
  });

  it('before its time is not made: the message comes back when it is due', async () => {
    const { deliverOne, deliveries, put } = setUp();
    const { report } = await deliverOne(put(dueRow({ work_at: iso(4500) })));
    expect(report?.disposition).toEqual({ do: 'return', after_seconds: 4 });
    expect(deliveries).toEqual([]);
  });
});

describe('an attempt that meets a failure', () => {
  it.each(['temporary', 'for good'])(
    'reads an expired credential again once, and repeats the send: %s',
    async (fate) => {
      const answers =
        fate === 'temporary'
          ? [refused('AUTH_TEMPORARY'), { ok: true, response_code: '200' } as const]
          : [refused('AUTH_TEMPORARY'), refused('AUTH_TEMPORARY')];
      let refreshed = 0;
      const sends: number[] = [];
      const sender: Sender = {
        send: async () => answers[sends.push(1) - 1] ?? refused('UNKNOWN'),
        refreshCredential: async () => ++refreshed < 0,
      };
      const { row } = await setUp(() => refused('UNKNOWN'), { sender }).deliverOne();
      expect(refreshed).toBe(1);
      expect(sends).toHaveLength(2);
      expect(row).toEqual(
        fate === 'temporary'
          ? settledRow({ send_status: 'SUCCESS', response_code: '200', sent_at: NOW.toISOString() }, ['work_queue'])
          : settledRow({ ...saidOf('AUTH_TEMPORARY').row, ...dueAgain(10 * MINUTE) }),
      );
    },
  );

  it('is a format error when the content is missing or another tenant’s, and the provider is not asked', async () => {
    const { deliverOne, put, tables, deliveries } = setUp();
    const row = put(dueRow());
    tables.content.set(row.log_id, { ...CONTENT, tenant_id: 'someone else' });
    const { row: ended, records } = await deliverOne(row);
    const said = saidOf('FORMAT_ERROR', 1, 'The encrypted recipient belongs to another notification or tenant.');
    expect(ended).toEqual(settledRow({ ...said.row, ...deadLetter('FORMAT_ERROR') }));
    expect(records).toEqual([retryRecord({ ...said.record, failure_reason: 'FORMAT_ERROR' })]);
    expect(deliveries).toEqual([]);
  });

  it('costs no retry when the key service or the storage fails before the send', async () => {
    const contents = { read: async () => Promise.reject(new Error('KMS is down')) };
    const { row } = await setUp(() => refused('UNKNOWN'), { contents }).deliverOne();
    const { row: said } = saidOf('UNKNOWN', 1, 'The content could not be read: Error');
    expect(row).toEqual(settledRow({ ...said, ...UNCOUNTED, ...dueAgain(5 * MINUTE) }));
  });

  it('is retried as UNKNOWN when the sender breaks, and its error message stays out of the record', async () => {
    const { row, records } = await setUp(() => Promise.reject(new TypeError('to yamada@example.com'))).deliverOne();
    const said = saidOf('UNKNOWN', 1, 'The sender failed: TypeError');
    const again = dueAgain(10 * MINUTE);
    expect(row).toEqual(settledRow({ ...said.row, ...again }));
    const { next_retry_at } = again;
    const error_details = JSON.stringify({ error: 'TypeError' });
    expect(records).toEqual([retryRecord({ ...said.record, error_details, ...(next_retry_at && { next_retry_at }) })]);
  });

  it('is a network timeout when the provider does not answer in time, even if the sender ignores its signal', async () => {
    const timeout = new AbortController();
    const never = () => new Promise<SendResult>(() => setImmediate(() => timeout.abort()));
    const { row } = await setUp(never, { inSendTime: (send) => send(timeout.signal) }).deliverOne();
    const { row: said } = saidOf('NETWORK_TIMEOUT', 1, 'The provider did not answer in time.');
    expect(row).toEqual(settledRow({ ...said, ...dueAgain(10 * MINUTE) }));
  });

  it('leaves a retry that cannot be queued to the sweep', async () => {
    const retries = { send: async () => Promise.reject(new Error('SQS is down')) };
    const { report, row } = await setUp(() => refused('NETWORK_TIMEOUT'), { retries }).deliverOne();
    expect(report).toMatchObject({ disposition: { do: 'done' }, requeue_error: new Error('SQS is down') });
    const again = { ...saidOf('NETWORK_TIMEOUT').row, ...dueAgain(10 * MINUTE) };
    expect(row).toEqual(settledRow(again, ['queued_for']));
  });
});

describe('a batch', () => {
  it('delivers all messages side by side, and the failure of one does not affect the others', async () => {
    let inFlight = 0;
    let most = 0;
    const { deps, put, tables } = setUp(async ({ log_id }) => {
      most = Math.max(most, ++inFlight);
      await new Promise(setImmediate);
      inFlight--;
      if (log_id === 'n-3') throw new Error('broken');
      return { ok: true, response_code: '200' };
    });
    const rows = Array.from({ length: 10 }, (_, i) => put(dueRow({ log_id: `n-${i}` })));
    await deliverBatch(
      rows.map((row) => received(messageFor(row), { message_id: row.log_id })),
      deps,
    );
    expect(most).toBe(10);
    expect([...tables.log.values()].filter(({ send_status }) => send_status === 'SUCCESS')).toHaveLength(9);
  });

  it.each([
    ['whose last worker died', 1],
    ['whose last worker died, and that come for the second time', 2],
  ])('delivers those %s after the others, one at a time', async (_, receive_count) => {
    const changes = { send_status: 'SENDING', claim_until: iso() } as const;
    const running = new Set<string>();
    const seen: { log_id: string; beside: string[] }[] = [];
    const { deps, put } = setUp(async ({ log_id }) => {
      seen.push({ log_id, beside: [...running] });
      running.add(log_id);
      await new Promise(setImmediate);
      running.delete(log_id);
      return { ok: true, response_code: '200' };
    });
    const suspects = ['s-1', 's-2', 's-3'].map((log_id) => put(dueRow({ log_id, ...changes })));
    const others = ['n-1', 'n-2'].map((log_id) => put(dueRow({ log_id })));
    const batch = [
      ...suspects.map((row) => received(messageFor(row), { message_id: row.log_id, receive_count })),
      ...others.map((row) => received(messageFor(row), { message_id: row.log_id })),
    ];
    await deliverBatch(batch, deps);
    expect(seen.slice(0, 2).map(({ log_id }) => log_id)).toEqual(['n-1', 'n-2']);
    expect(
      seen
        .slice(2)
        .map(({ log_id }) => log_id)
        .sort(),
    ).toEqual(['s-1', 's-2', 's-3']);
    expect(seen.slice(2).every(({ beside }) => beside.length === 0)).toBe(true);
  });
});
