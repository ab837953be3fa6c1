import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { recordDue } from '../../../src/core/delivery/retry-record.ts';
import { applyDeliveryEvent } from '../../../src/core/delivery-events/apply-delivery-event.ts';
import type { DeliveryEvent, Feedback } from '../../../src/core/delivery-events/delivery-event.ts';
import { arrived, type NotificationRow, type RetryRecord } from '../../../src/core/model/notification.ts';
import type { QueueMessage } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { acceptedRow, eventOf, PERMANENT, recordOf, TRANSIENT, uncertainRow } from '../../support/delivery-events.ts';
import { at, dueRow, iso } from '../../support/rows.ts';

/** A notification with its three attempts, and the queue of its channel. */
function start(row: NotificationRow, records: readonly RetryRecord[]) {
  let time = 2000;
  // No two writes in the same millisecond, as on DynamoDB for one row.
  const clock = () => at(time++);
  const tables = new MemoryTables(clock);
  tables.log.set(row.log_id, { ...row, updated_at: clock().toISOString() });
  for (const record of records) tables.retryLog.set(record.retry_log_id, record);
  const queued: [QueueMessage, number][] = [];
  const deps = {
    rows: tables.eventRows,
    records: tables.records,
    retries: { send: async (message: QueueMessage, delay: number) => void queued.push([message, delay]) },
    policy: DEFAULT_RETRY_POLICY,
    clock,
    random: () => 0,
  };
  const tell = (event: DeliveryEvent) => applyDeliveryEvent(event, deps);
  return { tables, queued, deps, tell, row: () => tables.row(row.log_id) };
}

const uncertain = () =>
  start(uncertainRow(), [recordOf(0, 'UNKNOWN'), recordOf(1, 'NETWORK_TIMEOUT'), recordOf(2, 'NETWORK_TIMEOUT')]);
const accepted = () => start(acceptedRow(), [recordOf(0, 'UNKNOWN'), recordOf(1, 'NETWORK_TIMEOUT'), recordOf(2)]);

describe('a delivery event', () => {
  it('cancels the pending retry of a notification that arrived, and corrects its record', async () => {
    const { tell, row, tables } = uncertain();
    expect(await tell(eventOf({ kind: 'delivered' }))).toMatchObject({ outcome: 'reconcile', tenant_id: 'tenant-1' });
    expect(row()).toMatchObject({ send_status: 'SUCCESS', delivered_at: iso(1000) });
    expect(row()).not.toHaveProperty('work_queue');
    expect(tables.retryLog.get('log-1#2')).toMatchObject({ retry_status: 'SUCCESS', provider_message_id: 'message-2' });
  });

  it('withdraws the successor of a notification that arrived, unless the successor’s attempt is under way', async () => {
    const over = { successor_log_id: 'log-1-fallback', fallback_channel: 'slack' } as const;
    const given = { send_status: 'FAILED', failure_reason: 'MAX_RETRIES', ...over } as const;
    const named = { log_id: 'log-1-fallback', predecessor_log_id: 'log-1' };
    const states = [
      [dueRow(named), 'CANCELLED'],
      [dueRow({ ...named, send_status: 'SENDING', claim_until: iso(62_000) }), undefined],
    ] as const;
    for (const [successor, reason] of states) {
      const { work_queue: _, ...dead } = uncertainRow(given);
      const { tell, row, tables } = start(dead, [recordOf(2, 'NETWORK_TIMEOUT')]);
      tables.log.set(successor.log_id, { ...successor });
      await tell(eventOf({ kind: 'delivered' }));
      expect(row()).toMatchObject({ send_status: 'SUCCESS' });
      expect(tables.row(successor.log_id)?.failure_reason).toBe(reason);
      expect(tables.row(successor.log_id)?.work_queue === undefined).toBe(reason !== undefined);
    }
  });

  it.each([
    ['before it settled the row', { send_status: 'SENDING', claim_until: iso(0) }, {}],
    ['and the worker that took over found an earlier event', { send_status: 'SUCCESS' }, { work_queue: undefined }],
  ] as const)('withdraws the successor that a worker made that crashed %s', async (_, given, more) => {
    const row = { ...uncertainRow({ ...given, fallback_channel: 'slack' }), ...more } as NotificationRow;
    const { tell, tables } = start(row, [recordOf(2, 'NETWORK_TIMEOUT')]);
    const successor = dueRow({ log_id: 'log-1-fallback', predecessor_log_id: 'log-1' });
    tables.log.set(successor.log_id, { ...successor });
    await tell(eventOf({ kind: 'delivered' }));
    expect(tables.row('log-1')).toMatchObject({ send_status: 'SUCCESS' });
    expect(tables.row('log-1-fallback')).toMatchObject({ failure_reason: 'CANCELLED' });
  });

  it('queues a message when a bounce makes the row due soon', async () => {
    const { tell, queued, row } = accepted();
    await tell(eventOf(PERMANENT));
    const message = { log_id: 'log-1', due: row()?.work_at, run_id: 'sweep-1#000000', channel: 'email', version: 1 };
    expect(queued).toEqual([[expect.objectContaining(message), 1]]);
  });

  it('leaves a row that is due later to the sweep', async () => {
    const { tell, queued, row } = accepted();
    await tell(eventOf(TRANSIENT));
    expect(Date.parse(row()?.work_at ?? '')).toBeGreaterThan(at(15 * 60_000).getTime());
    expect(queued).toEqual([]);
  });

  it('is complete although its retry could not be queued', async () => {
    const { deps } = accepted();
    const retries = { send: () => Promise.reject(new Error('SQS is away')) };
    const report = await applyDeliveryEvent(eventOf(PERMANENT), { ...deps, retries });
    expect(report).toMatchObject({ outcome: 'fail', requeue_error: expect.any(Error) });
  });

  it('about a row that owes its record takes what the row says, and pays it', async () => {
    const record_due = recordDue(recordOf(2));
    const { work_queue, work_at } = dueRow();
    const { tell, row, tables } = start(
      acceptedRow({ record_due, ...(work_queue && { work_queue }), ...(work_at && { work_at }) }),
      [],
    );
    expect(await tell(eventOf(PERMANENT, { provider_message_id: 'another' }))).toMatchObject({ outcome: 'ignore' });
    expect(await tell(eventOf({ kind: 'delivered' }))).toMatchObject({ outcome: 'note' });
    expect(row()).toMatchObject({ send_status: 'SUCCESS', record_due });
    expect(tables.retryLog.size).toBe(0);
    expect(await tell(eventOf(PERMANENT))).toMatchObject({ outcome: 'fail' });
    expect(row()).toMatchObject({ send_status: 'RETRY', give_up: 'INVALID_RECIPIENT' });
    expect(row()).not.toHaveProperty('record_due');
    expect([...tables.retryLog.values()]).toEqual([
      expect.objectContaining({ retry_log_id: 'log-1#2', retry_status: 'FAILED', error_type: 'INVALID_RECIPIENT' }),
    ]);
  });

  it('comes back for a row that owed its record and could not be changed, although the record is written', async () => {
    const record_due = recordDue({ ...recordOf(2), run_id: 'sweep-1' });
    const { deps, row, tables } = start(acceptedRow({ record_due }), []);
    const refuse = () => Promise.reject(new Error('slow down'));
    await expect(
      applyDeliveryEvent(eventOf(PERMANENT), { ...deps, rows: { ...deps.rows, change: refuse } }),
    ).rejects.toThrow();
    expect(tables.retryLog.get('log-1#2')).toMatchObject({ retry_status: 'FAILED', evidence: 'bounced' });
    await applyDeliveryEvent(eventOf(PERMANENT), deps);
    expect(row()).toMatchObject({ give_up: 'INVALID_RECIPIENT', delivery_by_attempt: { 2: 'bounced' } });
  });

  it('about an unknown notification is ignored', async () => {
    expect(await accepted().tell(eventOf({ kind: 'delivered' }, { log_id: 'none' }))).toMatchObject({
      outcome: 'ignore',
      because: 'there is no such notification',
    });
  });

  it('comes back when the attempt under way is over', async () => {
    const row = uncertainRow({ send_status: 'SENDING', claim_until: iso(62_000) });
    const { tell } = start(row, [recordOf(1, 'UNKNOWN')]);
    const { again_after_seconds } = await tell(eventOf({ kind: 'delivered' }));
    expect(again_after_seconds).toBe(60);
  });

  it('is decided again when the row changes meanwhile, and comes back when the row keeps changing', async () => {
    const { deps, row } = uncertain();
    let conflicts = 2;
    const change: typeof deps.rows.change = async (was, to) => (conflicts-- > 0 ? false : deps.rows.change(was, to));
    await applyDeliveryEvent(eventOf({ kind: 'delivered' }), { ...deps, rows: { ...deps.rows, change } });
    expect(row()?.send_status).toBe('SUCCESS');
    const other = uncertain();
    const never = { ...other.deps.rows, change: async () => false };
    await expect(
      applyDeliveryEvent(eventOf({ kind: 'delivered' }), { ...other.deps, rows: never }),
    ).rejects.toMatchObject({ message: expect.stringContaining('log-1') });
  });

  it('loses no other event that comes at the same moment', async () => {
    const { tell, row } = accepted();
    await Promise.all([tell(eventOf({ kind: 'delivered' })), tell(eventOf({ kind: 'opened' }))]);
    expect(row()).toMatchObject({ delivered_at: expect.any(String), opened_at: expect.any(String) });
  });
});

const event: fc.Arbitrary<DeliveryEvent> = fc
  .record({
    feedback: fc.constantFrom<Feedback>(
      { kind: 'delivered' },
      { kind: 'delivered' },
      { kind: 'opened' },
      { kind: 'complained' },
      PERMANENT,
      TRANSIENT,
    ),
    attempt: fc.integer({ min: 0, max: 3 }),
    ms: fc.nat({ max: 1000 }),
  })
  .map(({ feedback, attempt, ms }) => eventOf(feedback, { attempt, at: iso(ms) }));

it.each([
  ['SES accepted', accepted],
  ['has an uncertain outcome', uncertain],
])('events about a notification that %s lead to the same state in any order and number', async (_, begin) => {
  let arrivals = 0;
  let bounces = 0;
  const several = fc.array(event, { minLength: 1, maxLength: 6 }).chain((events) =>
    fc.tuple(
      fc.constant(events),
      // Any order, and some of them twice.
      fc.shuffledSubarray([...events, ...events], { minLength: events.length }).map((some) => [...some, ...events]),
    ),
  );
  await fc.assert(
    fc.asyncProperty(several, async ([events, shuffled]) => {
      const [one, other] = [begin(), begin()];
      for (const each of events) await one.tell(each);
      for (const each of shuffled) await other.tell(each);
      const end = facts(one.row());
      expect(facts(other.row())).toEqual(end);
      if (end.arrived) expect(end.send_status).toBe('SUCCESS');
      if (events.every(({ feedback }) => feedback.kind !== 'failed')) {
        expect(other.row()?.delivered_at).toBe(one.row()?.delivered_at);
      }
      if (end.arrived) arrivals += 1;
      if (end.send_status === 'RETRY') bounces += 1;
    }),
    { numRuns: 500 },
  );
  expect(arrivals).toBeGreaterThan(0);
  expect(bounces).toBeGreaterThan(0);
});

function facts(row: NotificationRow | undefined) {
  const { send_status, delivery_by_attempt, opened_at, complained_at, suppressed } = row ?? {};
  const marks = { delivery_by_attempt, opened_at, complained_at, suppressed };
  return { send_status, arrived: arrived(delivery_by_attempt), ...marks };
}

describe('two events of an attempt at the same moment', () => {
  const SEEN: Feedback = { kind: 'complained' };

  /** Before the n-th call of one event, the other one is applied as a whole. */
  async function told(first: Feedback, second: Feedback, before: number) {
    const { deps, tell, row, tables } = accepted();
    let calls = 0;
    const through = <T extends object>(port: T): T => {
      const call =
        (run: (...args: unknown[]) => Promise<unknown>) =>
        async (...args: unknown[]) => {
          if (calls++ === before) await tell(eventOf(second));
          return run(...args);
        };
      const methods = Object.entries(port).map(([name, run]) => [name, call(run)]);
      return Object.fromEntries(methods) as T;
    };
    await applyDeliveryEvent(eventOf(first), { ...deps, rows: through(deps.rows), records: through(deps.records) });
    return { calls, row: row(), record: tables.retryLog.get('log-1#2') };
  }

  it.each([
    ['a complaint and a soft bounce', SEEN, TRANSIENT, 'SUCCESS'],
    ['a soft bounce and a complaint', TRANSIENT, SEEN, 'SUCCESS'],
    ['a delivery and a bounce', { kind: 'delivered' } as const, PERMANENT, 'FAILED'],
    ['a bounce and a delivery', PERMANENT, { kind: 'delivered' } as const, 'FAILED'],
  ])('%s lead to the record that the stronger one shows, wherever they meet', async (_, first, second, status) => {
    for (let before = 0; ; before++) {
      const { calls, row, record } = await told(first, second, before);
      if (before >= calls) return expect(calls).toBeGreaterThan(2);
      const meets = `before call ${before}`;
      expect(record?.retry_status, meets).toBe(status);
      expect(row?.send_status, meets).toBe(status === 'SUCCESS' ? 'SUCCESS' : 'RETRY');
    }
  });
});
