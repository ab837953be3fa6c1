import { expect, it } from 'vitest';
import type { Notice } from '../../../src/core/monitor/death-notice.ts';
import { reportFlood } from '../../../tools/simulation/volume/deaths.ts';
import { Volume } from '../../../tools/simulation/volume/volume.ts';

/** Ten million in CI. */
const MANY = Number(process.env['DEATHS'] ?? 100_000);
/** Of another tenant: an urgent one, and one of `info`. */
const OTHERS = 2;
/** Entries of a partition that each run reads for its figures (src/core/monitor/monitor-figures.ts). */
const DEAD_READ = 1_000;
const SHARDS = 8;

const countOf = ({ subject }: Notice): number => Number(/(\d+) notification/.exec(subject)?.[1]);

it.each([
  ['info', 40_000, { runs: 1, info: 10 }],
  ['urgent', Math.min(1_000_000, MANY), { runs: 1, info: 10 }],
  // The rest of so many is told by later runs, of 1.6 million at least.
  ['info', MANY, { runs: Math.ceil(MANY / 1_600_000), info: 10 + MANY / 320_000 }],
] as const)(
  "tells of others' deaths in time beside those of one tenant, of %s: %d",
  async (priority, count, most) => {
    const volume = new Volume(count);
    const { budgets, holds, notices, rows_read, entries, longest } = await reportFlood(volume, { [priority]: 1 });
    const [urgent_told = [], info_told = []] = budgets;
    expect(urgent_told[1]).toBeLessThanOrEqual(10);
    expect(info_told[1]).toBeLessThanOrEqual(most.info);
    expect(budgets.filter(([, value, at_most]) => value > at_most)).toEqual([]);
    expect(notices.length).toBeLessThanOrEqual(most.runs);
    expect(rows_read).toBeLessThanOrEqual(1_000 * notices.length);
    // Another partition has the other one of its priority.
    expect(entries - (SHARDS * DEAD_READ + 1) * notices.length).toBe(count + OTHERS);
    // The function has four minutes.
    expect(longest).toBeLessThan(150_000);
    expect(notices.reduce((sum, notice) => sum + countOf(notice), 0)).toBe(count + OTHERS);
    expect([...Object.values(holds), volume.faults]).toEqual([true, []]);
    const [first] = notices;
    const urgent = priority === 'urgent' ? count + 1 : 1;
    expect(first?.subject).toContain(`given up, ${urgent} urgent`);
    expect(first?.text).toMatch(/^urgent: \d+ \((flood \d+, )?victim 1\)$/m);
  },
  600_000,
);
