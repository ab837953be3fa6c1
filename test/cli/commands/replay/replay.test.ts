import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createOperatorRows } from '../../../../src/adapters/dynamodb/operator/operator-rows.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { createSweepLanes } from '../../../../src/adapters/sqs/lanes.ts';
import type { ForeignRow } from '../../../../src/core/model/foreign-row.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../src/core/model/retry-policy.ts';
import { workQueueOf } from '../../../../src/core/model/work-index.ts';
import { replay } from '../../../../src/core/operator/replay/replay.ts';
import { deadRow, type Operations, startOperations, stoppedRow, storedRow } from '../../../support/cli/operations.ts';

interface Answer {
  readonly replay_id?: string;
  readonly matched: number;
  readonly excluded: Record<string, number>;
  readonly sent: number;
  readonly to_send?: number;
  readonly sample?: { log_id: string }[];
}

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
});
afterAll(() => ops.stop());
afterEach(() => ops.takeAll());

/** Each test has a tenant of its own. */
const run = (tenant: string, ...args: string[]) => ops.json<Answer>('replay', '--tenant', tenant, ...args);
const numbers = ({ matched, excluded, sent, to_send }: Answer) => ({ matched, excluded, sent: to_send ?? sent });
const long = { historyDays: 3 * 86_400_000 };

describe('a replay', () => {
  it('sends dead notifications again with a full budget, and leaves the others alone', async () => {
    const tenant_id = 'A';
    const others = [
      storedRow('a-success', { tenant_id, send_status: 'SUCCESS' }),
      storedRow('a-due', { tenant_id }),
      deadRow('b-dead', { tenant_id: 'B' }),
    ];
    await ops.put(deadRow('a-1', { tenant_id, priority: 'urgent' }), deadRow('a-2', { tenant_id }), ...others);
    const answer = await run('A', '--yes');
    expect(answer).toEqual({ replay_id: expect.any(String), matched: 2, excluded: {}, sent: 2 });
    const row = await ops.row('a-1');
    expect(row).toMatchObject({
      send_status: 'RETRY',
      send_attempts: 0,
      attempts_left: 11,
      retry_count: 0,
      redrive_count: 1,
      last_attempt: 5,
      first_attempt_at: row['work_at'],
      replay_id: answer.replay_id,
      work_queue: workQueueOf('due', 'urgent', 'a-1'),
      next_retry_at: row['work_at'],
    });
    expect(row).not.toHaveProperty('failure_reason');
    for (const other of others) expect(await ops.row(other.log_id)).toEqual(other);
    const [express] = await ops.take('webhook', 'express');
    expect(express).toEqual({
      version: 1,
      log_id: 'a-1',
      tenant_id: 'A',
      channel: 'webhook',
      priority: 'urgent',
      due: row['work_at'],
      run_id: `manual-${answer.replay_id}`,
    });
    expect(await ops.take('webhook', 'standard')).toMatchObject([{ log_id: 'a-2' }]);
  });

  it('counts the same in a dry run as in the replay, and changes nothing in a dry run', async () => {
    const tenant_id = 'C';
    const old = new Date(Date.now() - long.historyDays);
    const rows = [
      ...Array.from({ length: 7 }, (_, i) => deadRow(`c-${i}`, { tenant_id })),
      deadRow('c-deleted', { tenant_id, is_deleted: true }),
      deadRow('c-old', { tenant_id, tenant_created_at: `C#${old.toISOString()}` }),
      deadRow('c-forced', {
        tenant_id,
        send_status: 'SENDING',
        claim_until: new Date(Date.now() + 60_000).toISOString(),
        work_queue: workQueueOf('due', 'normal', 'c-forced'),
      }),
      { ...stoppedRow('c-wrong'), tenant_id, tenant_created_at: `C#${new Date().toISOString()}` },
      { ...stoppedRow('c-cancelled', 'CANCELLED'), tenant_id, tenant_created_at: `C#${new Date().toISOString()}` },
      { ...stoppedRow('c-dropped', 'MAX_RETRIES'), tenant_id, tenant_created_at: `C#${new Date().toISOString()}` },
      {
        ...stoppedRow('c-delivered', 'MAX_RETRIES'),
        tenant_id,
        tenant_created_at: `C#${new Date().toISOString()}`,
        send_status: 'SUCCESS',
      },
    ];
    await ops.put(...rows);
    const args = ['--max-age', '1d', '--limit', '5'];
    const dry = await run('C', ...args, '--dry-run');
    expect(dry).toMatchObject({
      dry_run: true,
      matched: 14,
      sent: 0,
      to_send: 5,
      excluded: {
        beyond_limit: 2,
        expired: 1,
        deleted: 1,
        claimed: 1,
        INVALID_RECIPIENT: 1,
        CANCELLED: 1,
        dropped: 1,
        delivered: 1,
      },
    });
    expect(dry.sample).toHaveLength(5);
    for (const row of rows) expect(await ops.row(row.log_id)).toEqual(row);
    expect(await ops.takeAll()).toEqual([]);
    expect(numbers(await run('C', ...args, '--yes'))).toEqual(numbers(dry));
    expect(await ops.takeAll()).toHaveLength(5);
  });

  it('includes stopped notifications with --include-stopped, but never delivered or malformed ones', async () => {
    const tenant_created_at = `D#${new Date().toISOString()}`;
    const own = { tenant_id: 'D', tenant_created_at };
    await ops.put(
      { ...stoppedRow('d-wrong'), ...own },
      { ...stoppedRow('d-cancelled', 'CANCELLED'), ...own },
      { ...stoppedRow('d-delivered', 'MAX_RETRIES'), ...own, send_status: 'SUCCESS' },
      {
        ...own,
        log_id: 'd-aside',
        send_status: 'FAILED',
        failure_reason: 'FORMAT_ERROR',
        history_bucket: storedRow('d-aside')['history_bucket'],
      },
    );
    expect(await run('D', '--include-stopped', '--yes')).toMatchObject({
      matched: 4,
      sent: 2,
      excluded: { delivered: 1, set_aside: 1 },
    });
    expect((await ops.takeAll()).map(({ log_id }) => log_id).sort()).toEqual(['d-cancelled', 'd-wrong']);
    expect(await run('D', '--include-stopped', '--yes')).toMatchObject({ matched: 2, sent: 0 });
  });

  it('selects by the same filters as list', async () => {
    await ops.put(
      deadRow('e-1', { tenant_id: 'E', channel: 'slack', error_type: 'AUTH_FAILED', failure_reason: 'AUTH_FAILED' }),
      deadRow('e-2', { tenant_id: 'E', channel: 'slack' }),
      deadRow('e-3', { tenant_id: 'E', channel: 'email', error_type: 'AUTH_FAILED' }),
    );
    const dry = (...args: string[]) => run('E', '--dry-run', ...args);
    expect(await dry('--channel', 'slack', '--error-type', 'AUTH_FAILED')).toMatchObject({ to_send: 1 });
    expect(await dry('--error-type', 'AUTH_FAILED')).toMatchObject({ to_send: 2 });
    expect(await dry('--from', '2h', '--to', '1h')).toMatchObject({ matched: 0, to_send: 0 });
  });
});

describe('a replay that is interrupted', () => {
  const total = 60;
  const deps = (more: object = {}) => ({
    rows: createOperatorRows(ops.dynamodb, ops.tables.notification_log, () => new Date()),
    send: createSweepLanes(ops.sqs, ops.deployment.lane_queues).send,
    policy: DEFAULT_RETRY_POLICY,
    clock: () => new Date(),
    pause: async () => {},
    ...more,
  });
  async function* given(rows: readonly ForeignRow[]) {
    yield* rows;
  }

  it.each([
    ['before its first write', { rows: 0 }],
    ['between two writes', { rows: 31 }],
    ['between writes and messages', { messages: 0 }],
    ['after some messages', { messages: 1 }],
  ])('%s loses nothing, and repeats nothing when it is begun again', async (when, dies) => {
    const tenant_id = `I-${when}`.slice(0, 20);
    const rows = Array.from({ length: total }, (_, i) => deadRow(`${tenant_id}-${i}`, { tenant_id }));
    await ops.put(...rows);
    const real = deps();
    let writes = 0;
    let sends = 0;
    const dying = deps({
      rows: {
        read: real.rows.read,
        change: async (...args: Parameters<typeof real.rows.change>) => {
          if ('rows' in dies && writes++ >= (dies.rows ?? 0)) throw new Error('killed');
          return real.rows.change(...args);
        },
      },
      send: async (...args: Parameters<typeof real.send>) => {
        if ('messages' in dies && sends++ >= (dies.messages ?? 0)) throw new Error('killed');
        return real.send(...args);
      },
    });
    const request = { replay_id: `replay-${tenant_id}`, dry_run: false, rate: 500 };
    await expect(replay(given(rows), request, dying)).rejects.toThrow('killed');

    // A revived row is due, with or without a message. The next sweep finds it.
    for (const { log_id } of rows) {
      const { work_queue } = await ops.row(log_id);
      expect(['due', 'dead']).toContain(String(work_queue).split('#')[0]);
    }
    // One of the notifications that were sent is dead again.
    const revived = (await Promise.all(rows.map(({ log_id }) => ops.row(log_id)))).filter((row) => row['replay_id']);
    const [again] = revived;
    if (again) await ops.put(deadRow(String(again['log_id']), { tenant_id, replay_id: request.replay_id }));

    const second = await run(tenant_id, '--id', request.replay_id, '--yes');
    expect(second).toMatchObject({
      sent: total - revived.length,
      excluded: again ? { replayed: 1 } : {},
    });
    for (const { log_id } of rows) {
      if (log_id !== again?.['log_id']) expect(await ops.row(log_id)).toMatchObject({ redrive_count: 1 });
    }
    expect((await ops.takeAll()).length).toBeLessThanOrEqual(total);
  });

  it('is continued by the same command, under the same id', async () => {
    const tenant_id = 'J';
    await ops.put(...Array.from({ length: 30 }, (_, i) => deadRow(`j-${i}`, { tenant_id })));
    let pauses = 0;
    const { code, err } = await ops.run(['replay', '--tenant', 'J', '--rate', '10', '--yes'], {
      pause: async () => {
        if (++pauses === 2) throw new Error('killed');
      },
    });
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('killed. Nothing is lost; run it again.') });
    expect(await ops.takeAll()).toHaveLength(20);
    const { out, err: said } = await ops.run(['replay', '--tenant', 'J', '--yes', '--json']);
    expect(said).toMatch(/^Continuing replay-id-\d+, which did not finish\.\n$/);
    expect(JSON.parse(out)).toMatchObject({ sent: 10 });
    expect(await ops.takeAll()).toHaveLength(10);
    expect((await ops.run(['replay', '--tenant', 'J', '--yes', '--json'])).err).toBe('');
  });
});

describe('the limit of a replay', () => {
  it('holds over an interruption', async () => {
    await ops.put(...Array.from({ length: 30 }, (_, i) => deadRow(`q-${i}`, { tenant_id: 'Q' })));
    const args = ['replay', '--tenant', 'Q', '--limit', '15', '--rate', '10', '--yes'];
    const interrupted = await ops.run(args, { pause: () => Promise.reject(new Error('killed')) });
    expect(interrupted.code).toBe(1);
    expect(await ops.takeAll()).toHaveLength(10);
    expect((await ops.run(args)).code).toBe(0);
    expect(await ops.takeAll()).toHaveLength(5);
  });
});

describe('an operator who replays', () => {
  it('sees a preview, is asked, and may say no', async () => {
    await ops.put(deadRow('k-1', { tenant_id: 'K' }));
    const { code, out, err } = await ops.run(['replay', '--tenant', 'K'], { answer: 'n' });
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(/1 {2}match\n.*1 {2}to send\n.*k-1.*Send 1 again\? \[y\/N\] Nothing was done/s);
    expect(await ops.row('k-1')).toMatchObject({ failure_reason: 'MAX_RETRIES' });
    expect(await ops.run(['replay', '--tenant', 'K'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('add --yes'),
    });
    expect((await ops.run(['replay', '--tenant', 'K'], { answer: 'y' })).out).toContain('1  sent');
  });

  it('is not asked if there is nothing to send', async () => {
    const { code, err } = await ops.run(['replay', '--tenant', 'nobody']);
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('0  to send') });
  });

  it('sends no faster than --rate', async () => {
    await ops.put(...Array.from({ length: 12 }, (_, i) => deadRow(`l-${i}`, { tenant_id: 'L' })));
    const pauses: number[] = [];
    const now = new Date();
    await ops.run(['replay', '--tenant', 'L', '--rate', '4', '--yes'], {
      clock: () => now,
      pause: async (ms) => void pauses.push(ms),
    });
    expect(pauses).toEqual([1_000, 2_000, 3_000]);
  });

  it('sends more than a page of the index with the counts of the dry run', async () => {
    const items = Array.from({ length: 501 }, (_, i) => toItem(deadRow(`x-${i}`, { tenant_id: 'X' })));
    for (let start = 0; start < items.length; start += 25) {
      const requests = items.slice(start, start + 25).map((Item) => ({ PutRequest: { Item } }));
      const RequestItems = { [ops.tables.notification_log]: requests };
      await ops.dynamodb.send(new BatchWriteItemCommand({ RequestItems }));
    }
    const dry = await run('X', '--dry-run');
    expect(dry).toMatchObject({ matched: 501, to_send: 501 });
    expect(numbers(await run('X', '--yes'))).toEqual(numbers(dry));
    expect(await run('X', '--yes')).toMatchObject({ matched: 0, sent: 0 });
    expect(new Set((await ops.takeAll()).map(({ log_id }) => log_id)).size).toBe(501);
  }, 60_000);
});
