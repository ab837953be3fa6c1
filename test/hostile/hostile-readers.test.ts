import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDueIndex } from '../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { type Item, toForeignRow, toNotificationRow } from '../../src/adapters/dynamodb/table/item.ts';
import { createRowReader } from '../../src/adapters/dynamodb/table/reads.ts';
import { groupDead } from '../../src/application/dead-groups.ts';
import { summaryOf } from '../../src/core/intake/notification-summary.ts';
import { CHANNELS, PRIORITIES } from '../../src/core/model/channels.ts';
import { BASE_SHARDS } from '../../src/core/model/index-shards.ts';
import { asNotification, type ForeignRow } from '../../src/core/model/notification.ts';
import { DEFAULT_RETRY_POLICY as policy } from '../../src/core/model/retry-policy.ts';
import { type Reported, reportDeaths } from '../../src/core/monitor/dead-notifications.ts';
import { causesOf, type Deaths, deathNotice, type Notice } from '../../src/core/monitor/death-notice.ts';
import { deadLetterView } from '../../src/core/operator/dead-letters/dead-letter.ts';
import { belongs, choose } from '../../src/core/operator/operations/choose.ts';
import { NOTHING, type Operation } from '../../src/core/operator/operations/operation.ts';
import { planRetry } from '../../src/core/operator/retry-now.ts';
import { matches, type SearchFilter } from '../../src/core/operator/search-filter.ts';
import { datedView, remedyFor } from '../../src/core/operator/views/notification-view.ts';
import { deadRow, type Operations, startOperations, storedRow } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';
import { hostileColumns } from '../support/hostile-rows.ts';
import type { HostileValue } from '../support/hostile-values.ts';
import { messageFor } from '../support/rows.ts';

const TRICKY: readonly HostileValue[] = [
  'a name that every object has',
  'a map that no text can be made of',
  'a boolean',
  'the number 0',
];
const PERIOD = { from: '0000', to: '9999' };
const deathsOf = (rows: Deaths['rows']): Deaths[] => [
  { priority: 'normal', tenant_id: 'T1', count: rows.length, sampled: rows.length, rows },
];
/** Asks for every column that a search knows. */
const EVERYTHING: SearchFilter = {
  channel: 'webhook',
  priority: 'normal',
  created: PERIOD,
  scheduled: PERIOD,
  sent: PERIOD,
  send_attempts: { least: 0, most: 9 },
};

function letterOf({ log_id }: ForeignRow) {
  const message = messageFor(deadRow(String(log_id)), { run_id: `sweep-${log_id}` });
  return { message_id: 'another', sent_at: new Date(), receive_count: 1, message };
}

/** Dead, due, under way, given up, and set aside; as the readers meet it before anyone has judged it. */
const BASES: Readonly<Record<string, (log_id: string) => ForeignRow>> = {
  dead: (log_id) => deadRow(log_id),
  due: (log_id) => storedRow(log_id),
  claimed: (log_id) => storedRow(log_id, { send_status: 'SENDING', claim_until: '2020-01-01T00:00:00.000Z' }),
  stopped: (log_id) => without(deadRow(log_id), 'work_queue'),
  aside: (log_id) =>
    without(
      storedRow(log_id, { send_status: 'FAILED', failure_reason: 'FORMAT_ERROR', notification_type: 'WEBHOOK' }),
      ...['work_queue', 'work_at', 'channel', 'priority'],
    ),
};

function without(row: ForeignRow, ...columns: readonly string[]): ForeignRow {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !columns.includes(name)));
}

const judged = [...Object.entries(BASES)].flatMap(([name, base]) => hostileColumns(name, base));
const now = () => new Date();
const replay: Operation = {
  operation_id: 'op-1',
  version: 1,
  kind: 'redrive',
  status: 'running',
  filter: {},
  asked: {},
  rate: 1,
  include_stopped: true,
  cut_off: '9999-01-01T00:00:00.000Z',
  created_by: 'test',
  created_at: '2026-01-01T00:00:00.000Z',
  checkpoint: { source: 'created' },
  sample: [],
  progress: NOTHING,
};

/** What throws for a row, by the row. */
function thrown(judge: (row: ForeignRow) => unknown): string[] {
  return judged.flatMap((row) => {
    try {
      judge(row);
      return [];
    } catch (error) {
      return [`${row['log_id']}: ${error}`];
    }
  });
}

describe('what readers say of a hostile row', () => {
  it.each<[string, (row: ForeignRow) => unknown]>([
    ['a view', (row) => JSON.stringify([datedView(row, now()), remedyFor(row)])],
    ['a search', (row) => matches(row, EVERYTHING)],
    ['the groups of dead ones', (row) => groupDead([asNotification(row)])],
    [
      'the causes of a notice',
      (row) => deathNotice(deathsOf([asNotification(row)]), { stack: 's', from: '', until: '', more: false }),
    ],
    ['a retry', (row) => planRetry(asNotification(row), now(), policy)],
    ['a replay', (row) => belongs(row, 'created', replay) && choose(row, replay, now(), policy)],
    ['a cancellation of many', (row) => choose(row, { ...replay, kind: 'cancel' }, now(), policy)],
    ['a dead letter', (row) => deadLetterView(letterOf(row), asNotification(row), now(), policy)],
  ])('%s never throws', (_, judge) => expect(thrown(judge)).toEqual([]));

  it('is text in every column of text, so that a page or a table can show it', () => {
    const views = judged.map((row) => datedView(row, now()));
    expect(views.filter((view) => Object.values(view).some((value) => Object(value) === value))).toEqual([]);
    expect(views.filter(({ channel }) => typeof (channel ?? '') !== 'string')).toEqual([]);
  });

  it("is in the words of the API's document", () => {
    const unlike = judged.flatMap((row) => {
      const summary = JSON.parse(JSON.stringify(summaryOf({ ...asNotification(row) }, now())));
      const channels: readonly unknown[] = [...CHANNELS, undefined];
      const known = PRIORITIES.includes(summary.priority) && channels.includes(summary.channel);
      return known && !/native code|object Object/.test(summary.errorMessage) ? [] : [summary];
    });
    expect(unlike).toEqual([]);
  });

  it('is reported among the dead ones with the rule that it breaks, and the good one with its cause', () => {
    const causes = causesOf(deathsOf([...judged.map(asNotification), deadRow('good')]));
    expect(causes.find(({ log_ids }) => log_ids.includes('good'))?.what).toBe(
      'webhook, integration -: MAX_RETRIES, at last SERVER_OVERLOAD',
    );
    expect(causes.some(({ what }) => what.startsWith('malformed row: failure_reason breaks'))).toBe(true);
  });
});

/** Commands, pages and the monitor on tables with those rows that programs trip over most. */
describe('the readers of hostile rows among good ones', () => {
  let ops: Operations;
  let page: TestConsole;
  const rows = [
    ...hostileColumns('dead', BASES['dead'] ?? deadRow, TRICKY),
    ...ofTenant('aside'),
    ...ofTenant('stopped'),
  ];
  const ids = rows.map(({ log_id }) => String(log_id));

  function ofTenant(name: string): ForeignRow[] {
    return hostileColumns(name, BASES[name] ?? deadRow, TRICKY.slice(0, 2));
  }

  beforeAll(async () => {
    ops = await startOperations();
    page = await startTestConsole(ops);
    await ops.put(...rows, deadRow('good-dead'), storedRow('good-due'));
  }, 120_000);
  afterAll(async () => {
    await page?.stop();
    await ops?.stop();
  });

  it.each([
    ['list --status dead --limit 5000', 'good-dead'],
    ['list --limit 5000', 'good-due'],
    ['status', 'webhook'],
    ['replay --tenant tenant-1 --include-stopped --dry-run', 'to send'],
    [`show ${ids[0]}`, String(ids[0])],
  ])('ops %s answers', async (command, shown) => {
    const { code, out, err } = await ops.run([...command.split(' '), '--local']);
    expect({ code, error: /\w*Error.*/.exec(err)?.[0] }).toEqual({ code: 0, error: undefined });
    expect(out + err).toContain(shown);
    await ops.json(...command.split(' '));
  });

  it("the console's pages answer", async () => {
    await page.ok('GET /api/overview');
    const { groups } = await page.ok('GET /api/dead-letters');
    expect(groups.some(({ sample }) => sample.includes('good-dead'))).toBe(true);
    await page.ok('GET /api/notifications', { query: { limit: '200', status: 'dead' } });
    await page.ok('GET /api/notifications', { query: { limit: '200' } });
    for (const log_id of ids.filter((_, i) => i % 10 === 0)) {
      await page.ok('GET /api/notifications/{log_id}', { path: { log_id } });
    }
  });

  it('the notice of deaths goes out, and its mark moves on', async () => {
    const notices: Notice[] = [];
    let mark: Reported | undefined;
    const deps = {
      index: createDueIndex(ops.dynamodb, ops.tables.notification_log, async () => BASE_SHARDS.work),
      rows: { read: createRowReader(ops.dynamodb, ops.tables.notification_log) },
      mark: {
        read: async () => mark,
        write: async (reported: Reported) => {
          mark = reported;
        },
      },
      publish: async (notice: Notice) => {
        notices.push(notice);
      },
      stack: 'test',
      clock: () => new Date(),
    };
    await reportDeaths(deps, new Date(Date.now() + 600_000));
    expect(notices[0]?.text).toMatch(/× webhook, integration -: MAX_RETRIES, at last SERVER_OVERLOAD/);
    expect(mark).toBeDefined();
  });

  it('retry answers for each of them', async () => {
    const { results } = await ops.json<{ results: readonly unknown[] }>('retry', ...ids);
    expect(results).toHaveLength(ids.length);
  });
});

it('a column that is named as the prototype of objects is a column, and gives a row no others', () => {
  const item = JSON.parse('{"log_id": {"S": "L1"}, "__proto__": {"M": {"send_status": {"S": "SUCCESS"}}}}') as Item;
  for (const row of [toForeignRow(item), toNotificationRow(item)]) {
    expect(Object.keys(row)).toContain('__proto__');
    expect({ ...row }).not.toHaveProperty('send_status');
    expect((row as ForeignRow)['send_status']).toBeUndefined();
  }
});
