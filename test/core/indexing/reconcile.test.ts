import { describe, expect, it } from 'vitest';
import { deliverBatch } from '../../../src/core/delivery/deliver.ts';
import {
  INDEXER_GRACE_MS,
  type ReconcileDeps,
  reconcile,
  type ScanProgress,
  scheduledScan,
} from '../../../src/core/indexing/reconcile.ts';
import type { ForeignRow } from '../../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { VirtualTime } from '../../../tools/simulation/engine/virtual-time.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { setUp as delivering } from '../../support/delivering.ts';
import { at, dueRow, iso, messageFor, received, T0 } from '../../support/rows.ts';

const foreign = (log_id: string, changes: ForeignRow = {}): ForeignRow => ({
  log_id,
  tenant_id: 'tenant-1',
  notification_type: 'WEBHOOK',
  send_status: 'FAILED',
  recipient_address: 'https://example.com/hook',
  message_body: 'body',
  ...changes,
});

function setUp(rows: readonly ForeignRow[], more: Partial<ReconcileDeps> = {}) {
  const time = new VirtualTime(T0);
  const tables = new MemoryTables(time.clock);
  for (const row of rows) tables.log.set(String(row['log_id']), { ...row });
  const reported: unknown[] = [];
  const deps: ReconcileDeps = {
    scan: tables.scan,
    store: tables,
    policy: DEFAULT_RETRY_POLICY,
    clock: time.clock,
    pause: time.pause,
    units_per_second: 1_000_000,
    outOfTime: () => false,
    onMissed: (log_id, outcome) => reported.push([log_id, outcome]),
    onFailed: (log_id) => reported.push([log_id, 'failed']),
    ...more,
  };
  const run = (dry_run = false) => time.run(reconcile({ dry_run }, deps));
  return { time, tables, deps, run, reported };
}

const ours = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ ...dueRow({ log_id: `ours-${i}` }), updated_by: 'notification-retry' }));

describe('a reconciling scan', () => {
  it('takes in the rows that were missed, sets malformed ones aside, and touches no other', async () => {
    const rest = [
      ...ours(600),
      { ...ours(1)[0], log_id: 'deleted', is_deleted: true },
      foreign('claimed by its writer', { send_status: 'SENDING', updated_at: iso(-60_000) }),
      foreign('expired', { expires_at: 1 }),
    ];
    const { tables, run, reported } = setUp([foreign('a'), ...rest, foreign('b', { notification_type: 'PIGEON' })]);
    const { counts, next } = await run();
    expect(counts).toEqual({ scanned: 605, missed: 2, taken_in: 1, set_aside: 1, failed: 0 });
    expect(next).toBeUndefined();
    expect(tables.row('a')).toMatchObject({ channel: 'webhook', work_queue: expect.stringMatching(/^due#/) });
    expect(tables.log.get('a')).not.toHaveProperty('recipient_address');
    expect(tables.content.get('a')).toMatchObject({ body: 'body' });
    expect(tables.row('b')).toMatchObject({ failure_reason: 'FORMAT_ERROR' });
    for (const row of rest) expect(tables.log.get(row.log_id as string)).toEqual(row);
    expect(reported).toEqual([
      ['a', 'indexed'],
      ['b', 'set_aside'],
    ]);
    expect((await run()).counts.missed).toBe(0);
  });

  it('takes in what its writer left SENDING, and the attempt of the writer counts as one that died', async () => {
    const left = { ...foreign('a', { send_status: 'SENDING' }), updated_at: iso(-3_600_000) };
    const { tables, run } = setUp([left, foreign('no time', { send_status: 'SENDING' })]);
    expect((await run()).counts).toMatchObject({ taken_in: 1, set_aside: 0 });
    expect(tables.log.get('a')).not.toHaveProperty('recipient_address');
    const world = delivering(() => ({ ok: true, response_code: '200' }), {
      rows: tables.rows,
      records: tables.records,
      contents: tables.contents,
      clock: () => at(60_000),
    });
    const row = tables.row('a') ?? dueRow();
    const [report] = await deliverBatch([received(messageFor(row))], world.deps);
    expect(report).toMatchObject({ verdict: { status: 'SUCCESS' }, attempt: 1 });
    expect(tables.retryLog.get('a#0')).toMatchObject({ retry_status: 'FAILED', error_type: 'UNKNOWN' });
    expect(tables.log.get('no time')).toMatchObject({ created_at: expect.any(String), send_status: 'SENDING' });
  });

  it('leaves rows to the indexer that it takes in within seconds', async () => {
    const { tables, time, run } = setUp([foreign('quick'), foreign('slow')]);
    const indexer = time
      .pause(INDEXER_GRACE_MS - 1)
      .then(() => tables.log.set('quick', { ...ours(1)[0], log_id: 'quick' }));
    expect((await run()).counts).toMatchObject({ missed: 1, taken_in: 1 });
    await indexer;
    expect(tables.log.get('quick')).toMatchObject({ updated_by: 'notification-retry', channel: 'webhook' });
    expect(tables.content.has('quick')).toBe(false);
  });

  it('only counts in a dry run', async () => {
    const { tables, run } = setUp([foreign('a')]);
    expect((await run(true)).counts).toEqual({ scanned: 1, missed: 1, taken_in: 0, set_aside: 0, failed: 0 });
    expect(tables.log.get('a')).toEqual(foreign('a'));
  });

  it('reads no faster than it may', async () => {
    const { run, time } = setUp(ours(1_000), { units_per_second: 10 });
    await run();
    // The twin's rows cost a tenth of a unit; the scan ends with its last page.
    expect((time.clock().getTime() - T0.getTime()) / 1000).toBeCloseTo(7.5, 1);
  });

  it('goes on with the other rows when storage fails for one', async () => {
    const { tables, run, reported } = setUp([foreign('a'), foreign('b')]);
    const read = tables.scan.read;
    Object.assign(tables.scan, {
      read: (id: string) => (id === 'a' ? Promise.reject(new Error('throttled')) : read(id)),
    });
    expect((await run()).counts).toMatchObject({ missed: 2, taken_in: 1, failed: 1 });
    expect(reported).toContainEqual(['a', 'failed']);
  });

  it('does not overwrite the content of a later image that the indexer stored meanwhile', async () => {
    const { tables, run } = setUp([foreign('a')]);
    const read = tables.scan.read;
    Object.assign(tables.scan, {
      read: async (id: string) => {
        const image = await read(id);
        const owner = { log_id: 'a', tenant_id: 'tenant-1', expires_at: 1, sequence: '7' };
        await tables.putContent(owner, { recipient: 'r', body: 'later', format: 'PLAIN' });
        return image;
      },
    });
    await run();
    expect(tables.content.get('a')).toMatchObject({ body: 'later', sequence: '7' });
  });
});

describe('the scheduled scan', () => {
  const scheduled = (rows: readonly ForeignRow[], pages: number) => {
    let left = pages;
    const outOfTime = () => {
      left -= 1;
      return left <= 0;
    };
    const world = setUp(rows, { outOfTime });
    let stored: ScanProgress | undefined;
    const progress = {
      read: async () => stored,
      write: async (now: ScanProgress) => {
        stored = JSON.parse(JSON.stringify(now));
      },
    };
    const invoke = (continued: boolean) => {
      left = pages;
      return world.time.run(scheduledScan({ continued }, { ...world.deps, progress }));
    };
    return { ...world, invoke, stored: () => stored, progress };
  };

  it('goes on where the invocation before stopped, adds up, and starts anew after the end', async () => {
    const rows = [...ours(300), foreign('late'), ...ours(600).map((row) => ({ ...row, log_id: `more-${row.log_id}` }))];
    const { invoke, tables } = scheduled(rows, 1);
    const parts = [];
    for (let done = await invoke(false); done?.reached.next; done = await invoke(true)) parts.push(done.counts.scanned);
    expect(parts).toEqual([250, 250, 250]);
    expect(tables.row('late')).toHaveProperty('work_queue');
    expect((await invoke(false))?.reached).toMatchObject({ scanned: 250, missed: 0 });
  });

  it('is left to the invocation that is at it, and taken over from one that died', async () => {
    const { invoke, time } = scheduled(ours(600), 1);
    expect((await invoke(false))?.reached).toMatchObject({ scanned: 250 });
    expect(await invoke(false)).toBeUndefined();
    await time.run(time.pause(11 * 60_000));
    expect((await invoke(false))?.reached).toMatchObject({ scanned: 500, started_at: iso() });
  });

  it('that dies is resumed before the rows that it saw and had not settled', async () => {
    const { invoke, time, deps, stored, progress, tables } = scheduled([...ours(500), foreign('last')], 9);
    const dying = { ...deps, progress, units_per_second: 0.6 };
    const page = deps.scan.page;
    let pages = 0;
    const scan = {
      ...deps.scan,
      page: (after?: object) => (++pages > 2 ? Promise.reject(new Error('died')) : page({ ...after })),
    };
    await expect(time.run(scheduledScan({ continued: false }, { ...dying, scan }))).rejects.toThrow('died');
    expect(stored()).toMatchObject({ scanned: 500, next: { from: 500 } });
    await time.run(time.pause(11 * 60_000));
    await invoke(false);
    expect(tables.row('last')).toHaveProperty('work_queue');
  });
});
