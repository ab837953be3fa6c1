import { describe, expect, it } from 'vitest';
import { deliverBatch } from '../../../src/core/delivery/deliver.ts';
import { recordDue } from '../../../src/core/delivery/retry-record.ts';
import { UPDATED_BY } from '../../../src/core/model/notification.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { deadLetter, NOW, REPORTED, retryRecord, settledRow, setUp, UNCOUNTED } from '../../support/delivering.ts';
import { dueRow, iso, messageFor, received } from '../../support/rows.ts';

const ACCEPTED = { ok: true, response_code: '200' } as const;
const numbered = (count: number) => Array.from({ length: count }, (_, i) => dueRow({ log_id: `n-${i}` }));

describe('a batch', () => {
  it('is answered in the order of its messages', async () => {
    const { deps, put } = setUp(async ({ log_id }) => {
      if (log_id === 'n-0') await new Promise(setImmediate);
      return ACCEPTED;
    });
    const reports = await deliverBatch(
      numbered(3).map((row) => received(messageFor(put(row)))),
      deps,
    );
    expect(reports.map(({ log_id, attempt }) => [log_id, attempt])).toEqual([
      ['n-0', 1],
      ['n-1', 1],
      ['n-2', 1],
    ]);
  });

  it('gives back untouched what does not fit into the time that is left', async () => {
    let begun = 0;
    const { deps, put, tables } = setUp(() => ACCEPTED, { timeLeft: () => (++begun === 2 ? 34_999 : 60_000) });
    const rows = numbered(2).map(put);
    const reports = await deliverBatch(
      rows.map((row) => received(messageFor(row))),
      deps,
    );
    expect(reports[1]).toEqual({ ...REPORTED, log_id: 'n-1', disposition: { do: 'return', after_seconds: 30 } });
    const sent = { send_status: 'SUCCESS', sent_at: NOW.toISOString(), response_code: '200' } as const;
    expect(tables.row('n-0')).toEqual(settledRow({ log_id: 'n-0', ...sent }, ['work_queue']));
    expect(tables.row('n-1')).toEqual(rows[1]);
  });

  it.each([
    ['rising', 0.001, ['n-0', 'n-1', 'n-2']],
    ['falling', -0.001, ['n-2', 'n-1', 'n-0']],
  ])('takes those whose worker died in random order: %s draws', async (_, step, expected) => {
    let drawn = 0.5;
    const sent: string[] = [];
    const { deps, put } = setUp(
      ({ log_id }) => {
        sent.push(log_id);
        return ACCEPTED;
      },
      {
        random: () => {
          drawn += step;
          return drawn;
        },
      },
    );
    const died = { send_status: 'SENDING', claim_until: iso() } as const;
    const batch = numbered(3).map((row) => received(messageFor(put({ ...row, ...died })), { receive_count: 2 }));
    await deliverBatch(batch, deps);
    expect(sent).toEqual(expected);
  });

  it('takes what crashed its worker last at the end, though another writer claims a row until no time', async () => {
    const sent: string[] = [];
    let drawn = 0;
    const send = ({ log_id }: { readonly log_id: string }) => {
      sent.push(log_id);
      return ACCEPTED;
    };
    const { deps, put } = setUp(send, { random: () => drawn++ / 10 });
    const batch = [iso(), 'soon', iso(-60_000)].map((claim_until, i) => {
      const row = put({ ...dueRow({ log_id: `n-${i}` }), send_status: 'SENDING', claim_until });
      return received(messageFor(row), { receive_count: 2 });
    });
    await deliverBatch(batch, deps);
    expect(sent).toEqual(['n-1', 'n-2', 'n-0']);
  });

  it('delivers all but the one that crashes each worker by the third receive, whatever is drawn', async () => {
    let now = NOW;
    const crashes = new Promise<never>(() => {});
    const { deps, put, tables } = setUp(({ log_id }) => (log_id === 'n-0' ? crashes : ACCEPTED), { clock: () => now });
    const crashed = { send_status: 'SENDING', claim_until: iso() } as const;
    const messages = numbered(25).map((row) => messageFor(put({ ...row, ...crashed })));
    const left = () => messages.filter(({ log_id }) => tables.row(log_id)?.send_status !== 'SUCCESS');
    for (const receive_count of [2, 3]) {
      const batch = left().map((message) => received(message, { receive_count }));
      void deliverBatch(batch, deps);
      for (let turn = 0; turn < 1_000; turn++) await Promise.resolve();
      now = new Date(now.getTime() + 361_000);
    }
    expect(left().map(({ log_id }) => log_id)).toEqual(['n-0']);
  });
});

describe('a message', () => {
  it('comes back when it is due, to the second, and is taken at the very moment', async () => {
    const { deliverOne, put } = setUp(() => ACCEPTED);
    const wait = async (ms: number) => {
      const { report } = await deliverOne(put(dueRow({ work_at: iso(1000 + ms) })));
      return report?.disposition;
    };
    expect(await wait(1)).toEqual({ do: 'return', after_seconds: 1 });
    expect(await wait(1001)).toEqual({ do: 'return', after_seconds: 2 });
    expect(await wait(0)).toEqual({ do: 'done' });
  });

  it('claims its row for the time that a worker can live', async () => {
    const until: unknown[] = [];
    const { deliverOne, tables } = setUp(() => {
      until.push(tables.row('log-1')?.claim_until);
      return ACCEPTED;
    });
    await deliverOne();
    expect(until).toEqual([new Date(NOW.getTime() + 65_000).toISOString()]);
  });

  it('of a delivered row that owes its record writes the record, and sends nothing', async () => {
    const { deliverOne, put, deliveries } = setUp(() => ACCEPTED);
    const record = retryRecord({ retry_status: 'SUCCESS', response_code: '200' });
    const row = put(dueRow({ send_status: 'SUCCESS', last_attempt: 1, record_due: recordDue(record) }));
    const { report, row: stored, records } = await deliverOne(row);
    expect(report).toMatchObject({ disposition: { do: 'done' }, dropped: expect.stringContaining('is written') });
    expect([records, deliveries]).toEqual([[record], []]);
    const { work_queue: _, record_due: __, ...repaired } = row;
    expect(stored).toEqual({ ...repaired, updated_at: NOW.toISOString(), updated_by: UPDATED_BY });
  });

  it('that is on its way to the DLQ is bounced, without another attempt or write', async () => {
    const { deliverOne, put, deliveries } = setUp(() => ACCEPTED);
    const row = put(
      dueRow({
        work_queue: workQueueOf('dead', 'normal', 'log-1'),
        failure_reason: 'AUTH_FAILED',
        dead_message_id: 'message-1',
        dead_run_id: 'sweep-1',
      }),
    );
    const { report, row: stored } = await deliverOne(row, { receive_count: 2 });
    expect(report).toEqual({ ...REPORTED, disposition: { do: 'dead_letter' } });
    expect([stored, deliveries]).toEqual([row, []]);
  });

  it('without a row is dropped, whether it comes for the first time or again', async () => {
    for (const receive_count of [1, 2]) {
      const { deps, deliveries } = setUp(() => ACCEPTED);
      const [report] = await deliverBatch([received(messageFor(dueRow()), { receive_count })], deps);
      expect(report).toMatchObject({ disposition: { do: 'done' }, dropped: 'there is no such notification' });
      expect(deliveries).toEqual([]);
    }
  });

  it('whose row others keep changing comes back after a moment, and nothing is sent', async () => {
    const { deps, put, deliveries } = setUp(() => ACCEPTED);
    let [reads, changes] = [0, 0];
    const rows = {
      ...deps.rows,
      read: (log_id: string) => {
        reads++;
        return deps.rows.read(log_id);
      },
      change: async () => {
        changes++;
        return false;
      },
    };
    const [report] = await deliverBatch([received(messageFor(put(dueRow())), { receive_count: 2 })], { ...deps, rows });
    expect(report?.disposition).toEqual({ do: 'return', after_seconds: 5 });
    expect([reads, changes, deliveries.length]).toEqual([4, 3, 0]);
  });

  it('that claims its row reads nothing first; one that comes again decides by the row', async () => {
    for (const [receive_count, reads] of [
      [1, 0],
      [2, 1],
    ] as const) {
      const { deps, put } = setUp(() => ACCEPTED);
      let read = 0;
      const rows = {
        ...deps.rows,
        read: (log_id: string) => {
          read++;
          return deps.rows.read(log_id);
        },
      };
      await deliverBatch([received(messageFor(put(dueRow())), { receive_count })], { ...deps, rows });
      expect(read).toBe(reads);
    }
  });

  it('with options decides by the row, too: a lower limit gives it up', async () => {
    const { deps, put, tables, deliveries } = setUp(() => ACCEPTED);
    const message = messageFor(put(dueRow()), { options: { max_retry_count: 0 } });
    await deliverBatch([received(message)], deps);
    const why = { ...deadLetter('MAX_RETRIES'), error_type: 'MAX_RETRIES' } as const;
    const limit = { max_retry_count: 0, attempts_left: 0 };
    expect(tables.row('log-1')).toEqual(settledRow({ ...UNCOUNTED, ...why, ...limit }));
    expect(deliveries).toEqual([]);
  });
});
