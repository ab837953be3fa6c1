import { userInfo } from 'node:os';
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createOperationStore } from '../../../../src/adapters/dynamodb/console/operation-store.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { workQueueOf } from '../../../../src/core/model/work-index.ts';
import type { AuditRecord } from '../../../../src/core/operator/audit.ts';
import { createOperation, type NewOperation, operate } from '../../../../src/core/operator/operations/operate.ts';
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
const store = () => createOperationStore(ops.dynamodb, ops.tables.pipeline_state);
const newest = async (tenant: string) =>
  (await store().list({ limit: 50 })).find(({ asked }) => asked['tenant'] === tenant);
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
  const put = async (tenant_id: string, count: number) => {
    const ids = Array.from({ length: count }, (_, i) => `${tenant_id}-${i}`);
    await ops.put(...ids.map((log_id) => deadRow(log_id, { tenant_id })));
    return ids;
  };
  const dying = (after: number) => {
    let pauses = 0;
    const now = new Date();
    return {
      // Stands still, so that the work takes no time: a busy machine would not pause.
      clock: () => now,
      pause: async () => {
        if (++pauses === after) throw new Error('killed');
      },
    };
  };

  it('is continued by the same command, under the same id, from any directory', async () => {
    const ids = await put('J', 30);
    const { code, err } = await ops.run(['replay', '--tenant', 'J', '--rate', '10', '--yes'], dying(2));
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('killed. Nothing is lost; run it again.') });
    expect(await ops.takeAll()).toHaveLength(20);
    const elsewhere = { stateDirectory: '/nowhere' };
    const { out, err: said } = await ops.run(['replay', '--tenant', 'J', '--yes', '--json'], elsewhere);
    expect(said).toMatch(/^Continuing op-\w+, which did not finish\.\n$/);
    expect(JSON.parse(out)).toMatchObject({ matched: 30, sent: 10 });
    expect(await ops.takeAll()).toHaveLength(10);
    for (const log_id of ids) expect(await ops.row(log_id)).toMatchObject({ redrive_count: 1 });
    expect((await ops.run(['replay', '--tenant', 'J', '--yes', '--json'])).err).toBe('');
  });

  it('is continued by --id, and leaves what it sent before although that died again', async () => {
    await put('I', 20);
    await ops.run(['replay', '--tenant', 'I', '--rate', '10', '--yes'], dying(1));
    const [first] = await ops.takeAll();
    const replay_id = String((await ops.row(String(first?.log_id)))['replay_id']);
    await ops.put(deadRow(String(first?.log_id), { tenant_id: 'I', replay_id }));
    expect(await run('I', '--id', replay_id, '--yes')).toMatchObject({ replay_id, sent: 10 });
    expect(await ops.row(String(first?.log_id))).toMatchObject({ failure_reason: 'MAX_RETRIES' });
    const { code, err } = await ops.run(['replay', '--tenant', 'I', '--id', replay_id, '--yes']);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('omit --id') });
  });

  it('goes on under the id of a replay that nothing is stored of', async () => {
    await put('O', 3);
    await ops.put(deadRow('O-0', { tenant_id: 'O', replay_id: 'replay-73aafa1f' }));
    expect(await run('O', '--id', 'replay-73aafa1f', '--yes')).toMatchObject({ replay_id: 'replay-73aafa1f', sent: 2 });
  });

  it('says so when somebody pauses it, and goes on when it is run again', async () => {
    await put('P', 30);
    let asked = false;
    const now = new Date();
    const pause = async () => {
      const [replay_id] = (await ops.takeAll()).map(({ run_id }) => run_id.slice('manual-'.length));
      if (asked || replay_id === undefined) return;
      asked = true;
      await operate(replay_id, 'pause', {
        operations: store(),
        clock: () => new Date(),
        newId: () => '',
        startRun: async () => {},
      });
    };
    const paused = await ops.run(['replay', '--tenant', 'P', '--rate', '10', '--yes'], { clock: () => now, pause });
    expect(paused).toMatchObject({ code: 1, err: expect.stringMatching(/is paused: \d+ of 30 are sent/) });
    expect(numbers(await run('P', '--yes'))).toMatchObject({ matched: 30 });
    expect(await run('P', '--yes')).toMatchObject({ matched: 0, sent: 0 });
  });

  it('says how it goes on when the operator ends it, and needs no wait then', async () => {
    await put('CC', 30);
    const asked = new AbortController();
    const now = new Date();
    const ended = await ops.run(['replay', '--tenant', 'CC', '--rate', '10', '--yes'], {
      clock: () => now,
      pause: async () => asked.abort(),
      interruption: () => ({ signal: asked.signal, exitCode: () => 130 }),
    });
    const { operation_id = '' } = (await newest('CC')) ?? {};
    expect(ended).toMatchObject({
      code: 130,
      err: expect.stringMatching(`${operation_id} was interrupted: 10 of 30 are sent. The same command`),
    });
    const pauses: number[] = [];
    const again = await ops.run(['replay', '--tenant', 'CC', '--rate', '500'], {
      answer: 'y',
      pause: async (ms) => void pauses.push(ms),
    });
    expect(again).toMatchObject({ code: 0, err: expect.stringMatching(/20 {2}to send/) });
    // A claim that was left would be waited for.
    expect(Math.max(0, ...pauses)).toBeLessThan(1_000);
    // The examples are of those that are still to be sent.
    const sent = (await ops.takeAll()).slice(0, 10).map(({ log_id }) => log_id);
    for (const log_id of sent.slice(0, 5)) expect(again.err).not.toMatch(new RegExp(`\n${log_id} `));
  });

  it('leaves nothing behind when the operator ends its preview', async () => {
    await put('CP', 3);
    const interruption = () => ({ signal: AbortSignal.abort(), exitCode: () => 130 });
    const { code, err } = await ops.run(['replay', '--tenant', 'CP'], { interruption, answer: 'y' });
    expect({ code, err }).toEqual({ code: 130, err: expect.stringContaining('Nothing was sent') });
    expect(await newest('CP')).toMatchObject({ status: 'cancelled' });
  });

  it('waits for a process that may live, and goes on when its claim has ended', async () => {
    await put('W', 4);
    await ops.run(['replay', '--tenant', 'W', '--rate', '2', '--yes'], dying(1));
    const operation = await newest('W');
    if (operation === undefined) throw new Error('nothing is listed');
    let now = Date.now();
    const claim_until = new Date(now + 3_000).toISOString();
    await store().change(operation, { set: { status: 'running', claim_id: 'another', claim_until } });
    const waits: number[] = [];
    const { code } = await ops.run(['replay', '--tenant', 'W', '--yes'], {
      clock: () => new Date(now),
      pause: async (ms) => {
        waits.push(ms);
        now += ms;
      },
    });
    expect({ code, waits }).toEqual({ code: 0, waits: expect.arrayContaining([1_000, 1_000, 1_000]) });
    expect(await ops.row('W-3')).toMatchObject({ redrive_count: 1 });
    expect(await acts(operation.operation_id)).toEqual(['start', 'create']);
  });

  it('says in the audit log that the rate of one that runs is another one, and never that it was resumed', async () => {
    await put('WR', 4);
    await ops.run(['replay', '--tenant', 'WR', '--rate', '2', '--yes'], dying(1));
    const operation = await newest('WR');
    if (operation === undefined) throw new Error('nothing is listed');
    await store().change(operation, { set: { status: 'running' } });
    await run('WR', '--rate', '400', '--yes');
    expect(await store().read(operation.operation_id)).toMatchObject({ status: 'done', rate: 400 });
    expect(await acts(operation.operation_id)).toEqual(['rate', 'start', 'create']);
  });
});

/** What was done to an operation by the audit log, newest first. */
async function acts(operation_id: string): Promise<string[]> {
  const { entries } = await ops.json<{ entries: AuditRecord[] }>('audit', '--target', operation_id);
  return entries.map(({ what }) => what.replace('operation.', ''));
}

describe('an id or a command that means something else', () => {
  const deps = () => ({
    operations: store(),
    clock: () => new Date(),
    newId: () => 'abcdef',
    startRun: async () => {},
  });
  const made = (more: Partial<NewOperation>) =>
    createOperation(
      { kind: 'redrive', filter: {}, asked: {}, rate: 100, include_stopped: false, created_by: 'mori', ...more },
      deps(),
    );
  const waiting = { work_at: new Date(Date.now() + 3_600_000).toISOString() };

  it.each([
    [
      'a ready cancel of another tenant',
      { kind: 'cancel', filter: { tenant_id: 'Y-OTHER' } },
      /is a cancel .*Y-OTHER/s,
    ],
    ['a cancel of the same tenant', { kind: 'cancel', filter: { tenant_id: 'Y' } }, /is a cancel/],
    ['a redrive of another tenant', { filter: { tenant_id: 'Y-OTHER' } }, /tenant_id Y-OTHER.*--id alone/s],
    ['a redrive of fewer channels', { filter: { tenant_id: 'Y', channel: 'slack' } }, /channel slack/],
    ['a redrive with a limit', { filter: { tenant_id: 'Y' }, limit: 1 }, /limit 1/],
    ['a redrive of the last hour', { filter: { tenant_id: 'Y' }, max_age_ms: 3_600_000 }, /max_age_ms 3600000/],
    ['a redrive of stopped ones', { filter: { tenant_id: 'Y' }, include_stopped: true }, /include_stopped true/],
  ] as const)('is refused, with what it is: %s', async (_, of, said) => {
    const rows = [
      storedRow('y-1', { tenant_id: 'Y-OTHER', ...waiting }),
      deadRow('y-2', { tenant_id: 'Y-OTHER' }),
      deadRow('y-3', { tenant_id: 'Y' }),
    ];
    await ops.put(...rows);
    const operation = await made({ ...of, operation_id: `op-y${JSON.stringify(of).length}` });
    const preview = { matched: 3, taken: 3, left_to_sweep: 0, excluded: {} };
    await store().change(operation, { set: { status: 'ready', preview } });
    const { code, err } = await ops.run(['replay', '--tenant', 'Y', '--id', operation.operation_id, '--yes']);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(said) });
    for (const row of rows) expect(await ops.row(row.log_id)).toEqual(row);
    expect(await store().read(operation.operation_id)).toMatchObject({ status: 'ready' });
  });

  it.each(['cancel', 'retry', 'give_up'] as const)('is refused by its id alone, if it is a %s', async (kind) => {
    const row =
      kind === 'give_up' ? deadRow('zc-1', { tenant_id: 'ZC' }) : storedRow('zc-1', { tenant_id: 'ZC', ...waiting });
    await ops.put(row);
    const { operation_id } = await made({ kind, filter: { tenant_id: 'ZC' }, operation_id: `op-zc-${kind}` });
    expect(await ops.run(['replay', '--id', operation_id, '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`is a ${kind} of tenant_id ZC: a replay continues redrives only`),
    });
    expect(await ops.row('zc-1')).toEqual(row);
  });

  it('begins nothing under an id alone that stands for nothing: it may be mistyped', async () => {
    const row = deadRow('zt-1', { tenant_id: 'ZT' });
    await ops.put(row);
    expect(await ops.run(['replay', '--id', 'op-mistyped', '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no replay op-mistyped'),
    });
    expect(await ops.row('zt-1')).toEqual(row);
    expect(await store().read('op-mistyped')).toBeUndefined();
  });

  it.each([
    [['--id', 'not an id'], /letters, digits/],
    [['--id', 'op-1', '--dry-run'], /omit --id/],
  ])('is refused at once: %j', async (args, said) => {
    expect(await ops.run(['replay', '--tenant', 'ZT', ...args])).toMatchObject({
      code: 2,
      err: expect.stringMatching(said),
    });
  });

  it('is continued by its id alone, with its own conditions and its own rate', async () => {
    await ops.put(deadRow('z-1', { tenant_id: 'Z' }), deadRow('z-2', { tenant_id: 'Z-OTHER' }));
    const { operation_id } = await made({ filter: { tenant_id: 'Z' }, rate: 7 });
    expect(await ops.json('replay', '--id', operation_id, '--yes')).toMatchObject({ replay_id: operation_id, sent: 1 });
    expect(await store().read(operation_id)).toMatchObject({ rate: 7, status: 'done' });
    expect(await ops.row('z-2')).toMatchObject({ failure_reason: 'MAX_RETRIES' });
  });

  it.each([
    ['--from', '30d', '1d'],
    ['--max-age', '30d', '1d'],
    ['--limit', '20', '25'],
  ])('is no continuation of the same filter with another %s', async (option, first, second) => {
    const tenant_id = `Z${option}`;
    await ops.put(
      ...Array.from({ length: 30 }, (_, i) => {
        // Half are 20 days old.
        const created = new Date(Date.now() - (i % 2) * 20 * 86_400_000).toISOString();
        const tenant_created_at = `${tenant_id}#${created}`;
        return deadRow(`z${option}-${i}`, { tenant_id, created_at: created, tenant_created_at });
      }),
    );
    const args = ['replay', '--tenant', tenant_id, '--yes'];
    const now = new Date();
    const pause = () => Promise.reject(new Error('killed'));
    const interrupted = await ops.run([...args, option, first, '--rate', '10'], { clock: () => now, pause });
    expect(interrupted.code).toBe(1);
    expect((await ops.takeAll()).map(({ log_id }) => log_id)).toHaveLength(10);
    const { code, err } = await ops.run([...args, option, second]);
    expect({ code, continued: err.includes('Continuing') }).toEqual({ code: 0, continued: false });
    const after = (await ops.takeAll()).map(({ log_id }) => Number(log_id.split('-').at(-1)));
    if (option === '--limit') expect(after).toHaveLength(20);
    else expect(after.filter((i) => i % 2 === 1)).toEqual([]);
    // The one that was left says how it goes on, where the clock alone makes the difference.
    expect(err.includes('--id op-')).toBe(option === '--from');
  });

  it('is a continuation with the same open period, whenever it is given', async () => {
    await ops.put(...Array.from({ length: 12 }, (_, i) => deadRow(`zp-${i}`, { tenant_id: 'ZP' })));
    const from = new Date(Date.now() - 86_400_000).toISOString();
    const args = ['replay', '--tenant', 'ZP', '--from', from, '--yes'];
    const now = new Date();
    const pause = () => Promise.reject(new Error('killed'));
    await ops.run([...args, '--rate', '10'], { clock: () => now, pause });
    const { code, err } = await ops.run(args);
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('Continuing') });
    expect(await ops.takeAll()).toHaveLength(12);
  });

  it('begins nothing under an id that another operation took a moment before', async () => {
    const other = await made({ operation_id: 'op-taken', kind: 'cancel', filter: { tenant_id: 'A-OTHER' } });
    const mine = { operation_id: 'op-taken', filter: { tenant_id: 'A-MINE' } };
    await expect(made(mine)).rejects.toThrow(/op-taken is a cancel .*A-OTHER/);
    expect(await store().read('op-taken')).toEqual(other);
  });
});

it('the limit of a replay holds over an interruption', async () => {
  await ops.put(...Array.from({ length: 30 }, (_, i) => deadRow(`q-${i}`, { tenant_id: 'Q' })));
  const args = ['replay', '--tenant', 'Q', '--limit', '15', '--rate', '10', '--yes'];
  const now = new Date();
  const pause = () => Promise.reject(new Error('killed'));
  const interrupted = await ops.run(args, { clock: () => now, pause });
  expect(interrupted.code).toBe(1);
  expect(await ops.takeAll()).toHaveLength(10);
  expect((await ops.run(args)).code).toBe(0);
  expect(await ops.takeAll()).toHaveLength(5);
});

describe('an operator who replays', () => {
  it('sees a preview, is asked, and may say no', async () => {
    await ops.put(deadRow('k-1', { tenant_id: 'K' }));
    const { code, out, err } = await ops.run(['replay', '--tenant', 'K'], { answer: 'n' });
    expect({ code, out }).toEqual({ code: 0, out: '' });
    expect(err).toMatch(/1 {2}match\n.*1 {2}to send\n.*k-1.*Send 1 again\? \[y\/N\] Nothing was done/s);
    expect(await ops.row('k-1')).toMatchObject({ failure_reason: 'MAX_RETRIES' });
    expect(await newest('K')).toMatchObject({ status: 'cancelled', preview: { matched: 1 } });
    expect(await ops.run(['replay', '--tenant', 'K'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('add --yes'),
    });
    expect((await ops.run(['replay', '--tenant', 'K'], { answer: 'y' })).out).toContain('1  sent');
  });

  it('is in the audit log with what the replay is bound to, once per change, and not for a dry run', async () => {
    await ops.put(...Array.from({ length: 12 }, (_, i) => deadRow(`au-${i}`, { tenant_id: 'AU' })));
    const bounds = ['--max-age', '2h', '--limit', '11', '--include-stopped'];
    await run('AU', ...bounds, '--dry-run');
    const now = new Date();
    const dying = { clock: () => now, pause: () => Promise.reject(new Error('killed')) };
    await ops.run(['replay', '--tenant', 'AU', ...bounds, '--rate', '10', '--yes'], dying);
    await run('AU', ...bounds, '--rate', '20', '--yes');
    const { operation_id = '' } = (await newest('AU')) ?? {};
    const { entries } = await ops.json<{ entries: AuditRecord[] }>('audit', '--target', operation_id);
    expect(entries.map(({ what, result }) => [what, result])).toEqual([
      ['operation.resume', { accepted: 1 }],
      ['operation.start', { accepted: 1 }],
      ['operation.create', { created: 1 }],
    ]);
    const common = { kind: 'redrive', tenant: 'AU', limit: 11, max_age_hours: 2, include_stopped: true };
    for (const { who, role, on, details } of entries) {
      expect({ who, role, on }).toEqual({ who: userInfo().username, role: 'operator', on: [operation_id] });
      expect(JSON.parse(details ?? '')).toMatchObject(common);
    }
    expect(entries.map(({ details }) => JSON.parse(details ?? '').rate)).toEqual([20, 10, 10]);
    const all = await ops.json<{ entries: AuditRecord[] }>('audit', '--limit', '1000');
    expect(all.entries.filter(({ details }) => details?.includes('"AU"'))).toHaveLength(3);
  });

  it('replays nothing that cannot be written to the audit log', async () => {
    await ops.put(deadRow('an-1', { tenant_id: 'AN' }));
    const tables = { ...ops.tables, audit: 'of-somebody-else' };
    const findDeployment = async () => ({ ...ops.deployment, tables });
    expect(await ops.run(['replay', '--tenant', 'AN', '--yes'], { findDeployment })).toMatchObject({ code: 1 });
    expect(await ops.row('an-1')).toMatchObject({ failure_reason: 'MAX_RETRIES' });
    expect(await newest('AN')).toBeUndefined();
  });

  it('neither starts nor ends what another operator is being asked about, or has started', async () => {
    await ops.put(...Array.from({ length: 3 }, (_, i) => deadRow(`two-${i}`, { tenant_id: 'TWO' })));
    const args = ['replay', '--tenant', 'TWO'];
    // While the first one is asked, a second one says no, and a third one yes.
    const said: string[] = [];
    const first = await ops.run(args, {
      answer: 'n',
      meanwhile: async () => {
        for (const answer of ['n', 'y']) said.push((await ops.run(args, { answer })).err);
      },
    });
    expect(first).toMatchObject({ code: 0, err: expect.stringContaining('Nothing was done') });
    for (const err of said) expect(err).not.toContain('Continuing');
    expect(await ops.takeAll()).toHaveLength(3);
    const id = 'op-shared';
    await ops.put(deadRow('two-9', { tenant_id: 'TWO' }));
    const again = await ops.run([...args, '--id', id], {
      answer: 'n',
      meanwhile: () => ops.run(['replay', '--id', id, '--yes']),
    });
    expect(again.code).toBe(0);
    expect(await store().read(id)).toMatchObject({ status: 'done', progress: { taken: 1 } });
  });

  it('dry runs without leaving a trace', async () => {
    const before = (await store().list({ limit: 50 })).length;
    await ops.put(deadRow('v-1', { tenant_id: 'V' }));
    expect(await run('V', '--dry-run')).toMatchObject({ to_send: 1 });
    expect(await newest('V')).toBeUndefined();
    expect(await store().list({ limit: 50 })).toHaveLength(before);
  });

  it('takes exactly a group of dead letters', async () => {
    const group = { tenant_id: 'G', error_type: 'AUTH_FAILED', failure_reason: 'EXPIRED' } as const;
    await ops.put(
      deadRow('g-1', { ...group, integration_config_id: 'INT1' }),
      deadRow('g-2', { ...group, integration_config_id: 'INT2' }),
      deadRow('g-3', { ...group, integration_config_id: 'INT1', failure_reason: 'MAX_RETRIES' }),
      deadRow('g-4', { ...group, integration_config_id: 'INT1', error_type: 'UNKNOWN' }),
    );
    const args = ['--integration', 'INT1', '--failure-reason', 'EXPIRED', '--last-error', 'AUTH_FAILED'];
    expect(await run('G', '--dry-run', ...args)).toMatchObject({ matched: 1, sample: [{ log_id: 'g-1' }] });
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
    expect(pauses).toEqual([1_000, 1_000, 1_000]);
  });

  it('sends more than a page of the index with the counts of the dry run', async () => {
    const items = Array.from({ length: 201 }, (_, i) => toItem(deadRow(`x-${i}`, { tenant_id: 'X' })));
    for (let start = 0; start < items.length; start += 25) {
      const requests = items.slice(start, start + 25).map((Item) => ({ PutRequest: { Item } }));
      const RequestItems = { [ops.tables.notification_log]: requests };
      await ops.dynamodb.send(new BatchWriteItemCommand({ RequestItems }));
    }
    const dry = await run('X', '--dry-run');
    expect(dry).toMatchObject({ matched: 201, to_send: 201 });
    expect(numbers(await run('X', '--yes'))).toEqual(numbers(dry));
    expect(await run('X', '--yes')).toMatchObject({ matched: 0, sent: 0 });
    expect(new Set((await ops.takeAll()).map(({ log_id }) => log_id)).size).toBe(201);
  }, 60_000);
});
