import { describe, expect, it } from 'vitest';
import { MemoryTables } from '../../../src/adapters/memory/memory-tables.ts';
import { type DeliverBatchDeps, deliverBatch } from '../../../src/core/delivery/deliver-batch.ts';
import { PASS_THROUGH } from '../../../src/core/delivery/provider-gate.ts';
import type { Delivery, Refused, Sender, SendResult } from '../../../src/core/delivery/sender.ts';
import type { ProviderErrorType } from '../../../src/core/model/error-types.ts';
import type { NotificationRow, RetryRecord } from '../../../src/core/model/notification.ts';
import type { QueueMessage, ReceivedMessage } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { at, CONTENT, dueRow, messageFor, received, T0 } from '../../support/rows.ts';

const NOW = at(1000);
const MINUTE = 60_000;
const refused = (error_type: ProviderErrorType, more: Partial<Refused> = {}): Refused => ({
  ok: false,
  error_type,
  message: `it is ${error_type}`,
  ...more,
});

function setUp(
  answer: (delivery: Delivery, signal: AbortSignal) => Promise<SendResult> | SendResult,
  more: Partial<DeliverBatchDeps> = {},
) {
  const tables = new MemoryTables(() => NOW);
  const deliveries: Delivery[] = [];
  const queued: { message: QueueMessage; delay_seconds: number }[] = [];
  const sender: Sender = {
    async send(delivery, signal) {
      deliveries.push(delivery);
      return answer(delivery, signal);
    },
  };
  const deps: DeliverBatchDeps = {
    rows: tables.rows,
    records: tables.records,
    contents: tables.contents,
    sender,
    gate: PASS_THROUGH,
    successors: tables.successors,
    retries: { send: async (message, delay_seconds) => void queued.push({ message, delay_seconds }) },
    policy: DEFAULT_RETRY_POLICY,
    clock: () => NOW,
    random: () => 0,
    claim_ms: 65_000,
    sendTimeout: () => new AbortController().signal,
    pause: async () => {},
    outOfTime: () => false,
    ...more,
  };
  const put = (row: NotificationRow) => {
    tables.log.set(row.log_id, { ...row });
    tables.content.set(row.log_id, { ...CONTENT, tenant_id: row.tenant_id });
    return row;
  };
  const deliverOne = async (row = put(dueRow()), changes: Partial<ReceivedMessage> = {}) => {
    const [report] = await deliverBatch([received(messageFor(row), changes)], deps);
    return { report, row: tables.row(row.log_id), records: [...tables.retryLog.values()] };
  };
  return { tables, deliveries, queued, deps, put, deliverOne };
}

describe('an attempt', () => {
  it('that the provider accepts ends the notification: SUCCESS, out of the index, with its record', async () => {
    const { deliverOne, deliveries } = setUp(() => ({ ok: true, response_code: '200', provider_message_id: 'p-1' }));
    const { report, row, records } = await deliverOne();
    expect(report?.disposition).toEqual({ do: 'done' });
    expect(row).toMatchObject({
      send_status: 'SUCCESS',
      send_attempts: 2,
      retry_count: 1,
      sent_at: NOW.toISOString(),
      response_code: '200',
    });
    expect(row).not.toHaveProperty('work_queue');
    expect(records).toEqual([
      expect.objectContaining({
        retry_log_id: 'log-1#1',
        retry_attempt: 1,
        retry_status: 'SUCCESS',
        provider_message_id: 'p-1',
        trigger: 'sweep',
      }),
    ]);
    expect(deliveries).toEqual([expect.objectContaining({ log_id: 'log-1', attempt: 1, content: CONTENT })]);
  });

  it('that fails temporarily queues a message at once, with the delay of its backoff', async () => {
    const { deliverOne, queued } = setUp(() => refused('NETWORK_TIMEOUT'));
    const { row, records } = await deliverOne();
    const next = new Date(NOW.getTime() + 10 * MINUTE).toISOString();
    expect(row).toMatchObject({
      send_status: 'RETRY',
      next_retry_at: next,
      work_at: next,
      queued_for: next.slice(11, 19),
      error_type: 'NETWORK_TIMEOUT',
      retry_count: 1,
      attempts_left: 4,
    });
    expect(queued).toEqual([{ message: expect.objectContaining({ due: next, log_id: 'log-1' }), delay_seconds: 600 }]);
    expect(records).toEqual([
      expect.objectContaining({
        retry_status: 'FAILED',
        error_type: 'NETWORK_TIMEOUT',
        next_retry_at: next,
        remedy: expect.any(String),
      }),
    ]);
  });

  it('leaves a retry to a sweep when SQS cannot delay its message so long', async () => {
    const { deliverOne, queued } = setUp(() => refused('SERVER_OVERLOAD'));
    const { row } = await deliverOne();
    expect(row).toMatchObject({ send_status: 'RETRY' });
    expect(row).not.toHaveProperty('queued_for');
    expect(queued).toEqual([]);
  });

  it('that meets a rate limit uses up no retry', async () => {
    const { deliverOne } = setUp(() => refused('RATE_LIMITED', { retry_after_ms: 7 * MINUTE }));
    const { row } = await deliverOne();
    expect(row).toMatchObject({
      send_status: 'RETRY',
      send_attempts: 1,
      attempts_left: 5,
      retry_count: 0,
      last_attempt: 1,
      next_retry_at: new Date(NOW.getTime() + 7 * MINUTE).toISOString(),
    });
  });

  it('on a wrong recipient stops without a dead letter', async () => {
    const { deliverOne } = setUp(() => refused('INVALID_RECIPIENT'));
    const { report, row } = await deliverOne();
    expect(report?.disposition).toEqual({ do: 'done' });
    expect(row).toMatchObject({ send_status: 'FAILED', failure_reason: 'INVALID_RECIPIENT' });
    expect(row).not.toHaveProperty('work_queue');
    expect(row).not.toHaveProperty('next_retry_at');
  });

  it('that ends in the DLQ stores the id of the message that goes there', async () => {
    const { deliverOne } = setUp(() => refused('PERMISSION_DENIED'));
    const { report, row } = await deliverOne();
    expect(report?.disposition).toEqual({ do: 'dead_letter' });
    expect(row).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'PERMISSION_DENIED',
      work_queue: expect.stringMatching(/^dead#/),
      dead_message_id: 'message-1',
      dead_run_id: 'sweep-1',
    });
  });

  it('beyond the deadline is not made: SKIPPED, EXPIRED, and not counted', async () => {
    const { deliverOne, deliveries, put } = setUp(() => ({ ok: true, response_code: '200' }));
    const { row, records } = await deliverOne(put(dueRow({ first_attempt_at: at(-7 * 60 * MINUTE).toISOString() })));
    expect(deliveries).toEqual([]);
    expect(row).toMatchObject({ send_status: 'FAILED', failure_reason: 'EXPIRED', send_attempts: 1, attempts_left: 5 });
    expect(records).toEqual([expect.objectContaining({ retry_status: 'SKIPPED', failure_reason: 'EXPIRED' })]);
  });

  it.each([
    ['for a retry', {}],
    ['to be given up', { give_up: 'MAX_RETRIES' }],
    ['without an attempt left', { attempts_left: 0 }],
  ] as const)(
    'is not made when an event has shown that the notification arrived: it is SUCCESS, %s',
    async (_, changes) => {
      const { deliverOne, put, deliveries } = setUp(() => ({ ok: true, response_code: '200' }));
      const delivered_at = T0.toISOString();
      const { report, row, records } = await deliverOne(
        put(dueRow({ ...changes, delivered_at, delivery_by_attempt: { 0: 'delivered' } })),
      );
      expect(deliveries).toEqual([]);
      expect(report?.disposition).toEqual({ do: 'done' });
      expect(row).toMatchObject({ send_status: 'SUCCESS', send_attempts: 1, sent_at: delivered_at });
      for (const name of ['work_queue', 'give_up', 'failure_reason']) expect(row).not.toHaveProperty(name);
      expect(records).toMatchObject([{ retry_attempt: 1, retry_status: 'SKIPPED' }]);
    },
  );

  it.each([
    ['FORMAT_ERROR', { do: 'dead_letter' }],
    ['INVALID_RECIPIENT', { do: 'done' }],
  ] as const)(
    'is not made when an event has shown that it is pointless, and a redrive does not see the reason: %s',
    async (give_up, disposition) => {
      const { deliverOne, put, deliveries } = setUp(() => ({ ok: true, response_code: '200' }));
      const { report, row } = await deliverOne(
        put(dueRow({ give_up, error_type: give_up, error_message: 'it bounced' })),
      );
      expect(deliveries).toEqual([]);
      expect(report?.disposition).toEqual(disposition);
      expect(row).toMatchObject({
        send_status: 'FAILED',
        failure_reason: give_up,
        error_message: 'it bounced',
        send_attempts: 1,
      });
      expect(row).not.toHaveProperty('give_up');
    },
  );

  it('is not made on a logically deleted notification: CANCELLED, without a dead letter', async () => {
    const { deliverOne, deliveries, put } = setUp(() => ({ ok: true, response_code: '200' }));
    const { report, row } = await deliverOne(put(dueRow({ is_deleted: true })));
    expect(deliveries).toEqual([]);
    expect(report?.disposition).toEqual({ do: 'done' });
    expect(row).toMatchObject({ send_status: 'FAILED', failure_reason: 'CANCELLED', send_attempts: 1 });
    expect(row).not.toHaveProperty('work_queue');
  });

  it('before its time is not made: the message comes back when it is due', async () => {
    const { deliverOne, deliveries, put } = setUp(() => ({ ok: true, response_code: '200' }));
    const { report } = await deliverOne(put(dueRow({ work_at: at(4500).toISOString() })));
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
        refreshCredential: async () => void refreshed++,
      };
      const { row } = await setUp(() => refused('UNKNOWN'), { sender }).deliverOne();
      expect(refreshed).toBe(1);
      expect(sends).toHaveLength(2);
      expect(row).toMatchObject(
        fate === 'temporary' ? { send_status: 'SUCCESS' } : { send_status: 'RETRY', error_type: 'AUTH_TEMPORARY' },
      );
    },
  );

  it('is a format error when the content is missing or another tenant’s, and the provider is not asked', async () => {
    const { deliverOne, put, tables, deliveries } = setUp(() => ({ ok: true, response_code: '200' }));
    const row = put(dueRow());
    tables.content.set(row.log_id, { ...CONTENT, tenant_id: 'someone else' });
    expect((await deliverOne(row)).row).toMatchObject({ send_status: 'FAILED', failure_reason: 'FORMAT_ERROR' });
    expect(deliveries).toEqual([]);
  });

  it('costs no retry when the key service or the storage fails before the send', async () => {
    const contents = { read: async () => Promise.reject(new Error('KMS is down')) };
    const { row } = await setUp(() => refused('UNKNOWN'), { contents }).deliverOne();
    expect(row).toMatchObject({ send_status: 'RETRY', send_attempts: 1, attempts_left: 5 });
  });

  it('is retried as UNKNOWN when the sender breaks, and its error message stays out of the record', async () => {
    const { row, records } = await setUp(() => Promise.reject(new TypeError('to yamada@example.com'))).deliverOne();
    expect(row).toMatchObject({ send_status: 'RETRY', error_type: 'UNKNOWN' });
    expect(JSON.stringify(records)).toMatch(/TypeError/);
    expect(JSON.stringify(records)).not.toMatch(/yamada/);
  });

  it('is a network timeout when the provider does not answer in time, even if the sender ignores its signal', async () => {
    const timeout = new AbortController();
    const never = () => new Promise<SendResult>(() => setImmediate(() => timeout.abort()));
    const { row } = await setUp(never, { sendTimeout: () => timeout.signal }).deliverOne();
    expect(row).toMatchObject({ send_status: 'RETRY', error_type: 'NETWORK_TIMEOUT' });
  });

  it('leaves a retry that cannot be queued to the sweep', async () => {
    const retries = { send: async () => Promise.reject(new Error('SQS is down')) };
    const { report, row } = await setUp(() => refused('NETWORK_TIMEOUT'), { retries }).deliverOne();
    expect(report?.disposition).toEqual({ do: 'done' });
    expect(row).toMatchObject({ send_status: 'RETRY', work_queue: expect.stringMatching(/^due#/) });
  });
});

describe('an attempt whose worker recorded it and died', () => {
  const claim = {
    send_status: 'SENDING',
    claim_until: at(500).toISOString(),
    send_attempts: 2,
    attempts_left: 4,
    last_attempt: 1,
  } as const;
  const recordOf = (changes: Partial<RetryRecord>): RetryRecord => ({
    retry_log_id: 'log-1#1',
    original_log_id: 'log-1',
    retry_attempt: 1,
    tenant_id: 'tenant-1',
    channel: 'webhook',
    retry_at: T0.toISOString(),
    retry_status: 'FAILED',
    duration_ms: 1,
    trigger: 'sweep',
    run_id: 'sweep-1',
    ...changes,
  });

  it.each([
    [
      { retry_status: 'SUCCESS', response_code: '202' } as const,
      { send_status: 'SUCCESS', send_attempts: 2, response_code: '202' },
    ],
    [
      {
        error_type: 'AUTH_FAILED',
        failure_reason: 'AUTH_FAILED',
        response_message: 'it said no',
        response_code: '401',
      } as const,
      { send_status: 'FAILED', send_attempts: 2, attempts_left: 4, error_message: 'it said no', response_code: '401' },
    ],
    [
      { error_type: 'UNKNOWN', next_retry_at: at(MINUTE).toISOString(), uncounted: true } as const,
      { send_status: 'RETRY', send_attempts: 1, attempts_left: 5, next_retry_at: at(MINUTE).toISOString() },
    ],
    [
      { retry_status: 'SKIPPED', error_type: 'EXPIRED', failure_reason: 'EXPIRED' } as const,
      { send_status: 'FAILED', failure_reason: 'EXPIRED', send_attempts: 1 },
    ],
  ])('is settled by its record %o, and nothing is sent', async (record, expected) => {
    const { deliverOne, put, tables, deliveries } = setUp(() => ({ ok: true, response_code: '200' }));
    await tables.records.put(recordOf(record));
    expect((await deliverOne(put(dueRow(claim)))).row).toMatchObject(expected);
    expect(deliveries).toEqual([]);
  });

  it('that failed is queued again for the time in its record', async () => {
    const { deliverOne, put, tables, queued } = setUp(() => ({ ok: true, response_code: '200' }));
    const next = at(MINUTE).toISOString();
    await tables.records.put(recordOf({ error_type: 'UNKNOWN', next_retry_at: next }));
    const { row } = await deliverOne(put(dueRow(claim)));
    expect(row).toMatchObject({ send_status: 'RETRY', queued_for: next.slice(11, 19) });
    expect(queued).toEqual([{ message: expect.objectContaining({ due: next }), delay_seconds: expect.any(Number) }]);
  });

  it('is made again when the record is older than the claim: the writer has replaced the row', async () => {
    const { deliverOne, put, tables, deliveries } = setUp(() => ({ ok: true, response_code: '200' }));
    await tables.records.put(recordOf({ retry_status: 'SUCCESS', retry_at: at(-90_000).toISOString() }));
    await deliverOne(put(dueRow(claim)));
    expect(deliveries).toHaveLength(1);
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
    const changes = { send_status: 'SENDING', claim_until: T0.toISOString() } as const;
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

  it.each([
    ['a redrive', { is_deleted: true }, {}, 'CANCELLED'],
    ['a forced run', { is_deleted: true }, { options: { force: true }, run_id: 'manual-9' }, 'CANCELLED'],
    ['a redrive', { give_up: 'FORMAT_ERROR' }, {}, 'FORMAT_ERROR'],
    ['a forced run', { give_up: 'FORMAT_ERROR' }, { options: { force: true } }, 'FORMAT_ERROR'],
  ] as const)('%s sends nothing, and takes the row %o out of the index', async (_, why, message, failure_reason) => {
    const { deliveries, deps, put, tables } = setUp(() => ({ ok: true, response_code: '200' }));
    const row = put(dead(why));
    const redriven = received(messageFor(row, message), { message_id: 'message-7', sent_at: at(500) });
    const [report] = await deliverBatch([redriven], deps);
    expect(deliveries).toEqual([]);
    expect(report?.disposition).toEqual({ do: 'done' });
    const ended = tables.row('log-1');
    expect(ended).toMatchObject({ send_status: 'FAILED', failure_reason, send_attempts: 3, attempts_left: 3 });
    for (const gone of ['work_queue', 'give_up', 'dead_message_id', 'dead_run_id'])
      expect(ended).not.toHaveProperty(gone);
    expect([...tables.retryLog.values()]).toEqual([
      expect.objectContaining({ retry_attempt: 3, retry_status: 'SKIPPED', failure_reason }),
    ]);
  });
});
