import { describe, expect, it } from 'vitest';
import type { Stored } from '../../../src/core/verify/rules/row-rules.ts';
import { type Asked, newVerification, type Verification } from '../../../src/core/verify/verification.ts';
import { settleSuspects, verify } from '../../../src/core/verify/verify.ts';
import { dueRow, iso, T0 } from '../../support/rows.ts';
import { PAGE, VerifiedTables as Tables } from '../../support/verified-tables.ts';

const ASKED: Asked = { sample: 10, letters: false };
const row = (i: number, changes: Stored = {}): Stored => ({ ...dueRow({ log_id: `n-${i}` }), ...changes });
const lost = (i: number) => row(i, { work_queue: undefined });
const some = (count: number, make = row) => Array.from({ length: count }, (_, i) => make(i));

describe('what looks wrong while it changes', () => {
  it('is read again after a minute, and breaks no rule if it is right then', async () => {
    const tables = new Tables();
    tables.put(lost(1), row(2));
    tables.onRead = () => {
      if (tables.reads === 4) tables.put(row(1));
    };
    const state = newVerification(ASKED, T0);
    await verify(state, tables.deps());
    expect(state).toMatchObject({ violated: 0, lost: 0, accounts: { waiting: 2 } });
    expect(tables.now).toBeGreaterThanOrEqual(60_000);
  });

  it('is counted where it is then', async () => {
    const tables = new Tables();
    tables.put(lost(1));
    tables.onRead = () => {
      if (tables.reads === 4) tables.put({ ...row(1), send_status: 'SUCCESS' });
    };
    const state = newVerification(ASKED, T0);
    await verify(state, tables.deps());
    expect(state).toMatchObject({ violated: 0, accounts: { waiting: 0, delivered: 1 } });
  });

  it('is not waited for when nothing looks wrong', async () => {
    const tables = new Tables();
    tables.put(...some(50));
    await verify(newVerification(ASKED, T0), tables.deps());
    expect(tables.now).toBeLessThan(1_000);
  });
});

it('names content that was accepted and has no row, and breaks a rule with what was attempted', async () => {
  const tables = new Tables();
  const accepted = (log_id: string) => ({ log_id, tenant_id: 'tenant-1', accepted_at: iso() });
  tables.contents.push(accepted('cut-off'), accepted('attempted'), accepted('late'), {
    ...accepted('erased'),
    erased_at: iso(),
  });
  tables.records.set('attempted', [{ retry_attempt: 0, retry_status: 'SUCCESS' }]);
  const state = newVerification(ASKED, T0);
  const pause = async (ms: number) => {
    tables.now += ms;
    tables.put({ ...row(1), log_id: 'late' });
  };
  await verify(state, tables.deps({ pause }));
  expect(state).toMatchObject({
    contents_without_row: 4,
    accepted_without_row: [accepted('cut-off')],
    violations: [{ rule: '1', log_id: 'attempted' }],
  });
});

it('bounds what it suspects: reading waits while 5,000 rows are to be looked at again', async () => {
  const tables = new Tables();
  tables.put(...some(6_000, lost));
  let most = 0;
  const onProgress = ({ suspects }: Verification) => {
    most = Math.max(most, suspects.length);
  };
  const state = newVerification({ ...ASKED, sample: 1 }, T0);
  await verify(state, tables.deps({ rate: 1e9, onProgress }));
  expect(state).toMatchObject({ lost: 6_000, violated: 6_000 });
  expect(state.violations).toHaveLength(1_000);
  expect(most).toBeGreaterThan(4_990);
  expect(most).toBeLessThanOrEqual(5_000 + 4 * PAGE);
});

it('spends no more read units per second than it may', async () => {
  const tables = new Tables();
  tables.put(...some(400));
  const state = newVerification(ASKED, T0);
  await verify(state, tables.deps({ rate: 10 }));
  expect(tables.now).toBeGreaterThanOrEqual((state.read_units / 10) * 1000 - 1000);
});

it('checks the records of a sample, all of them if there are fewer', async () => {
  const tables = new Tables();
  const tried = (i: number) => row(i, { last_attempt: 1, claim_id: 'c', send_attempts: 2 });
  tables.put(...some(30, tried));
  for (let i = 0; i < 30; i += 1) tables.records.set(`n-${i}`, [{ retry_attempt: 1, retry_status: 'FAILED' }]);
  tables.records.delete('n-7');
  const all = newVerification({ ...ASKED, sample: 30 }, T0);
  await verify(all, tables.deps());
  expect(all).toMatchObject({ records_checked: 30, violated: 1 });
  expect(all.violations).toEqual([{ rule: '6', says: 'attempt 1 has no record', log_id: 'n-7' }]);
  const few = newVerification({ ...ASKED, sample: 5 }, T0);
  await verify(few, tables.deps());
  expect(few.records_checked).toBe(5);
});

it('finds the record of each attempt that is settled between its reads', async () => {
  const tables = new Tables();
  const settled = (last_attempt: number) =>
    row(1, { last_attempt, claim_id: '', send_attempts: 2, created_by: 'intake-api' });
  const recorded = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ retry_attempt: i, retry_status: 'FAILED' }));
  tables.put(settled(1));
  tables.records.set('n-1', recorded(2));
  let last = 1;
  tables.onRecords = () => {
    last += 1;
    tables.records.set('n-1', recorded(last + 1));
    tables.put(settled(last));
  };
  const state = newVerification(ASKED, T0);
  await verify(state, tables.deps());
  expect(state).toMatchObject({ records_checked: 1, violated: 0 });
});

it('counts malformed rows whose content is left to their writers', async () => {
  const tables = new Tables();
  const malformed = {
    work_queue: undefined,
    work_at: undefined,
    message_body: 'words',
    updated_by: 'notification-retry',
  };
  tables.put(row(1), row(2, { ...malformed, failure_reason: 'FORMAT_ERROR' }));
  const state = newVerification(ASKED, T0);
  await verify(state, tables.deps());
  expect(state).toMatchObject({ violated: 0, set_aside_in_clear: 1, accounts: { waiting: 1, stopped: 1 } });
});

it('counts what others wrote a moment ago as waiting, and names it once it is late', async () => {
  const tables = new Tables();
  const foreign = (log_id: string, minutes: number) => ({
    log_id,
    tenant_id: 'tenant-1',
    send_status: 'PENDING',
    message_body: 'words',
    recipient_address: '#x',
    updated_at: iso(-minutes * 60_000),
  });
  tables.put(foreign('fresh', 3), foreign('late', 30));
  const state = newVerification(ASKED, T0);
  await verify(state, tables.deps());
  expect(state).toMatchObject({ lost: 1, accounts: { waiting: 1 } });
  expect(new Set(state.violations.map(({ log_id }) => log_id))).toEqual(new Set(['late']));
});

it('asks again how many partitions there are: a deployment may add some meanwhile', async () => {
  const tables = new Tables();
  tables.put(row(1, { work_queue: 'due#normal#9' }));
  let asked = 0;
  const terms = async () => ({ shards: ++asked > 1 ? 16 : 8 });
  const state = newVerification(ASKED, T0);
  await verify(state, tables.deps({ terms }));
  expect(state).toMatchObject({ violated: 0, accounts: { waiting: 1 } });
});

it('names missing letters once, though its process is stopped before it looks again', async () => {
  const tables = new Tables();
  const { ports } = tables.deps();
  const missing = {
    channels: ['webhook'],
    counts: async () => ({ letters: 0, on_the_way: 0 }),
    async *dead() {
      yield { items: [{ log_id: 'n-1', channel: 'webhook', work_at: iso(-120_000) }], read_units: 1 };
    },
    async *walk() {},
  };
  const deps = (isStopping: () => boolean) =>
    tables.deps({ isStopping, ports: { ...ports, letters: { ...ports.letters, ...missing } } });
  const state = newVerification(ASKED, T0);
  await verify(
    state,
    deps(() => state.suspects.length > 0),
  );
  expect(state).toMatchObject({ phase: 'letters', suspects: [{ of: 'letters' }] });
  await settleSuspects(
    state,
    deps(() => false),
  );
  expect(state).toMatchObject({ suspects: [], violated: 1 });
  await verify(
    state,
    deps(() => false),
  );
  expect(state).toMatchObject({ phase: 'done', violated: 1 });
});

it('of a newsletter the chunks of one that has expired are deleted in any order, and missed by nobody', async () => {
  const email = {
    email_id: 'e',
    tenant_id: 't',
    status: 'submitted',
    created_at: iso(),
    prepared: { recipients: 2, batches: 1 },
  };
  const newsletters = (changes: Stored) => ({
    page: async () => ({ items: [{ ...email, ...changes }], read_units: 1 }),
    read: async () => ({ items: [{ ...email, ...changes }], read_units: 1 }),
    batches: async () => ({
      items: [{ batch_id: '00000', status: 'submitted', chunks: 1, counts: { submitted: 2 } }],
      read_units: 1,
    }),
    async *chunks() {},
  });
  const verified = async (changes: Stored) => {
    const tables = new Tables();
    const { ports } = tables.deps();
    const state = newVerification(ASKED, T0);
    await verify(state, tables.deps({ ports: { ...ports, newsletters: newsletters(changes) } }));
    return state;
  };
  const now = T0.getTime() / 1_000;
  expect(await verified({ expires_at: now - 1 })).toMatchObject({ violated: 0, emails: 0 });
  expect((await verified({ expires_at: now + 86_400 })).violations).toMatchObject([{ rule: 'N4' }, { rule: 'N1' }]);
});

it('counts each row once, though its process dies after any page and another one goes on', async () => {
  for (let died = 1; died < 30; died += 1) {
    const tables = new Tables();
    tables.put(...some(21), ...some(3, (i) => lost(100 + i)));
    tables.contents.push(...some(9), { log_id: 'gone', tenant_id: 'tenant-1' });
    let kept = JSON.stringify(newVerification({ ...ASKED, sample: 100 }, T0));
    let pages = 0;
    const dying = tables.deps({
      onProgress: (state) => {
        kept = JSON.stringify(state);
        pages += 1;
        if (pages === died) throw new Error('killed');
      },
    });
    await verify(JSON.parse(kept), dying).catch(() => {});
    const state: Verification = JSON.parse(kept);
    await verify(state, tables.deps());
    expect(state, `died after page ${died}`).toMatchObject({
      scanned: 24,
      lost: 3,
      violated: 3,
      contents: 10,
      contents_without_row: 1,
      records_checked: 24,
      accounts: { waiting: 21 },
    });
  }
});
