import { describe, expect, it } from 'vitest';
import { type Channel, type Lane, PRIORITIES } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { originOf, type QueuedMessage, queuedFor, runOf } from '../../../src/core/model/queue-message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { planRetry } from '../../../src/core/operator/retry-now.ts';
import { sweep } from '../../../src/core/sweep/sweep.ts';
import type { SweepRequest } from '../../../src/core/sweep/sweep-run.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { memoryDueIndex } from '../../../tools/simulation/twins/row-stores.ts';
import { at, dueRow, iso, T0, unasked } from '../../support/rows.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function setUp(
  rows: readonly NotificationRow[],
  options: { backlog?: Record<string, number>; refuse?: (m: QueuedMessage) => boolean } = {},
) {
  const tables = new MemoryTables(() => T0);
  for (const row of rows) tables.log.set(row.log_id, { ...row });
  const sent: QueuedMessage[] = [];
  const lanes = {
    backlog: async (channel: Channel, lane: Lane) => options.backlog?.[`${channel}-${lane}`] ?? 0,
    send: async (messages: readonly QueuedMessage[]) => {
      const refused = messages.filter((message) => options.refuse?.(message));
      sent.push(...messages.filter((message) => !refused.includes(message)));
      return refused;
    },
  };
  const lastExpress = async () => iso(-5 * MINUTE);
  const sweeps = { lastCompleted: async () => iso(-HOUR), lastExpress, lastAhead: async () => undefined };
  const policy = DEFAULT_RETRY_POLICY;
  const deps = { index: tables.dueIndex, foresee: unasked, lanes, clock: () => T0, interval_ms: HOUR, policy, sweeps };
  const run = (request: SweepRequest = {}, more = {}) => sweep(request, { run_id: 'sweep-1', ...more }, deps);
  return { run, sent, tables, deps, ids: () => sent.map(({ message }) => message.log_id) };
}

const row = (log_id: string, changes: Partial<NotificationRow> = {}) =>
  dueRow({ log_id, work_queue: workQueueOf('due', changes.priority ?? 'normal', log_id), ...changes });

describe('a sweep', () => {
  it('lets the tenants of a page take turns, each oldest first, in each channel of its own', async () => {
    const { run, ids } = setUp([
      ...[9, 8, 7].map((age) => row(`flood-${age}`, { tenant_id: 'B', work_at: iso(-age * MINUTE) })),
      row('mail-1', { tenant_id: 'B', channel: 'email', work_at: iso(-MINUTE) }),
      ...[3, 2].map((age) => row(`own-${age}`, { tenant_id: 'A', work_at: iso(-age * MINUTE) })),
    ]);
    await run();
    expect(ids()).toEqual(['flood-9', 'own-3', 'mail-1', 'flood-8', 'own-2', 'flood-7']);
  });

  it('sends what is due, urgent first and oldest first, as small messages without content', async () => {
    const rows = ['info', 'normal', 'urgent', 'important'].flatMap((priority) =>
      [3, 1, 2].map((minutes) =>
        row(`${priority}-${minutes}`, {
          priority: priority as NotificationRow['priority'],
          work_at: iso(-minutes * MINUTE),
        }),
      ),
    );
    const { run, sent, ids } = setUp(rows);
    const { result } = await run();
    expect(ids()).toEqual(PRIORITIES.flatMap((priority) => [3, 2, 1].map((minutes) => `${priority}-${minutes}`)));
    expect(result).toMatchObject({
      run_id: 'sweep-1',
      dry_run: false,
      due: 12,
      dispatched: 12,
      skipped: 0,
      by_channel: { webhook: 12 },
      by_priority: { urgent: 3, info: 3 },
    });
    expect(Object.keys(sent[0]?.message ?? {}).sort()).toEqual([
      'channel',
      'due',
      'log_id',
      'priority',
      'run_id',
      'tenant_id',
      'version',
    ]);
  });

  it('sends what is due within 15 minutes with a delay to the second, and nothing later', async () => {
    const { run, sent } = setUp([
      row('soon', { work_at: iso(90_400) }),
      row('edge', { work_at: iso(15 * MINUTE) }),
      row('later', { work_at: iso(15 * MINUTE + 1) }),
    ]);
    const { result } = await run();
    expect(sent.map(({ message, delay_seconds }) => [message.log_id, delay_seconds])).toEqual([
      ['soon', 91],
      ['edge', 900],
    ]);
    expect(result).toMatchObject({ due: 0, dispatched: 0, skipped: 0, ahead: 2 });
  });

  it('queues no notification ahead that is queued for its time already', async () => {
    const soon = iso(MINUTE);
    const { run, ids } = setUp([
      row('queued', { work_at: soon, queued_for: soon.slice(11, 19) }),
      row('queued-for-another-time', { work_at: soon, queued_for: '23:59:59' }),
      row('due', { work_at: iso(0), queued_for: iso(0).slice(11, 19) }),
    ]);
    await run();
    expect(ids().sort()).toEqual(['due', 'queued-for-another-time']);
  });

  it.each([
    ['begins where the last one ended, though it runs 130 s late', -15, 1],
    ['begins where the sweep ended that was the last run', undefined, 1],
    ['leaves to the sweep what is older than its interval', -600, 1],
  ])('that only looks ahead %s', async (_, last, ahead) => {
    const { deps } = setUp([row('between', { work_at: iso(60_000) })]);
    const lastAhead = async () => (last === undefined ? undefined : iso(last * MINUTE));
    const lastCompleted = async () => iso(-15 * MINUTE);
    const sweeps = { ...deps.sweeps, lastAhead, lastCompleted };
    const { result } = await sweep(
      { ahead: true },
      { run_id: 'sweep-1' },
      { ...deps, sweeps, clock: () => at(130_000) },
    );
    expect(result.dispatched).toBe(ahead);
  });

  it('that only looks ahead queues what is due until the next lookahead, from the end of the last one', async () => {
    const rows = [0, 1, 15 * MINUTE, 15 * MINUTE + 1].map((ms) => row(`at-${ms}`, { work_at: iso(ms) }));
    const { sent, deps } = setUp(rows, { backlog: { 'webhook-standard': 5 } });
    const clock = () => at(40_000);
    const sweeps = { ...deps.sweeps, lastAhead: async () => iso(-15 * MINUTE) };
    const { result } = await sweep({ ahead: true }, { run_id: 'sweep-1' }, { ...deps, clock, sweeps });
    expect(sent.map(({ message, delay_seconds }) => [message.log_id, delay_seconds])).toEqual([
      ['at-1', 0],
      [`at-${15 * MINUTE}`, 860],
    ]);
    expect(result).toMatchObject({ ahead: 1 });
  });

  it('between two sweeps sends what is urgent or important and became due since the last such run', async () => {
    const due = (minutes: number) => ({ work_at: iso(-minutes * MINUTE) });
    const rows = [
      row('urgent', { priority: 'urgent', ...due(4) }),
      row('important', { priority: 'important', ...due(1) }),
      row('indexed-late', { priority: 'urgent', ...due(5.5) }),
      row('queued', { priority: 'urgent', ...due(2), queued_for: iso(-2 * MINUTE).slice(11, 19) }),
      row('of-the-run-before', { priority: 'urgent', ...due(7) }),
      row('to-come', { priority: 'urgent', ...due(-1) }),
      row('normal', due(1)),
      row('info', { priority: 'info', ...due(1) }),
    ];
    const { run, ids } = setUp(rows, { backlog: { 'webhook-express': 500 } });
    const { result } = await run({ express_minutes: 5 });
    expect(ids()).toEqual(['indexed-late', 'urgent', 'important']);
    expect(result).toMatchObject({ due: 3, dispatched: 3, skipped: 0, ahead: 0 });
  });

  it.each([
    ['since the last one that sent all it found, and a minute before', 20, ['of-21-minutes', 'of-7-minutes']],
    ['since the run before at least', 2, []],
    [
      'no more than what a sweep has not met yet',
      300,
      ['of-61-minutes', 'of-22-minutes', 'of-21-minutes', 'of-7-minutes'],
    ],
    [
      'all of an interval when none is known',
      undefined,
      ['of-61-minutes', 'of-22-minutes', 'of-21-minutes', 'of-7-minutes'],
    ],
  ])('between two sweeps takes %s', async (_, minutes, expected) => {
    const rows = [62, 61, 22, 21, 7].map((age) =>
      row(`of-${age}-minutes`, { priority: 'urgent', work_at: iso(-age * MINUTE) }),
    );
    const { deps, ids } = setUp(rows);
    const lastExpress = async () => (minutes === undefined ? undefined : iso(-minutes * MINUTE));
    const known = { ...deps, sweeps: { ...deps.sweeps, lastExpress } };
    await sweep({ express_minutes: 5 }, { run_id: 'sweep-1' }, known);
    expect(ids()).toEqual(expected);
  });

  it('between two sweeps goes on without knowing the last one, and says what the lanes refused', async () => {
    const rows = [row('a', { priority: 'urgent' }), row('b', { priority: 'urgent' })];
    const { deps, ids } = setUp(rows, { refuse: ({ message }) => message.log_id === 'b' });
    const lastExpress = () => Promise.reject(new Error('throttled'));
    const { refused } = await sweep(
      { express_minutes: 5 },
      { run_id: 'sweep-1' },
      { ...deps, sweeps: { ...deps.sweeps, lastExpress } },
    );
    expect(ids()).toEqual(['a']);
    expect(refused).toBe(1);
  });

  describe('between two sweeps, of rows whose message is expected', () => {
    const due = at(-2 * MINUTE);
    const urgent = (log_id: string, changes: Partial<NotificationRow> = {}) =>
      row(log_id, { priority: 'urgent', work_at: due.toISOString(), ...changes });
    const longBefore = queuedFor(due.toISOString(), { priority: 'urgent' }, at(-40 * MINUTE));
    const atOnce = queuedFor(due.toISOString(), { priority: 'urgent' }, due);
    const rows = [
      urgent('held', longBefore),
      urgent('handed-over', atOnce),
      urgent('foreign'),
      urgent('moved', queuedFor(iso(-3 * MINUTE), { priority: 'urgent' }, at(-40 * MINUTE))),
      urgent('email', { channel: 'email', ...longBefore }),
    ];

    it('leaves those to their lane that has a waiting line', async () => {
      const { run, ids } = setUp(rows, { backlog: { 'webhook-express': 1, 'email-standard': 1 } });
      const { result } = await run({ express_minutes: 5 });
      expect(ids().sort()).toEqual(['email', 'foreign', 'moved']);
      expect(result).toMatchObject({ due: 5, dispatched: 3, skipped: 2 });
    });

    it('knows the lanes with a waiting line when it continues', async () => {
      const { deps, ids } = setUp(rows, { backlog: { 'webhook-express': 1 } });
      const { next } = await sweep({ express_minutes: 5 }, { run_id: 'sweep-1' }, { ...deps, outOfTime: () => true });
      if (next === undefined) throw new Error('the run must continue');
      await sweep({ express_minutes: 5 }, { run_id: 'sweep-1', from: next }, deps);
      expect(ids().sort()).toEqual(['email', 'foreign', 'moved']);
    });

    it('sends them when their lane is empty: their messages were lost', async () => {
      const { run, ids } = setUp(rows);
      await run({ express_minutes: 5 });
      expect(ids()).toHaveLength(rows.length);
    });

    it('leaves their repair to the next sweep otherwise', async () => {
      const { run, ids } = setUp(rows, { backlog: { 'webhook-express': 1 } });
      await run();
      expect(ids()).toHaveLength(rows.length);
    });

    it('queues them ahead all the same', async () => {
      const work_at = iso(10 * MINUTE);
      const { run, ids } = setUp([
        urgent('held', { work_at, ...queuedFor(work_at, { priority: 'urgent' }, at(-10 * MINUTE)) }),
      ]);
      await run({ ahead: true });
      expect(ids()).toEqual(['held']);
    });
  });

  it('writes and sends nothing in a dry run, and reports what it would do', async () => {
    const { run, sent } = setUp([row('a'), row('b'), row('soon', { work_at: iso(MINUTE) })]);
    const { result } = await run({ dry_run: true, limit: 1 });
    expect(sent).toEqual([]);
    expect(result).toMatchObject({ dry_run: true, due: 2, dispatched: 0, skipped: 1, ahead: 0 });
  });

  it.each([
    [{ channel: 'email' }, ['mail']],
    [{ priority: 'urgent' }, ['urgent']],
    [{ tenant: 'other' }, ['other']],
    [{ channel: 'webhook', tenant: 'tenant-1', priority: 'normal' }, ['plain']],
  ] as const)('with %o takes only %o', async (request, expected) => {
    const { run, ids } = setUp([
      row('plain'),
      row('mail', { channel: 'email' }),
      row('urgent', { priority: 'urgent' }),
      row('other', { tenant_id: 'other' }),
    ]);
    const { result } = await run(request);
    expect(ids()).toEqual(expected);
    expect(result.due).toBe(expected.length);
  });

  it('dispatches no more than its limit, and counts the rest as skipped', async () => {
    const { run, ids } = setUp([1, 2, 3, 4, 5].map((i) => row(`n-${i}`, { work_at: iso(-i * 1000) })));
    expect((await run({ limit: 2 })).result).toMatchObject({ due: 5, dispatched: 2, skipped: 3 });
    expect(ids()).toEqual(['n-5', 'n-4']);
  });

  it('gives a lane with a backlog only what became due since the last sweep', async () => {
    const rows = [
      row('old', { work_at: iso(-HOUR) }),
      row('new', { work_at: iso(-HOUR + 1) }),
      row('free', { channel: 'email', work_at: iso(-10 * HOUR) }),
    ];
    const { run, ids } = setUp(rows, { backlog: { 'webhook-standard': 7 } });
    expect((await run()).result).toMatchObject({ due: 3, dispatched: 2, skipped: 1 });
    expect(ids().sort()).toEqual(['free', 'new']);
  });

  it('skips nothing in a busy lane that became due after the start of the last sweep that was completed', async () => {
    const items = [row('missed', { work_at: iso(-HOUR - 30 * MINUTE) })];
    const at_start = (started: number | undefined) => ({
      lastExpress: async () => undefined,
      lastAhead: async () => undefined,
      lastCompleted: async () => (started === undefined ? undefined : iso(started)),
    });
    for (const [started, expected] of [
      [-HOUR, []],
      [-2 * HOUR, ['missed']],
      [undefined, ['missed']],
    ] as const) {
      const { deps, ids } = setUp(items, { backlog: { 'webhook-standard': 7 } });
      await sweep({}, { run_id: 'sweep-1' }, { ...deps, sweeps: at_start(started) });
      expect(ids(), `last sweep: ${started}`).toEqual(expected);
    }
  });

  it('takes no more rows for queued than a busy lane has messages: the oldest', async () => {
    const rows = Array.from({ length: 6 }, (_, i) => row(`n-${i}`, { work_at: iso(-1.5 * HOUR + i) }));
    const { run, ids } = setUp(rows, { backlog: { 'webhook-standard': 4 } });
    expect((await run()).result).toMatchObject({ due: 6, dispatched: 2, skipped: 4 });
    expect(ids()).toEqual(['n-4', 'n-5']);
  });

  it('walks each of the partitions to its end, however uneven they are', async () => {
    const [long, short] = [0, 1].map((shard) => `due#normal#${shard}`);
    const rows = [
      ...Array.from({ length: 700 }, (_, i) => row(`long-${i}`, { work_queue: `${long}`, work_at: iso(-i) })),
      row('short', { work_queue: `${short}` }),
    ];
    const { deps, ids } = setUp(rows);
    let pages = 0;
    let cursor: Awaited<ReturnType<typeof sweep>>['next'];
    do {
      pages = 0;
      const run = { run_id: 'sweep-1', ...(cursor && { from: cursor }) };
      cursor = (await sweep({}, run, { ...deps, outOfTime: () => pages++ > 0 })).next;
    } while (cursor);
    expect(new Set(ids()).size).toBe(701);
    expect(ids()).toHaveLength(701);
  });

  it('that is forced and meets a row as due, then as dead, sends two messages of different runs', async () => {
    const { deps, sent, tables } = setUp([row('a', { work_at: iso(-HOUR) })]);
    const lanes = {
      ...deps.lanes,
      send: async (messages: readonly QueuedMessage[]) => {
        // By a worker whose clock is behind that of the run.
        const dead = { work_queue: workQueueOf('dead', 'normal', 'a'), work_at: iso(-500) };
        tables.log.set('a', { ...row('a'), ...dead, send_status: 'FAILED', failure_reason: 'AUTH_FAILED' });
        return deps.lanes.send(messages);
      },
    };
    await sweep({ force_retry: true }, { run_id: 'manual-1' }, { ...deps, lanes });
    const runs = sent.map(({ message }) => message.run_id);
    expect(runs.map(runOf)).toEqual(['manual-1', 'manual-1']);
    expect(new Set(runs).size).toBe(2);
  });

  it('that Lambda lets continue twice sends no two messages of the same run for a row', async () => {
    const { deps, sent } = setUp([row('a'), row('b', { priority: 'info' })]);
    const first = await sweep({}, { run_id: 'sweep-1' }, { ...deps, outOfTime: () => sent.length > 0 });
    for (const minute of [1, 2]) {
      const run = { run_id: 'sweep-1', ...(first.next && { from: first.next }) };
      await sweep({}, run, { ...deps, clock: () => at(minute * MINUTE) });
    }
    const runs = sent.filter(({ message }) => message.log_id === 'b').map(({ message }) => message.run_id);
    expect(runs.map(runOf)).toEqual(['sweep-1', 'sweep-1']);
    expect(new Set(runs).size).toBe(2);
  });

  it('that continues keeps what it knew of its lanes', async () => {
    const old = row('old', { work_at: iso(-1.5 * HOUR) });
    const urgent = row('urgent', { priority: 'urgent' });
    const { deps, ids } = setUp([old, urgent], { backlog: { 'webhook-standard': 3 } });
    const first = await sweep({}, { run_id: 'sweep-1' }, { ...deps, outOfTime: () => ids().length > 0 });
    expect(first.next).toMatchObject({ busy: ['webhook-standard'], last_sweep: iso(-HOUR) });
    const empty = { ...deps.lanes, backlog: async () => 0 };
    const from = JSON.parse(JSON.stringify(first.next));
    const second = await sweep({}, { run_id: 'sweep-1', from }, { ...deps, lanes: empty });
    expect(second.result).toMatchObject({ due: 1, dispatched: 0, skipped: 1 });
  });

  it.each([
    ['urgent', 'every third', [0, 3, 6, 9]],
    ['important', 'every third', [0, 3, 6, 9]],
    ['normal', 'every second', [0, 2, 4, 6, 8, 10]],
    ['info', 'each', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
  ] as const)(
    'sends what a busy lane may have lost of %s again, in %s interval of its age',
    async (priority, _, ages) => {
      const aged = Array.from({ length: 12 }, (_, i) => row(`n-${i}`, { priority, work_at: iso(-(i + 0.5) * HOUR) }));
      const { run, ids } = setUp(aged, { backlog: { 'webhook-standard': 700, 'webhook-express': 700 } });
      await run();
      expect(new Set(ids())).toEqual(new Set(ages.map((age) => `n-${age}`)));
    },
  );

  it('puts the run’s overrides into the messages, whatever the backlog', async () => {
    const { run, sent } = setUp([row('old', { work_at: iso(-9 * HOUR) })], { backlog: { 'webhook-standard': 7 } });
    await run({ max_retry_count: 0, force_retry: true });
    expect(sent[0]?.message.options).toEqual({ max_retry_count: 0, force: true });
  });

  it('takes dead notifications only when forced', async () => {
    const dead = row('dead', { send_status: 'FAILED', work_queue: workQueueOf('dead', 'normal', 'dead') });
    expect((await setUp([dead]).run()).result.due).toBe(0);
    expect((await setUp([dead]).run({ force_retry: true })).result).toMatchObject({ due: 1, dispatched: 1 });
  });

  it('counts a message that the queue refuses as skipped: the next sweep finds its notification', async () => {
    const { run } = setUp([row('a'), row('b')], { refuse: ({ message }) => message.log_id === 'b' });
    expect((await run()).result).toMatchObject({ due: 2, dispatched: 1, skipped: 1 });
  });

  it('counts delays from now, also when it continues: no message comes later than its time', async () => {
    const rows = [
      row('first', { priority: 'urgent', work_at: iso(-MINUTE) }),
      row('overtaken', { work_at: iso(5 * MINUTE) }),
      row('overtaken-and-queued', { work_at: iso(6 * MINUTE), queued_for: iso(6 * MINUTE).slice(11, 19) }),
      row('ahead', { work_at: iso(14 * MINUTE) }),
    ];
    const { deps, sent } = setUp(rows);
    const first = await sweep({}, { run_id: 'sweep-1' }, { ...deps, outOfTime: () => sent.length > 0 });
    const later = () => at(10 * MINUTE);
    const second = await sweep(
      {},
      { run_id: 'sweep-1', ...(first.next && { from: first.next }) },
      { ...deps, clock: later },
    );
    expect(sent.map(({ message, delay_seconds }) => [message.log_id, delay_seconds])).toEqual([
      ['first', 0],
      ['overtaken', 0],
      ['ahead', 4 * 60],
    ]);
    expect(second.result).toMatchObject({ due: 1, dispatched: 1, skipped: 0, ahead: 1 });
  });

  it('orders what it finds by time over all shards', async () => {
    const times = Array.from({ length: 60 }, (_, i) => (i * 37) % 60);
    const { run, ids } = setUp(times.map((i) => row(`n-${i}`, { work_at: iso(-60 + i) })));
    await run();
    expect(ids()).toEqual(Array.from({ length: 60 }, (_, i) => `n-${i}`));
  });

  it('sends what is well formed, and then sets the others aside; a dry run writes nothing', async () => {
    const bad = { ...row('bad'), channel: 'pigeon' } as unknown as NotificationRow;
    for (const [dry_run, status] of [
      [true, bad.send_status],
      [false, 'FAILED'],
    ] as const) {
      const { tables, deps, ids } = setUp([bad, row('good')]);
      const aside: unknown[] = [];
      const onSetAside = ({ log_id }: { readonly log_id: string }) => aside.push([log_id, ids()]);
      await sweep({ dry_run }, { run_id: 'sweep-1' }, { ...deps, malformed: tables.malformed, onSetAside });
      expect([ids(), aside]).toEqual(dry_run ? [[], []] : [['good'], [['bad', ['good']]]]);
      expect(tables.row('bad')).toMatchObject({ send_status: status });
      expect('failure_reason' in (tables.row('bad') ?? {})).toBe(!dry_run);
    }
  });

  it('skips a channel that the stage lacks, sets it aside after a day, and leaves its dead; a retry brings it back', async () => {
    const died = {
      send_status: 'FAILED',
      failure_reason: 'EXPIRED',
      work_queue: workQueueOf('dead', 'normal', 'dead'),
    };
    const [teams, day] = [{ channel: 'teams' } as const, 24 * HOUR];
    const old = row('old', { ...teams, work_at: iso(-day - 1) });
    const fresh = row('fresh', { ...teams, work_at: iso(-day) });
    const { tables, deps, ids } = setUp([old, fresh, row('dead', { ...teams, ...died } as never), row('good')]);
    const index = memoryDueIndex(tables.log, tables.shards, ['slack', 'webhook', 'email']);
    const run = () =>
      sweep({ priority: 'normal', limit: 9 }, { run_id: 'sweep-1' }, { ...deps, index, malformed: tables.malformed });
    expect((await run()).result).toMatchObject({ due: 1, dispatched: 1 });
    expect(ids()).toEqual(['good']);
    const aside = tables.row('old');
    expect(aside).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'FORMAT_ERROR',
      error_message: 'channel breaks channels of the stage: expected one of slack, webhook, email',
    });
    expect(aside?.work_queue).toBeUndefined();
    expect(tables.row('fresh')).toEqual(fresh);
    expect(tables.row('dead')).toMatchObject(died);

    const plan = planRetry(aside as NotificationRow, T0, DEFAULT_RETRY_POLICY);
    expect(plan.do === 'queue' && plan.change).toMatchObject({
      set: { send_status: 'RETRY', work_queue: old.work_queue },
      remove: ['failure_reason'],
    });
  });

  it('takes a page that names nothing malformed as one without', async () => {
    const { tables, deps, ids } = setUp([row('good')]);
    const page: typeof deps.index.page = async (queue, query) => {
      const { malformed: _, ...plain } = await deps.index.page(queue, query);
      return plain;
    };
    const failed: unknown[] = [];
    const more = { malformed: tables.malformed, onSetAsideFailed: (...given: unknown[]) => failed.push(given) };
    await sweep({}, { run_id: 'sweep-1' }, { ...deps, index: { ...deps.index, page }, ...more });
    expect([ids(), failed]).toEqual([['good'], []]);
  });

  it.each([
    ['a lane has messages', {}, { 'webhook-standard': 3 }, 1],
    ['no lane has any', {}, {}, 0],
    ['it is a run between two sweeps', { express_minutes: 5 }, { 'webhook-express': 3 }, 0],
  ])('reads when the last sweep began only where that counts: %s', async (_, request, backlog, expected) => {
    const { deps } = setUp([row('a')], { backlog: backlog as Record<string, number> });
    let reads = 0;
    const lastCompleted = async () => iso(-HOUR * ++reads);
    const stopping = { ...deps, sweeps: { ...deps.sweeps, lastCompleted }, outOfTime: () => true };
    const { next } = await sweep(request, { run_id: 'sweep-1' }, stopping);
    expect(reads).toBe(expected);
    const from = JSON.parse(JSON.stringify(next));
    expect((await sweep(request, { run_id: 'sweep-1', from }, stopping)).next).toStrictEqual(from);
    expect(reads).toBe(expected);
  });

  it('sends everything that is due when the last sweep cannot be read', async () => {
    const { deps, ids } = setUp([row('old', { work_at: iso(-HOUR) })], { backlog: { 'webhook-standard': 7 } });
    const lastCompleted = () => Promise.reject(new Error('throttled'));
    await sweep({}, { run_id: 'sweep-1' }, { ...deps, sweeps: { ...deps.sweeps, lastCompleted } });
    expect(ids()).toEqual(['old']);
  });

  it('that an older version began takes all old rows of its busy lanes for queued', async () => {
    const old = Array.from({ length: 5 }, (_, i) => row(`n-${i}`, { work_at: iso(-1.5 * HOUR + i) }));
    const { run, ids } = setUp([...old, row('new')]);
    const last_sweep = iso(-HOUR);
    const from = { queue: 0, after: [], started: iso(), busy: ['webhook-standard'], last_sweep, sent: 0 };
    await run({}, { from: { ...from, after: [null, null, null, null, null, null, null, null] } });
    expect(ids()).toEqual(['new']);
  });

  it('asks the queue for nothing when nothing is due', async () => {
    const { deps } = setUp([]);
    const sends: unknown[] = [];
    const send = async (messages: readonly QueuedMessage[]) => {
      sends.push(messages);
      return [];
    };
    await sweep({}, { run_id: 'sweep-1' }, { ...deps, lanes: { ...deps.lanes, send } });
    expect(sends).toEqual([]);
  });

  it('counts a refused message that was sent ahead neither as due nor as skipped', async () => {
    const { run } = setUp([row('soon', { work_at: iso(MINUTE) })], { refuse: () => true });
    expect((await run()).result).toMatchObject({ due: 0, dispatched: 0, skipped: 0, ahead: 0 });
  });

  it('with a limit queues nothing ahead', async () => {
    const { run, ids } = setUp([row('a'), row('b'), row('soon', { work_at: iso(MINUTE) })]);
    await run({ limit: 5 });
    expect(ids().sort()).toEqual(['a', 'b']);
  });

  it('that is forced takes a notification once, even if it dies during the sweep', async () => {
    const { deps, ids } = setUp([row('a')]);
    const pages = deps.index.page;
    const index = {
      ...deps.index,
      page: async (queue: string, options: Parameters<typeof pages>[1]) => {
        const dead = dueRow({ log_id: 'a', work_queue: workQueueOf('dead', 'normal', 'a'), work_at: iso(1) });
        return queue === dead.work_queue && options.until >= iso(1)
          ? { items: [dead as never] }
          : pages(queue, options);
      },
    };
    await sweep({ force_retry: true }, { run_id: 'manual-1' }, { ...deps, index });
    expect(ids()).toEqual(['a']);
  });

  it('that a person started says in its messages that the job asked for them', async () => {
    const { deps, sent } = setUp([row('a')]);
    await sweep({}, { run_id: 'manual-1' }, deps);
    await sweep({}, { run_id: 'sweep-1' }, deps);
    expect(sent.map(({ message }) => originOf(message))).toEqual([
      { trigger: 'manual', requested_by: 'job' },
      { trigger: 'sweep', requested_by: 'schedule' },
    ]);
  });

  it('that continues after its time ran out does not count its own messages as a backlog, and keeps its limit', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => row(`n-${i}`, { work_at: iso(-9 * HOUR - i) }));
    const { deps, ids } = setUp(rows);
    const filling = { ...deps.lanes, backlog: async () => ids().length };
    const outOfTime = () => {
      return ids().length > 0;
    };
    const first = await sweep({ limit: 2500 }, { run_id: 'sweep-1' }, { ...deps, lanes: filling, outOfTime });
    expect(first.next).toBeDefined();
    const sentFirst = ids().length;
    await sweep(
      { limit: 2500 },
      { run_id: 'sweep-1', ...(first.next && { from: first.next }) },
      { ...deps, lanes: filling },
    );
    expect(sentFirst).toBeGreaterThan(0);
    expect(ids()).toHaveLength(2500);
  });

  it('that runs out of time continues where it stopped, and sends nothing twice', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => row(`n-${i}`, { work_at: iso(-i) }));
    const { deps, ids } = setUp(rows);
    let cursor: Awaited<ReturnType<typeof sweep>>['next'];
    let rounds = 0;
    do {
      let pages = 0;
      const run = { run_id: 'sweep-1', ...(cursor && { from: cursor }) };
      cursor = (await sweep({}, run, { ...deps, outOfTime: () => pages++ > 0 })).next;
      // The cursor travels in an event.
      if (cursor) cursor = JSON.parse(JSON.stringify(cursor));
      rounds += 1;
    } while (cursor);
    expect(rounds).toBeGreaterThan(2);
    expect(ids()).toHaveLength(3000);
    expect(new Set(ids()).size).toBe(3000);
  });
});
