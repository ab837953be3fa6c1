import { describe, expect, it } from 'vitest';
import type { ForeignRow } from '../../../../src/core/model/foreign-row.ts';
import { type GivenUpRows, replayCandidates } from '../../../../src/core/operator/replay/replay-candidates.ts';
import type { Period } from '../../../../src/core/operator/search-filter.ts';
import { at, dueRow, T0 } from '../../../support/rows.ts';

const { work_queue: _, ...outOfIndex } = dueRow();
const stopped = { ...outOfIndex, failure_reason: 'INVALID_RECIPIENT', updated_at: at(-1).toISOString() };
const dead = { ...dueRow({ log_id: 'dead', failure_reason: 'MAX_RETRIES' }), work_queue: 'dead#normal#0' };

async function candidates(dead: readonly ForeignRow[], created: readonly ForeignRow[]) {
  const asked: Period[] = [];
  const rows: GivenUpRows = {
    async *dead(period) {
      asked.push(period);
      yield* dead;
    },
    async *created(period) {
      asked.push(period);
      yield* created;
    },
  };
  const stopped_created = { from: at(-9_000).toISOString(), to: T0.toISOString() };
  const request = { filter: {}, begun: T0.toISOString(), replay_id: 'this', stopped_created };
  const found: unknown[] = [];
  for await (const row of replayCandidates(rows, request)) found.push(row['log_id']);
  return { found, asked };
}

describe('what a replay goes through', () => {
  it('is what died before it began, and what was created in its period', async () => {
    const { asked } = await candidates([], []);
    expect(asked).toEqual([
      { from: '0000', to: T0.toISOString() },
      { from: at(-9_000).toISOString(), to: T0.toISOString() },
    ]);
  });

  it.each([
    ['was stopped', { ...stopped, log_id: 'x' }, ['dead', 'x']],
    ['was given up and is delivered by now', { ...stopped, log_id: 'x', send_status: 'SUCCESS' }, ['dead', 'x']],
    ['is dead, and so was seen', dead, ['dead']],
    ['was never given up', dueRow({ log_id: 'x' }), ['dead']],
    [
      'this replay sent a moment ago, and stopped again',
      { ...stopped, log_id: 'x', replay_id: 'this', updated_at: at(1).toISOString() },
      ['dead'],
    ],
    ['an earlier run of this replay sent', { ...stopped, log_id: 'x', replay_id: 'this' }, ['dead', 'x']],
  ])('has what %s as often as it should', async (_what, row, expected) => {
    expect((await candidates([dead], [{ ...row }])).found).toEqual(expected);
  });
});
