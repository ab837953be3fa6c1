import { describe, expect, it } from 'vitest';
import type { MalformedEntry } from '../../../src/core/model/work-index.ts';
import { setEntriesAside } from '../../../src/core/sweep/walk.ts';
import { iso } from '../../support/rows.ts';

const entry = (log_id: string): MalformedEntry => ({ log_id, work_queue: 'due#normal#1', work_at: iso(), faults: [] });

describe('a malformed entry of the work index', () => {
  const throttled = new Error('throttled');
  const malformed = {
    setAside: async ({ log_id }: MalformedEntry) => {
      if (log_id === 'refused') throw throttled;
      return log_id === 'changed' ? undefined : 'its channel is unknown';
    },
  };
  const entries = ['changed', 'refused', 'bad'].map(entry);

  it('is set aside with its reason, whatever becomes of the others', async () => {
    const [aside, failed]: unknown[][] = [[], []];
    await setEntriesAside(entries, {
      malformed,
      onSetAside: ({ log_id }, why) => aside?.push([log_id, why]),
      onSetAsideFailed: ({ log_id }, error) => failed?.push([log_id, error]),
    });
    expect([aside, failed]).toEqual([[['bad', 'its channel is unknown']], [['refused', throttled]]]);
  });

  it('is one of at most eight at a time and 200 per round, however many there are, and none when time is up', async () => {
    let [open, most] = [0, 0];
    const aside: string[] = [];
    const slow = {
      setAside: async ({ log_id }: MalformedEntry) => {
        open += 1;
        most = Math.max(most, open);
        await Promise.resolve();
        open -= 1;
        aside.push(log_id);
        return 'bad';
      },
    };
    const flood = Array.from({ length: 2_000 }, (_, i) => entry(`bad-${i}`));
    await setEntriesAside(flood, { malformed: slow });
    expect([aside.length, most]).toEqual([200, 8]);
    await setEntriesAside(flood, { malformed: slow, outOfTime: () => aside.length >= 216 });
    expect(aside).toHaveLength(216);
  });

  it('stops no sweep, also where nobody listens, and where it is left to the next one', async () => {
    expect(await setEntriesAside(entries, { malformed })).toBeUndefined();
    const aside: unknown[] = [];
    await setEntriesAside(entries, {
      onSetAside: (one) => aside.push(one),
      onSetAsideFailed: (one) => aside.push(one),
    });
    expect(aside).toEqual([]);
  });
});
