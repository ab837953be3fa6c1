import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOperationStore, createVerificationStore } from '../../src/adapters/dynamodb/console/operation-store.ts';
import type { OperationView } from '../../src/application/contract/operations.ts';
import { verificationOf } from '../../src/application/scans/verify.ts';
import { startVerification } from '../../src/core/verify/kept-verification.ts';
import { runKept } from '../../src/core/verify/run-kept.ts';
import { deadRow, type Operations, startOperations, stoppedRow, storedRow } from '../support/cli/operations.ts';
import { startTestConsole, type TestConsole } from '../support/console.ts';

let ops: Operations;
let page: TestConsole;
beforeAll(async () => {
  ops = await startOperations();
  page = await startTestConsole(ops);
}, 60_000);
afterAll(async () => {
  await page?.stop();
  await ops?.stop();
});

let serial = 0;
const request_id = () => `request-${++serial}`;
const waiting = (log_id: string, more = {}) =>
  storedRow(log_id, { work_at: new Date(Date.now() + 3_600_000).toISOString(), ...more });
const create = (tenant: string, kind: string, more = {}) =>
  page.ok('POST /api/operations', { body: { request_id: request_id(), kind, filter: { tenant }, ...more } });
const ask = (operation_id: string, act: 'start' | 'pause' | 'resume' | 'cancel', on = page) =>
  on.ok(`POST /api/operations/{operation_id}/${act}`, { path: { operation_id }, body: { request_id: request_id() } });

async function until(operation_id: string, ...statuses: OperationView['status'][]): Promise<OperationView> {
  for (let tries = 0; tries < 500; tries++) {
    const found = await page.ok('GET /api/operations/{operation_id}', { path: { operation_id } });
    if (statuses.includes(found.status)) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${operation_id} never was ${statuses.join(' or ')}`);
}

const wordsOf = (line: string) =>
  [...line.matchAll(/'((?:[^']|'\\'')*)'|\S+/g)].map(([word, text]) => text?.replaceAll("'\\''", "'") ?? word);

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

describe('a bulk operation', () => {
  it.each([{ max_age_hours: 4.98e16 }, { limit: 1.7e19 }])('refuse bounds beyond all rows: %j', async (bounds) => {
    const body = { request_id: request_id(), kind: 'give_up', filter: {}, ...bounds };
    expect(await page.call('POST /api/operations', { body })).toMatchObject({ status: 400 });
  });

  it('shows what it would do, does exactly that, and leaves alone what came later', async () => {
    const tenant_id = 'T-REDRIVE';
    await ops.put(...many(30, (i) => deadRow(`B${i}`, { tenant_id })), stoppedRow('B-STOPPED'));
    await ops.put(deadRow('B-DELETED', { tenant_id, is_deleted: true }));
    const { operation_id } = await create(tenant_id, 'redrive');
    const ready = await until(operation_id, 'ready');
    expect(ready.preview).toEqual({ matched: 31, taken: 30, left_to_sweep: 0, excluded: { deleted: 1 } });
    expect(ready.sample).toHaveLength(5);
    expect(ready.actions).toEqual(['start', 'cancel']);
    expect(ready.outcomes).toBeNull();
    expect(await ops.takeAll()).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await ops.put(deadRow('B-LATER', { tenant_id, work_at: new Date().toISOString() }));
    await ask(operation_id, 'start');
    const done = await until(operation_id, 'done');
    expect(done.progress).toEqual(ready.preview);
    // What became of them: one is delivered meanwhile, one dead again.
    const { replay_id } = (await ops.row('B1')) as { replay_id: string };
    await ops.put(storedRow('B1', { tenant_id, replay_id, send_status: 'SUCCESS' }));
    await ops.put(deadRow('B2', { tenant_id, replay_id }));
    const { outcomes } = await page.ok('GET /api/operations/{operation_id}', { path: { operation_id } });
    expect(outcomes).toMatchObject({ looked_at: 30, delivered: ['B1'], dead: ['B2'], stopped: [] });
    expect(outcomes?.waiting).toHaveLength(28);
    expect((await ops.takeAll()).map(({ log_id }) => log_id).sort()).toEqual(many(30, (i) => `B${i}`).sort());
    expect(await ops.row('B-LATER')).toMatchObject({ work_queue: expect.stringContaining('dead#') });
    expect(await ops.row('B3')).toMatchObject({ send_status: 'RETRY', replay_id: operation_id });
    const { entries } = await page.ok('GET /api/audit', { query: { target: operation_id } });
    expect(entries.map(({ what }) => what)).toContain('operation.start');
  });

  it('retries what waits, each once, and nothing that is due already', async () => {
    const tenant_id = 'T-RETRY';
    await ops.put(...many(12, (i) => waiting(`R${i}`, { tenant_id })), storedRow('R-DUE', { tenant_id }));
    const { operation_id } = await create(tenant_id, 'retry');
    expect((await until(operation_id, 'ready')).preview).toMatchObject({ taken: 12, excluded: { retrying: 1 } });
    await ask(operation_id, 'start');
    expect((await until(operation_id, 'done')).progress).toMatchObject({ matched: 13, taken: 12 });
    expect(await ops.takeAll()).toHaveLength(12);
  });

  it('cancels what waits, and gives up what is dead', async () => {
    const tenant_id = 'T-END';
    await ops.put(waiting('E1', { tenant_id }), deadRow('E2', { tenant_id }));
    for (const kind of ['cancel', 'give_up']) {
      const { operation_id } = await create(tenant_id, kind);
      await until(operation_id, 'ready');
      await ask(operation_id, 'start');
      expect((await until(operation_id, 'done')).progress.taken).toBe(1);
    }
    expect(await ops.row('E1')).toMatchObject({ failure_reason: 'CANCELLED' });
    expect((await ops.row('E2'))['work_queue']).toBeUndefined();
    expect(await ops.takeAll()).toEqual([]);
  });

  it('pauses, resumes and keeps its rate and its limit', async () => {
    const tenant_id = 'T-PAUSE';
    await ops.put(...many(40, (i) => deadRow(`U${i}`, { tenant_id })));
    const { operation_id } = await create(tenant_id, 'redrive', { rate: 10, limit: 35 });
    expect((await until(operation_id, 'ready')).preview).toMatchObject({ taken: 35, excluded: { beyond_limit: 5 } });
    await ask(operation_id, 'start');
    await ask(operation_id, 'pause');
    const paused = await until(operation_id, 'paused');
    expect(paused.progress.taken).toBeLessThan(35);
    expect(paused.actions).toEqual(['resume', 'cancel']);
    await ask(operation_id, 'resume');
    expect((await until(operation_id, 'done')).progress.taken).toBe(35);
    expect(await ops.takeAll()).toHaveLength(35);
  });

  it('is gone on with by another process, when its own is gone, however many are newer', async () => {
    const tenant_id = 'T-RESUME';
    await ops.put(...many(20, (i) => deadRow(`C${i}`, { tenant_id })));
    const first = await startTestConsole(ops);
    const { operation_id } = await create(tenant_id, 'redrive', { rate: 4 });
    await until(operation_id, 'ready');
    await ask(operation_id, 'start', first);
    await first.stop();
    const store = createOperationStore(ops.dynamodb, ops.tables.pipeline_state);
    const stored = await store.read(operation_id);
    if (stored === undefined) throw new Error('it is not stored');
    const newer = many(60, (i) => ({
      ...stored,
      operation_id: `${operation_id}-${i}`,
      version: 0,
      status: 'done' as const,
    }));
    await Promise.all(newer.map((one) => store.create(one)));
    const second = await startTestConsole(ops);
    await second.resume();
    expect((await until(operation_id, 'done')).progress.taken).toBe(20);
    expect(await ops.takeAll()).toHaveLength(20);
    await second.stop();
  });

  it('names the command that does the same, with every condition', async () => {
    const filter = { channel: 'slack', integration: "INT'1", failure_reason: 'EXPIRED', last_error: 'AUTH_FAILED' };
    const more = { filter, rate: 20, limit: 7, max_age_hours: 2, include_stopped: true };
    const { command, operation_id } = await create('', 'redrive', more);
    expect(command).toBe(
      "npm run ops -- replay --channel slack --failure-reason EXPIRED --last-error AUTH_FAILED --integration 'INT'\\''1'" +
        ' --max-age 7200s --include-stopped --limit 7 --rate 20 --local',
    );
    await until(operation_id, 'ready');
    const recipient_hash = 'x'.repeat(40);
    const other = await create('', 'redrive', { filter: { tenant: 'T-REC', recipient_hash } });
    expect(other.command).toBeNull();
  });

  it('takes what the group counts that its button belongs to, as the list and both commands do', async () => {
    const tenant_id = 'T-NONE-GROUP';
    const auth = { tenant_id, error_type: 'AUTH_FAILED', failure_reason: 'AUTH_FAILED' } as const;
    const { error_type: _, ...untyped } = deadRow('NX', { tenant_id });
    await ops.put(
      ...many(2, (i) => deadRow(`NA${i}`, auth)),
      deadRow('NA2', { ...auth, integration_config_id: '' }),
      deadRow('NA3', { ...auth, integration_config_id: '(none)' }),
      ...many(7, (i) => deadRow(`NB${i}`, { ...auth, integration_config_id: `INT${i % 2}` })),
      ...many(3, (i) => ({ ...untyped, log_id: `NC${i}`, work_queue: deadRow(`NC${i}`)['work_queue'] })),
      deadRow('NC3', { tenant_id, error_type: 'a word of its writer' as never }),
      deadRow('ND', { tenant_id }),
    );
    const { groups } = await page.ok('GET /api/dead-letters', { query: { tenant: tenant_id } });
    expect(groups.map(({ count }) => count).sort()).toEqual([1, 3, 4, 4, 4]);
    expect(groups.filter(({ integration }) => integration === null)).toHaveLength(3);
    for (const { filter, count, commands } of groups) {
      const { operation_id, command } = await page.ok('POST /api/operations', {
        body: { request_id: request_id(), kind: 'redrive', filter },
      });
      const { preview } = await until(operation_id, 'ready');
      expect(preview).toMatchObject({ matched: count, taken: count });
      const query = { status: 'dead', ...(filter as Record<string, string>) };
      const { notifications } = await page.ok('GET /api/notifications', { query });
      expect(notifications).toHaveLength(count);
      const lines = [String(command), ...commands.map((one) => one.command)].filter((line) =>
        line.includes(' replay '),
      );
      const [own = [], ...others] = lines.map((line) => wordsOf(line).slice(wordsOf('npm run ops -- replay').length));
      const conditions = own.slice(0, own.indexOf('--rate'));
      expect(others.map((args) => args.slice(0, conditions.length).sort())).toEqual(
        Array(2).fill([...conditions].sort()),
      );
      if (filter.integration !== '(none)') continue;
      expect(await ops.json('replay', ...conditions, '--dry-run')).toMatchObject({ to_send: count });
      const list = await ops.json('list', '--status', 'dead', ...conditions);
      expect(list['notifications']).toHaveLength(count);
    }
  });

  it('is the same as a replay: the console lists the one of the shell', async () => {
    await ops.put(deadRow('SH1', { tenant_id: 'T-SHELL' }));
    const { replay_id } = await ops.json('replay', '--tenant', 'T-SHELL', '--yes');
    const { operations } = await page.ok('GET /api/operations');
    expect(operations.find(({ operation_id }) => operation_id === replay_id)).toMatchObject({
      status: 'done',
      kind: 'redrive',
      filter: { tenant: 'T-SHELL' },
      preview: { taken: 1 },
      progress: { taken: 1 },
    });
    await ops.takeAll();
  });

  it('is audited with its id and all that it is bound to, when it is made and when it is acted on', async () => {
    const filter = { tenant: 'T-AUDIT', channel: 'slack', from: new Date(Date.now() - 60_000).toISOString() };
    const more = { filter, rate: 20, limit: 7, max_age_hours: 2, include_stopped: true };
    const { operation_id } = await create('', 'redrive', more);
    await until(operation_id, 'ready');
    await ask(operation_id, 'start');
    await until(operation_id, 'done');
    const { entries } = await page.ok('GET /api/audit', { query: { target: operation_id } });
    expect(entries.map(({ what }) => what).sort()).toEqual(['operation.create', 'operation.start']);
    for (const { details } of entries) {
      expect(JSON.parse(details ?? '{}')).toEqual({
        kind: 'redrive',
        ...filter,
        rate: 20,
        limit: 7,
        max_age_hours: 2,
        include_stopped: true,
      });
    }
    const without = await create('T-AUDIT-2', 'cancel');
    const { entries: few } = await page.ok('GET /api/audit', { query: { target: without.operation_id } });
    expect(JSON.parse(few[0]?.details ?? '{}')).toEqual({
      kind: 'cancel',
      tenant: 'T-AUDIT-2',
      rate: 100,
      include_stopped: false,
    });
    await until(without.operation_id, 'ready');
  });

  it('refuses what its state does not allow', async () => {
    const { operation_id } = await create('T-NONE', 'redrive');
    await until(operation_id, 'ready');
    const path = { operation_id };
    const answer = await page.call('POST /api/operations/{operation_id}/resume', {
      path,
      body: { request_id: request_id() },
    });
    expect(answer.status).toBe(409);
    await ask(operation_id, 'cancel');
    expect((await until(operation_id, 'cancelled')).actions).toEqual([]);
  });

  it('is no part of what was done when nobody started its preview', async () => {
    await ops.put(deadRow('AB1', { tenant_id: 'TAB' }));
    const [kept, left, old] = [
      await create('TAB', 'redrive'),
      await create('TAB', 'redrive'),
      await create('TAB', 'redrive'),
    ];
    await Promise.all([kept, left, old].map(({ operation_id }) => until(operation_id, 'ready')));
    await ask(left.operation_id, 'cancel');
    const store = createOperationStore(ops.dynamodb, ops.tables.pipeline_state);
    const found = await store.read(old.operation_id);
    if (found === undefined) throw new Error('it was not made');
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    await store.change(found, { set: { created_at: yesterday } });
    const { operations } = await page.ok('GET /api/operations', { query: { limit: '100' } });
    const listed = operations.map(({ operation_id }) => operation_id);
    expect([kept, left, old].map(({ operation_id }) => listed.includes(operation_id))).toEqual([true, false, false]);
  });

  it('is listed, newest first', async () => {
    const { operations, next_cursor } = await page.ok('GET /api/operations', { query: { limit: '2' } });
    expect(operations.map(({ created_at }) => created_at)).toEqual(
      operations
        .map(({ created_at }) => created_at)
        .sort()
        .reverse(),
    );
    const query = { limit: '2', cursor: next_cursor ?? '' };
    const next = await page.ok('GET /api/operations', { query });
    expect(
      next.operations.some(({ operation_id }) => operations.some((one) => one.operation_id === operation_id)),
    ).toBe(false);
  });
});

it('verifies in the process of the console, names what is lost, and is in the audit log', async () => {
  await ops.put(storedRow('V-LOST', { tenant_id: 'T-VERIFY', work_queue: 'due#normal#63' }));
  const body = () => ({ body: { request_id: request_id() } });
  expect(await page.ok('POST /api/verification/start', body())).toMatchObject({ verification: { status: 'running' } });
  expect(await page.call('POST /api/verification/start', body())).toMatchObject({ status: 409 });
  expect(await page.ok('POST /api/verification/stop', body())).toMatchObject({ verification: { status: 'stopped' } });
  expect(page.records.map(({ what }) => what)).toEqual(
    expect.arrayContaining(['verification.start', 'verification.stop']),
  );
  // A clock that is a minute on: what is suspected is looked at again at once.
  let now = Date.now();
  const store = createVerificationStore(ops.dynamodb, ops.tables.pipeline_state);
  const clock = () => new Date(now);
  await startVerification('mori', { store, clock, startRun: async () => {} });
  const pause = async (ms: number) => {
    now += ms;
  };
  const never = () => false;
  const shards = async () => ({ work: 8, history: 8 });
  const ports = verificationOf({ ...ops, shards });
  await runKept({ store, clock, pause, ports, claim_id: 'c', isEnding: never, isOver: never });
  const { verification } = await page.ok('GET /api/verification');
  expect(verification).toMatchObject({ status: 'done', started_by: 'mori', result: { holds: false } });
  expect(verification?.result?.violations).toContainEqual(expect.objectContaining({ rule: '1', log_id: 'V-LOST' }));
});
