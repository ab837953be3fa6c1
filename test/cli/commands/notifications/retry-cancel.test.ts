import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import type { RetryRecord } from '../../../../src/core/model/notification.ts';
import { workQueueOf } from '../../../../src/core/model/work-index.ts';
import { deadRow, type Operations, startOperations, stoppedRow, storedRow } from '../../../support/cli/operations.ts';

let ops: Operations;
beforeAll(async () => {
  ops = await startOperations();
});
afterAll(() => ops.stop());

const soon = () => new Date(Date.now() + 600_000).toISOString();
const past = () => new Date(Date.now() - 1_000).toISOString();

describe('retry', () => {
  it('makes the pending retry due now, by one change and one message', async () => {
    await ops.put(storedRow('r-1', { send_status: 'RETRY', work_at: soon(), next_retry_at: soon() }));
    expect(await ops.json('retry', 'r-1')).toEqual({ results: [{ log_id: 'r-1', result: 'queued' }] });
    const row = await ops.row('r-1');
    expect(Date.parse(String(row['work_at']))).toBeLessThanOrEqual(Date.now());
    expect(row).toMatchObject({ send_status: 'RETRY', send_attempts: 1, next_retry_at: row['work_at'] });
    expect(await ops.take('webhook', 'standard')).toEqual([
      {
        version: 1,
        log_id: 'r-1',
        tenant_id: 'tenant-1',
        channel: 'webhook',
        priority: 'normal',
        due: row['work_at'],
        run_id: expect.stringMatching(/^manual-/),
        options: { force: true, named: true },
      },
    ]);
  });

  it('forces one attempt of a dead notification and leaves its row alone', async () => {
    const row = deadRow('r-dead', { priority: 'urgent' });
    await ops.put(row);
    await ops.json('retry', 'r-dead');
    expect(await ops.row('r-dead')).toEqual(row);
    expect(await ops.take('webhook', 'express')).toMatchObject([
      { log_id: 'r-dead', due: row.work_at, options: { force: true, named: true } },
    ]);
  });

  it('lets another worker take over the attempt of a dead worker', async () => {
    const row = storedRow('r-abandoned', { send_status: 'SENDING', claim_until: past() });
    await ops.put(row);
    await ops.json('retry', 'r-abandoned');
    expect(await ops.row('r-abandoned')).toEqual(row);
    expect(await ops.take('webhook', 'standard')).toMatchObject([{ log_id: 'r-abandoned', due: row.work_at }]);
  });

  it('starts a cancelled notification again: budget, window and place in the index', async () => {
    await ops.put(stoppedRow('r-cancelled', 'CANCELLED'));
    await ops.json('retry', 'r-cancelled');
    const row = await ops.row('r-cancelled');
    expect(row).toMatchObject({
      send_status: 'RETRY',
      send_attempts: 0,
      attempts_left: 6,
      last_attempt: 5,
      redrive_count: 1,
      work_queue: workQueueOf('due', 'normal', 'r-cancelled'),
    });
    expect(row).not.toHaveProperty('failure_reason');
    expect(row['first_attempt_at']).toBe(row['work_at']);
    expect(await ops.take('webhook', 'standard')).toMatchObject([{ log_id: 'r-cancelled', due: row['work_at'] }]);
  });

  it.each([
    ['delivered', storedRow('n-1', { send_status: 'SUCCESS' }), /delivered already/],
    ['being attempted', storedRow('n-2', { send_status: 'SENDING', claim_until: soon() }), /under way until 20/],
    ['to a wrong recipient', stoppedRow('n-3'), /Correct the recipient/],
    [
      'malformed',
      { log_id: 'n-4', tenant_id: 't', send_status: 'FAILED', failure_reason: 'FORMAT_ERROR' },
      /writer has to/,
    ],
    ['not taken in yet', { log_id: 'n-5', tenant_id: 't', send_status: 'FAILED' }, /try again in a few seconds/],
    ['deleted', storedRow('n-7', { is_deleted: true }), /set is_deleted to false first/],
    ['unknown', { log_id: 'n-6-other' }, /no such notification/],
  ])('refuses what is %s, says why, and sends nothing', async (what, row, because) => {
    await ops.put(row);
    const log_id = what === 'unknown' ? 'n-6' : row.log_id;
    const { code, out } = await ops.run(['retry', log_id, '--local']);
    expect(code).toBe(1);
    expect(out).toMatch(because);
    expect(await ops.row(row.log_id)).toEqual(row);
    expect(await ops.takeAll()).toEqual([]);
  });

  it('retries the others if one of several notifications cannot be retried', async () => {
    await ops.put(storedRow('m-1'), storedRow('m-2', { send_status: 'SUCCESS' }));
    const { code, out } = await ops.run(['retry', 'm-1', 'm-2', 'm-1', '--local', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out).results.map(({ result }: { result: string }) => result)).toEqual(['queued', 'refused']);
    expect((await ops.takeAll()).map(({ log_id }) => log_id)).toEqual(['m-1']);
  });
});

describe('cancel', () => {
  it.each([
    ['waits for its retry', storedRow('c-1', { send_status: 'RETRY', work_at: soon(), next_retry_at: soon() })],
    ['is dead', deadRow('c-2')],
    ['was never sent', storedRow('c-3', { send_status: 'PENDING', send_attempts: 0, last_attempt: -1 })],
  ])('ends what %s, and keeps the row', async (_, row) => {
    await ops.put(row);
    expect(await ops.json('cancel', row.log_id)).toEqual({ results: [{ log_id: row.log_id, result: 'cancelled' }] });
    const after = await ops.row(row.log_id);
    expect(after).toMatchObject({
      send_status: 'FAILED',
      failure_reason: 'CANCELLED',
      send_attempts: row.send_attempts,
    });
    for (const name of ['work_queue', 'next_retry_at', 'dead_message_id']) expect(after).not.toHaveProperty(name);
    expect(await ops.json('show', row.log_id)).toMatchObject({
      notification: { state: 'stopped' },
      remedy: expect.stringContaining('cancelled'),
    });
  });

  it('settles and records the attempt of a worker that died', async () => {
    await ops.put(
      storedRow('c-died', { send_status: 'SENDING', claim_until: past(), last_attempt: 1, send_attempts: 2 }),
    );
    await ops.json('cancel', 'c-died');
    const { notification, attempts } = await ops.json<{ notification: object; attempts: RetryRecord[] }>(
      'show',
      'c-died',
    );
    expect(notification).toMatchObject({ send_status: 'FAILED', failure_reason: 'CANCELLED' });
    expect(attempts).toMatchObject([
      { retry_attempt: 1, retry_status: 'FAILED', failure_reason: 'CANCELLED', error_type: 'UNKNOWN' },
    ]);
  });

  it('leaves a notification that a dead worker delivered to the sweep', async () => {
    const row = storedRow('c-delivered', { send_status: 'SENDING', claim_until: past() });
    await ops.put(row);
    const attempt = { original_log_id: 'c-delivered', retry_attempt: row.last_attempt, retry_at: past() };
    const record = { ...attempt, retry_status: 'SUCCESS' };
    const TableName = ops.tables.notification_retry_log;
    await ops.dynamodb.send(new PutItemCommand({ TableName, Item: toItem(record) }));
    expect(await ops.json('cancel', 'c-delivered')).toMatchObject({
      results: [{ result: 'ended', because: expect.stringContaining('delivered it') }],
    });
    expect(await ops.row('c-delivered')).toEqual(row);
  });

  it.each([
    ['delivered', storedRow('e-1', { send_status: 'SUCCESS' }), 0, 'ended'],
    ['given up already', stoppedRow('e-2'), 0, 'ended'],
    ['being attempted', storedRow('e-3', { send_status: 'SENDING', claim_until: soon() }), 1, 'refused'],
  ])('leaves what is %s as it is', async (_, row, code, result) => {
    await ops.put(row);
    const ended = await ops.run(['cancel', row.log_id, '--local', '--json']);
    expect(ended.code).toBe(code);
    expect(JSON.parse(ended.out).results).toMatchObject([{ result, because: expect.any(String) }]);
    expect(await ops.row(row.log_id)).toEqual(row);
  });

  it('says that an id is unknown', async () => {
    expect(await ops.run(['cancel', 'nobody', '--local'])).toMatchObject({
      code: 1,
      out: 'nobody  not found: there is no such notification\n',
    });
  });
});
