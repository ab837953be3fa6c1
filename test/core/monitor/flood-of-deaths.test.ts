import { expect, it } from 'vitest';
import { type Channel, PRIORITIES, type Priority } from '../../../src/core/model/channels.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import type { DueIndex, DueItem } from '../../../src/core/model/work-index.ts';
import { type Reported, reportDeaths } from '../../../src/core/monitor/dead-notifications.ts';
import type { Notice } from '../../../src/core/monitor/death-notice.ts';
import { dueRow, iso } from '../../support/rows.ts';

const MINUTE = 60_000;
/** Ten million in CI. */
const MANY = Number(process.env['DEATHS'] ?? 500_000);
const SHARDS = 8;
/** A round trip, which the partitions of a priority share, and what an entry costs a function of 512 MB: 17 µs of CPU. */
const PAGE_MS = 10;
const ENTRY_MS = 0.06;

const deadOf = (log_id: string, priority: Priority): DueItem => {
  return { log_id, tenant_id: 'flood', channel: 'webhook' satisfies Channel, priority, work_at: iso() };
};
/** Read again and again: what counts is how many there are. */
const PAGES = Object.fromEntries(
  PRIORITIES.map((priority) => [priority, Array.from({ length: 2_000 }, (_, i) => deadOf(`flood-${i}`, priority))]),
) as unknown as Readonly<Record<Priority, readonly DueItem[]>>;

/**
 * The monitor among deaths of one tenant that no table holds, all of the same moment, and a few of others, who died
 * just after a run had looked. Time passes by what is read.
 */
function floodOfDeaths(floods: Partial<Record<Priority, number>>, others: readonly NotificationRow[]) {
  const died = Math.min(...others.map(({ work_at = '' }) => Date.parse(work_at)));
  let now = died + 7 * MINUTE - 1;
  const spent = { rows: 0, pages: 0, entries: 0, longestMs: 0 };
  const notices: { readonly minutes: number; readonly notice: Notice }[] = [];
  let mark: Reported | undefined;

  const index: DueIndex = {
    shards: async () => SHARDS,
    async page(queue, { from = '', until, limit, after }) {
      const [, name, shard] = queue.split('#');
      const priority = PRIORITIES.find((one) => one === name) ?? 'info';
      const size = from > iso() ? 0 : (floods[priority] ?? 0) / SHARDS;
      const begin = Number(after?.['i'] ?? 0);
      const end = Math.min(begin + limit, size);
      const items = PAGES[priority].slice(0, end - begin);
      if (end === size)
        for (const { work_at = '', ...row } of others)
          if (row.work_queue === queue && work_at >= from && work_at <= until) items.push({ ...row, work_at });
      spent.pages += 1;
      spent.entries += items.length;
      await Promise.resolve();
      now += items.length * ENTRY_MS + (shard === '0' ? PAGE_MS : 0);
      return { items, ...(end < size && { next: { i: end } }) };
    },
  };

  async function run(): Promise<void> {
    const begin = now;
    const read = async (log_id: string) => {
      spent.rows += 1;
      const other = others.find((row) => row.log_id === log_id);
      return other ?? dueRow({ log_id, work_queue: 'dead#info#0', priority: 'info', failure_reason: 'EXPIRED' });
    };
    const write = async (reported: Reported) => {
      mark = reported;
    };
    const publish = async (notice: Notice) => {
      notices.push({ minutes: (now - died) / MINUTE, notice });
    };
    const ports = { index, rows: { read }, mark: { read: async () => mark, write }, publish };
    await reportDeaths({ ...ports, stack: 'stack', clock: () => new Date(now) }, new Date(begin));
    spent.longestMs = Math.max(spent.longestMs, now - begin);
    now = begin + 5 * MINUTE;
  }

  const toldAt = (log_id: string) => notices.find(({ notice }) => notice.text.includes(log_id))?.minutes;
  return { run, spent, notices, toldAt, isBehind: () => mark?.behind !== undefined };
}

const countOf = ({ subject }: Notice): number => Number(/(\d+) notification/.exec(subject)?.[1]);

const victim = (log_id: string, priority: Priority) => {
  const theirs = { tenant_id: 'victim', integration_config_id: 'IC-victim', failure_reason: 'AUTH_FAILED' } as const;
  return dueRow({ log_id, priority, ...theirs, work_queue: `dead#${priority}#3`, work_at: iso(2_000) });
};

it.each([
  ['info', 40_000, { runs: 1, info: 10 }],
  ['urgent', 1_000_000, { runs: 1, info: 10 }],
  // The rest of so many is told by later runs.
  ['info', MANY, { runs: Math.ceil(MANY / 1_600_000), info: 10 + MANY / 320_000 }],
] as const)("tells of others' deaths in time beside those of one tenant, of %s: %d", async (priority, count, most) => {
  const others = [victim('urgent-death', 'urgent'), victim('info-death', 'info')];
  const { run, spent, notices, toldAt, isBehind } = floodOfDeaths({ [priority]: count }, others);
  do await run();
  while (isBehind() && notices.length < 20);
  expect(toldAt('urgent-death')).toBeLessThanOrEqual(10);
  expect(toldAt('info-death')).toBeLessThanOrEqual(most.info);
  expect(notices).toHaveLength(most.runs);
  expect(spent.rows).toBeLessThanOrEqual(1_000 * notices.length);
  expect(spent.entries).toBe(count + others.length);
  // The function has four minutes.
  expect(spent.longestMs).toBeLessThan(150_000);
  expect(notices.reduce((sum, { notice }) => sum + countOf(notice), 0)).toBe(count + others.length);
  const [first] = notices.map(({ notice }) => notice);
  const urgent = priority === 'urgent' ? count + 1 : 1;
  expect(first?.subject).toContain(`given up, ${urgent} urgent`);
  expect(first?.text).toMatch(/^urgent: \d+ \((flood \d+, )?victim 1\)$/m);
});
