import { describe, expect, it } from 'vitest';
import { opened } from '../../../../src/core/breaker/breaker.ts';
import { DEFAULT_BREAKER_POLICY } from '../../../../src/core/breaker/breaker-policy.ts';
import { CHANNELS, PRIORITIES } from '../../../../src/core/model/channels.ts';
import { workQueueOf } from '../../../../src/core/model/work-index.ts';
import { breakerStatus } from '../../../../src/core/operator/views/held.ts';
import { type WorkEntries, type WorkEntry, workFigures } from '../../../../src/core/operator/views/pipeline-status.ts';
import { dueRow } from '../../../support/rows.ts';

const NOW = new Date('2026-11-22T12:00:00.000Z');
const at = (ms: number) => new Date(NOW.getTime() + ms).toISOString();

/** An index that counts what is read. */
function indexOf(rows: readonly (WorkEntry & { readonly queue: string })[]) {
  const partitions = Map.groupBy(rows, ({ queue }) => queue);
  const reads = { entries: 0, pages: 0 };
  const index: WorkEntries = {
    shards: async () => 8,
    async page(queue, { limit, newest = false, after }) {
      const all = [...(partitions.get(queue) ?? [])].sort((a, b) => (a.work_at < b.work_at !== newest ? -1 : 1));
      const start = Number(after?.['start'] ?? 0);
      const entries = all.slice(start, start + limit);
      reads.entries += entries.length;
      reads.pages += 1;
      return { entries, ...(start + limit < all.length && { next: { start: start + limit } }) };
    },
  };
  return { index, reads };
}

const rows = (count: number, priorities: readonly (typeof PRIORITIES)[number][] = PRIORITIES) =>
  Array.from({ length: count }, (_, i) => {
    const state = i % 2 === 0 ? ('dead' as const) : ('due' as const);
    const priority = priorities[(i >> 1) % priorities.length] ?? 'normal';
    return {
      log_id: `N${i}`,
      tenant_id: 'T',
      channel: CHANNELS[(i >> 3) % 4] ?? 'email',
      work_at: at(i % 4 === 1 ? 60_000 + i : -i - 1),
      queue: workQueueOf(state, priority, `N${i}`),
    };
  });

describe('the figures of the overview', () => {
  it('are exact while an index is small', async () => {
    const { index } = indexOf(rows(1_600));
    for (const figures of (await workFigures(index, NOW)).channels) {
      expect(figures).toMatchObject({ due: 100, waiting: 100, dead: 200, estimated: false });
    }
  });

  it('name the oldest that is due', async () => {
    const { index } = indexOf(rows(32));
    const oldest = (await workFigures(index, NOW)).channels.flatMap(({ oldest_due_at }) => oldest_due_at ?? []).sort();
    expect(oldest[0]).toBe(at(-32));
  });

  it.each([
    ['over all priorities', PRIORITIES],
    ['of one priority', ['info'] as const],
  ])(
    'are estimated from a part of 100,000 %s: few are read, and the figures are off by a few percent',
    async (_, given) => {
      const { index, reads } = indexOf(rows(100_000, given));
      const { channels: found } = await workFigures(index, NOW);
      for (const { due, waiting, dead, estimated } of found) {
        expect(estimated).toBe(true);
        for (const [figure, real] of [
          [due, 6_250],
          [waiting, 6_250],
          [dead, 12_500],
        ] as const)
          expect(Math.abs(figure - real) / real).toBeLessThan(0.15);
      }
      expect(reads.entries).toBeLessThan(17_000);
      expect(reads.pages).toBeLessThan(100);
    },
  );

  it('of a flood end, too', async () => {
    const { index, reads } = indexOf(rows(400_000, ['info']));
    const {
      channels: [figures],
    } = await workFigures(index, NOW);
    expect(figures?.dead).toBeGreaterThan(25_000);
    expect(reads.entries).toBeLessThan(35_000);
  }, 60_000);

  it('count what is held from a part of the rows of its channel, once, and of no other channel any', async () => {
    const given = rows(100_000);
    const { index } = indexOf(given);
    const breaker = opened({ id: 'email#ses', error_type: 'NETWORK_TIMEOUT' }, undefined, {
      now: NOW,
      policy: DEFAULT_BREAKER_POLICY,
    });
    const byId = new Map(given.map((entry) => [entry.log_id, entry]));
    let read = 0;
    const rowsOf = async (ids: readonly string[]) => {
      read += ids.length;
      return ids.map((log_id) => {
        const entry = byId.get(log_id);
        const priority = PRIORITIES.find((one) => entry?.queue.includes(one)) ?? 'normal';
        return { ...dueRow({ log_id, channel: 'email', priority }), work_at: entry?.work_at, work_queue: entry?.queue };
      });
    };
    const holders = { breakers: breakerStatus([breaker], NOW), rows: rowsOf };
    const { channels } = await workFigures(index, NOW, { holders, inFlight: { email: 40, slack: 3 } });
    const [email, slack] = channels;
    expect(Math.abs((email?.held ?? 0) - 12_500) / 12_500).toBeLessThan(0.15);
    expect(email).toMatchObject({ due: 0, waiting: 0, in_flight: 0, oldest_due_at: null, estimated: true });
    expect(slack).toMatchObject({ held: 0, in_flight: 3 });
    expect(read).toBeLessThanOrEqual(800);
  });

  it('round nothing that was counted to its end because something else is estimated', async () => {
    const dead = Array.from({ length: 123 }, (_, i) => ({ ...queued(`D${i}`, 'dead'), work_at: at(-i - 1) }));
    const due = Array.from({ length: 150 }, (_, i) => ({ ...queued(`N${i}`, 'due'), work_at: at(-i - 1) }));
    const { index } = indexOf([...dead, ...due]);
    const down = { id: 'email#ses', error_type: 'NETWORK_TIMEOUT' } as const;
    const breaker = opened(down, undefined, { now: NOW, policy: DEFAULT_BREAKER_POLICY });
    const holders = { breakers: breakerStatus([breaker], NOW), rows: async () => [] };
    const [email] = (await workFigures(index, NOW, { holders })).channels;
    expect(email).toMatchObject({ dead: 123, due: 150, estimated: true });
  });
});

const queued = (log_id: string, state: 'due' | 'dead') => ({
  ...{ log_id, tenant_id: 'T', channel: 'email', queue: workQueueOf(state, 'normal', log_id) },
});
