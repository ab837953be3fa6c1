import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSweepLog } from '../../../../src/adapters/dynamodb/sweep/sweep-stores.ts';
import { type Operations, startOperations } from '../../../support/cli/operations.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');

describe('the last sweeps', () => {
  let operations: Operations;
  const at = { clock: () => NOW };
  beforeAll(async () => {
    operations = await startOperations();
  });
  afterAll(() => operations.stop());

  it('are reported as none before the first one, and omitted from the status', async () => {
    expect(await operations.run(['sweeps', '--local'], at)).toMatchObject({
      code: 0,
      out: '',
      err: 'No sweep has been recorded in the last 30 days.\n',
    });
    expect((await operations.run(['status', '--local'], at)).out).not.toContain('sweep');
  });

  it('are shown below the status, the newest first, and not in its JSON', async () => {
    const log = createSweepLog(operations.dynamodb, operations.tables.pipeline_state);
    for (const hour of ['08', '09', '10', '11']) {
      const started_at = `2026-03-01T${hour}:30:00.000Z`;
      const counts = { duration_ms: 1234, due: 7, dispatched: 5, skipped: 2, complete: hour !== '11' };
      await log.record({ run_id: `sweep-${hour}`, started_at, ...counts });
    }
    const { out } = await operations.run(['status', '--local'], at);
    const lines = out.slice(out.indexOf('\nsweep ') + 1).split('\n');
    expect(lines[1]).toMatch(/^2026-03-01T11:30:00\.000Z \(30 min ago\) +not finished yet +7 +5 +2 +sweep-11$/);
    expect(lines.slice(2, 4).map((line) => line.split(' ').at(-1))).toEqual(['sweep-10', 'sweep-09']);
    expect(await operations.json<unknown[]>('status')).toHaveLength(8);
  });

  it('are as many as --limit, also as JSON', async () => {
    const sweeps = await operations.json<{ run_id: string }[]>('sweeps', '--limit', '2');
    expect(sweeps.map(({ run_id }) => run_id)).toEqual(['sweep-11', 'sweep-10']);
    expect(sweeps[0]).toEqual({
      run_id: 'sweep-11',
      started_at: '2026-03-01T11:30:00.000Z',
      duration_ms: 1234,
      due: 7,
      dispatched: 5,
      skipped: 2,
      complete: false,
    });
    expect((await operations.run(['sweeps', '--local', '--limit', 'all'])).code).toBe(2);
  });
});
