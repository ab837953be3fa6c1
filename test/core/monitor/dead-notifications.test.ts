import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OWN_FAULTS } from '../../../src/core/model/error-types.ts';
import type { NotificationRow } from '../../../src/core/model/notification.ts';
import { workQueueOf } from '../../../src/core/model/work-index.ts';
import { type Reported, reportDeaths } from '../../../src/core/monitor/dead-notifications.ts';
import type { Notice } from '../../../src/core/monitor/death-notice.ts';
import { MemoryTables } from '../../../tools/simulation/twins/memory-tables.ts';
import { at, dueRow, iso, T0 } from '../../support/rows.ts';

const MINUTE = 60_000;

function dead(log_id: string, diedAfterMs: number, changes: Partial<NotificationRow> = {}): NotificationRow {
  return dueRow({
    log_id,
    send_status: 'FAILED',
    work_queue: workQueueOf('dead', changes.priority ?? 'normal', log_id),
    work_at: iso(diedAfterMs),
    failure_reason: 'AUTH_FAILED',
    error_type: 'AUTH_FAILED',
    ...changes,
  });
}

/** A reason of ours, and a last error in the words of the row's writer. */
const WORDS = { error_type: 'x; reboot' as never };

/** Operators' mailbox and the pipeline, with a publisher or a mark that can break. */
function setUp(rows: readonly NotificationRow[] = []) {
  const tables = new MemoryTables(() => T0);
  const put = (...more: readonly NotificationRow[]) => {
    for (const row of more) tables.log.set(row.log_id, { ...row });
  };
  put(...rows);
  const notices: Notice[] = [];
  let mark: Reported | undefined;
  const broken = { publish: false, write: false };
  // A run that has no time left reads one page per partition.
  const look = (afterMs: number, hasTime = true) =>
    reportDeaths(
      {
        index: tables.dueIndex,
        rows: { read: async (log_id) => tables.row(log_id) },
        mark: {
          read: async () => mark,
          write: async (reported) => {
            if (broken.write) throw new Error('died before the mark');
            mark = reported;
          },
        },
        publish: async (notice) => {
          if (broken.publish) throw new Error('SNS is away');
          notices.push(notice);
        },
        stack: 'notification-retry-test',
        clock: () => at(afterMs + (hasTime ? 0 : 200_000)),
      },
      at(afterMs),
    );
  return { put, tables, notices, broken, look, mark: () => mark };
}

const countOf = ({ subject }: Notice): number => Number(/(\d+) notification/.exec(subject)?.[1]);

describe('the notice of what was given up', () => {
  const QUEUE = { work_queue: 'dead#normal#1' };
  const foreign = (count: number, work_at: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => ({
      ...dead(`foreign-${i}`, 0),
      ...QUEUE,
      ...({ channel: 'fax' } as object),
      work_at: work_at(i),
    }));

  it.each([
    ['whose times can be read', 600, (i: number) => iso(i)],
    ['whose times nobody can read', 600, () => '2026-03-01T10:30:00.zzZ'],
    ['in a partition that is full of them', 10_300, (i: number) => iso(i)],
  ])('skips no death behind pages of entries that are none, %s', async (_, count, work_at) => {
    const { look, notices } = setUp([
      dead('before', 0, QUEUE),
      ...foreign(count, work_at),
      dead('behind', 20 * MINUTE, QUEUE),
    ]);
    for (let minutes = 30; minutes < 60; minutes += 5) await look(minutes * MINUTE);
    const text = notices.map((notice) => notice.text).join();
    expect(text).toContain('before');
    expect(text).toContain('behind');
  });

  it('is one message, grouped by channel, integration and cause, the most frequent first', async () => {
    const { look, notices } = setUp([
      dead('a', 0, { channel: 'slack', integration_config_id: 'IC002' }),
      ...['b', 'c', 'd', 'e'].map((id) =>
        dead(id, 1_000, { failure_reason: 'MAX_RETRIES', error_type: 'SERVER_OVERLOAD' }),
      ),
      dead('f', 2_000, { channel: 'slack', integration_config_id: 'IC009' }),
      dead('g', 3_000, { channel: 'slack', integration_config_id: 'IC009', error_message: 'no_secret: there is none' }),
    ]);
    expect(await look(10 * MINUTE)).toBe(7);
    expect(notices).toHaveLength(1);
    expect(notices[0]?.subject).toBe('notification-retry-test: 7 notifications given up');
    const text = notices[0]?.text ?? '';
    expect(text.split('\n').filter((line) => line.includes(' × '))).toEqual([
      '4 × webhook, integration -: MAX_RETRIES, at last SERVER_OVERLOAD',
      '1 × slack, integration IC002: AUTH_FAILED',
      '1 × slack, integration IC009: AUTH_FAILED',
      '1 × slack, integration IC009: AUTH_FAILED (no_secret)',
    ]);
    expect(text).toContain('  Check that the receiver is up, then redrive.');
    expect(text).toContain(`  ${OWN_FAULTS.no_secret.repair}, then redrive.`);
    expect(text).toMatch(/ops -- list --status dead --channel webhook --error-type SERVER_OVERLOAD/);
    expect(text).toMatch(/export NOTIFICATION_RETRY_STACK=notification-retry-test/);
  });

  it('is not sent when nothing died', async () => {
    const { look, notices } = setUp([dueRow({ log_id: 'due' })]);
    expect(await look(10 * MINUTE)).toBe(0);
    expect(notices).toEqual([]);
  });

  it('tells of a death once, and leaves one to the next look that may not be in the index yet', async () => {
    const { look, notices, put } = setUp([dead('a', 0)]);
    await look(1 * MINUTE);
    expect(notices).toHaveLength(0);
    put(dead('b', 0.5 * MINUTE));
    await look(5 * MINUTE);
    expect(notices).toHaveLength(1);
    await look(10 * MINUTE);
    await look(10 * MINUTE);
    expect(notices).toHaveLength(1);
    expect(notices[0]?.text).toMatch(/a, b|b, a/);
  });

  it.each(['publish', 'write'] as const)('is repeated, and never skipped, when a look dies at %s', async (step) => {
    const { look, notices, broken } = setUp([dead('a', 0)]);
    broken[step] = true;
    await expect(look(10 * MINUTE)).rejects.toThrow();
    broken[step] = false;
    await look(11 * MINUTE);
    expect(notices.at(-1)?.text).toContain('  a\n');
    expect(notices).toHaveLength(step === 'publish' ? 1 : 2);
  });

  it('leaves out what was redriven in the meantime', async () => {
    const { look, notices, tables, put } = setUp([dead('a', 0), dead('b', 0)]);
    const { failure_reason: _, ...redriven } = dead('a', 0, { send_status: 'SENDING' });
    const page = tables.dueIndex.page;
    // Between the index and the row.
    tables.dueIndex.page = async (...args) => {
      const answer = await page(...args);
      put(redriven as NotificationRow);
      return answer;
    };
    await look(10 * MINUTE);
    expect(notices[0]?.subject).toMatch(/1 notification given up/);
  });

  it('stays readable and small, however many causes there are', async () => {
    const { look, notices } = setUp(
      Array.from({ length: 200 }, (_, i) => dead(`${'x'.repeat(90)}-${i}`, i, { integration_config_id: `IC${i}` })),
    );
    await look(10 * MINUTE);
    expect(notices[0]?.text).toMatch(/180 more causes, of 180 notifications/);
    expect(Buffer.byteLength(notices[0]?.text ?? '')).toBeLessThan(16_384);
    expect(notices[0]?.subject.length).toBeLessThanOrEqual(100);
  });

  it('reports the deaths of all others beside a row that another program put among the dead ones', async () => {
    const foreign = { ...dead('evil', 0), failure_reason: 'full', error_type: 'x; reboot' } as never;
    const numbered = { ...dead('numbered', 0), integration_config_id: 5 } as never;
    const { look, notices } = setUp([foreign, numbered, dead('good', 1_000), { ...dead('own', 0), ...WORDS }]);
    expect(await look(10 * MINUTE)).toBe(4);
    const text = notices[0]?.text ?? '';
    const causes = text.split('\n').filter((line) => line.includes(' × '));
    expect(causes.sort().reverse()).toEqual([
      '2 × webhook, integration -: AUTH_FAILED',
      expect.stringMatching(/^1 × malformed row: integration_config_id breaks VARCHAR/),
      expect.stringMatching(/^1 × malformed row: failure_reason breaks .*: expected one of NETWORK_TIMEOUT/),
    ]);
    expect(text).not.toContain('reboot');
    expect(await look(15 * MINUTE)).toBe(0);
  });

  it('counts every death once, whenever it died and whatever breaks: a property', async () => {
    let crowded = 0;
    const burst = fc.record({
      ms: fc.integer({ min: 0, max: 20 * MINUTE }),
      deaths: fc.integer({ min: 1, max: 2_500 }),
    });
    const breaking = fc.constantFrom('none', 'publish', 'write', 'index', 'time');
    await fc.assert(
      fc.asyncProperty(
        fc.array(burst, { minLength: 1, maxLength: 3 }),
        fc.array(breaking, { maxLength: 6 }),
        async (bursts, breaks) => {
          // All of a burst in one partition, so that a page does not hold them.
          const rows = bursts.flatMap(({ ms, deaths }, b) =>
            Array.from({ length: deaths }, (_, i) =>
              dead(`${b}-${i}`, ms + (i >> 8), { work_queue: 'dead#normal#0', integration_config_id: `${b}` }),
            ),
          );
          if (rows.length > 2_500) crowded += 1;
          const { look, tables, broken, put, notices, mark } = setUp();
          const { page } = tables.dueIndex;
          let away = false;
          tables.dueIndex.page = async (queue, query) => {
            if (away && queue === 'dead#normal#0' && query.after !== undefined) throw new Error('throttled');
            return page(queue, query);
          };
          let told = 0;
          const run = async (now: number, hasTime?: boolean) => {
            const [before, from] = [mark(), notices.length];
            await look(now, hasTime).catch(() => {});
            // Without its mark, a notice is repeated.
            if (mark() === before) return;
            for (const notice of notices.slice(from)) told += countOf(notice);
          };
          for (let step = 0; step < 6; step++) {
            // What died up to now is in the index two minutes later at the latest.
            const now = step * 5 * MINUTE;
            put(...rows.filter(({ work_at = '' }) => work_at <= iso(now)));
            broken.publish = breaks[step] === 'publish';
            broken.write = breaks[step] === 'write';
            away = breaks[step] === 'index';
            await run(now, breaks[step] !== 'time');
          }
          away = broken.publish = broken.write = false;
          await run(40 * MINUTE);
          expect(told).toBe(rows.length);
        },
      ),
      { numRuns: 10 },
    );
    expect(crowded).toBeGreaterThan(0);
  });
});
