import { describe, expect, it } from 'vitest';
import { isoAfter } from '../../../../src/core/model/time.ts';
import { advance, endOf, reopen, runClock } from '../../../../src/core/newsletter/lifecycle/advance.ts';
import { startEmail } from '../../../../src/core/newsletter/lifecycle/start.ts';
import type { Batch } from '../../../../src/core/newsletter/model/batch.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import { batchFor, chunkState, emailRow } from '../../../support/newsletter/job-rows.ts';
import { candidate, JobWorld } from '../../../support/newsletter/job-world.ts';

const MINUTE = 60_000;
const prepared = (batches: number) => ({
  recipients: batches,
  excluded: 0,
  excluded_by_reason: {},
  batches,
  at: '2026-03-01T09:00:00.000Z',
});
const id = (n: number) => String(n).padStart(5, '0');

async function sending(batches: readonly Partial<Batch>[], email: Partial<Email> = {}) {
  const world = await JobWorld.of({ status: 'submitting', prepared: prepared(batches.length), ...email });
  for (const [n, batch] of batches.entries()) {
    const codes = batch.status === 'submitted' ? 's' : '.';
    await world.tables.batches.put(batchFor([chunkState(codes)], { batch_id: id(n), ...batch }));
  }
  return world;
}

async function finish(world: JobWorld, n: number, status: Batch['status'], slot: string) {
  const batch = await world.tables.batches.read('email-1', id(n));
  const counts = {
    pending: 0,
    submitted: 0,
    excluded: 0,
    failed: 0,
    uncertain: 0,
    [status === 'failed' ? 'pending' : 'submitted']: 1,
  };
  if (batch !== undefined)
    await world.tables.batches.change(batch, {
      set: { status, counts, ...(status === 'failed' && { error_message: 'The provider refused it.' }) },
    });
  return advance('email-1', world.deps(), { slot, batch_id: id(n) });
}

const sent = (world: JobWorld) =>
  world.sends.map((message) => (message.kind === 'batch' ? [message.batch_id, message.slot] : [message.kind, false]));

describe('a scheduled email without a schedule', () => {
  it.each([
    ['is started by a message that the clock delays to its second', 40_500, {}, 41],
    ['is left to the next run of the clock', 95_000, {}, undefined],
    ['is not started while it is paused', 40_000, { paused: true }, undefined],
  ])('%s', async (_, ahead_ms, changes, delay) => {
    const start = new JobWorld().now;
    const scheduled_at = isoAfter(start, ahead_ms);
    const world = await JobWorld.of({ scheduled_at, next_at: scheduled_at, active: 'active', ...changes });
    const delays: (number | undefined)[] = [];
    const { queues, ...deps } = world.deps();
    const prepare = async (_message: object, seconds?: number) => void delays.push(seconds);
    expect(await runClock({ ...deps, queues: { ...queues, prepare } })).toEqual({ advanced: 0, failed: 0 });
    expect(delays).toEqual(delay === undefined ? [] : [delay]);
  });
});

describe('the slots of an email', () => {
  it('are two, and each end of a batch gives its slot to the next one', async () => {
    const world = await sending([{}, {}, {}]);
    await advance('email-1', world.deps());
    expect(sent(world)).toEqual([
      ['00000', '0'],
      ['00001', '1'],
    ]);
    await finish(world, 1, 'submitted', '1');
    expect(sent(world).at(-1)).toEqual(['00002', '1']);
    await finish(world, 0, 'submitted', '0');
    expect(await finish(world, 2, 'submitted', '1')).toMatchObject({
      status: 'submitted',
      submitted_at: world.now.toISOString(),
    });
    expect(await world.email()).not.toHaveProperty('next_at');
    expect(world.log).toEqual(['Email email-1 is submitted']);
  });

  it('are given to the same batches by many triggers at the same time', async () => {
    const world = await sending([{}, {}, {}]);
    await Promise.all([1, 2, 3, 4].map(() => advance('email-1', world.deps())));
    // A second message of a batch does nothing.
    expect(new Set(sent(world).map(String))).toEqual(new Set(['00000,0', '00001,1']));
  });

  it('are not freed by an old message of a batch that has left them', async () => {
    const world = await sending([{}, {}, {}]);
    await advance('email-1', world.deps());
    await advance('email-1', world.deps(), { slot: '0', batch_id: '00002' });
    expect(world.sends).toHaveLength(2);
  });

  it('are not freed by a report that is repeated while the next sender of the same batch is at work', async () => {
    const world = await sending([{}, {}, {}]);
    await advance('email-1', world.deps());
    const batch = await world.tables.batches.read('email-1', id(0));
    const claim = { claim_id: 'next', claim_until: isoAfter(world.now, 20_000) };
    if (batch !== undefined) await world.tables.batches.change(batch, { set: { status: 'submitting', ...claim } });
    await advance('email-1', world.deps(), { slot: '0', batch_id: '00000' });
    expect((await world.email()).slots).toMatchObject({ 0: { batch_id: '00000' }, 1: { batch_id: '00001' } });
    expect(world.sends).toHaveLength(2);
  });

  it('get their message again when nobody takes it, after a minute and then ever later', async () => {
    const world = await sending([{}]);
    await advance('email-1', world.deps());
    const minutes: number[] = [];
    for (let minute = 1; minute <= 24; minute++) {
      world.advance(MINUTE);
      await runClock(world.deps());
      if (sent(world).length > minutes.length + 1) minutes.push(minute);
    }
    expect(minutes).toEqual([1, 2, 4, 8, 13, 18, 23]);
    expect(world.counted, 'it may have waited behind others for the first 20 minutes').toEqual(['stalled']);
  });

  it('get another sender when theirs died: at once after its claim, and an operator is told', async () => {
    const world = await sending([{}]);
    await advance('email-1', world.deps());
    const claimed = async (claim_until: string) => {
      const batch = await world.tables.batches.read('email-1', '00000');
      if (batch !== undefined) await world.tables.batches.change(batch, { set: { status: 'submitting', claim_until } });
    };
    for (let renewed = 0; renewed < 20; renewed++) {
      await claimed(isoAfter(world.now, world.limits.sender_lease_ms));
      world.advance(world.limits.renew_ms);
      await runClock(world.deps());
    }
    expect(world.sends, 'it is alive').toHaveLength(1);
    world.advance(world.limits.sender_lease_ms);
    await runClock(world.deps());
    expect(world.sends).toHaveLength(2);
    expect(world.counted).toEqual(['stalled']);
    world.advance(world.limits.renew_ms);
    await runClock(world.deps());
    expect(world.sends, 'the new message is on its way').toHaveLength(2);
  });

  it('get another sender as soon when the next ones die, too', async () => {
    const world = await sending([{}]);
    await advance('email-1', world.deps());
    for (let deaths = 1; deaths <= 3; deaths++) {
      const batch = await world.tables.batches.read('email-1', '00000');
      const claim_until = isoAfter(world.now, world.limits.sender_lease_ms);
      if (batch !== undefined) await world.tables.batches.change(batch, { set: { status: 'submitting', claim_until } });
      world.advance(world.limits.sender_lease_ms + 1_000);
      await runClock(world.deps());
      expect(world.sends, 'the clock looks after the claim').toHaveLength(1 + deaths);
    }
  });

  it('are free while a batch waits, and the clock wakes it up', async () => {
    const world = await sending([{}, {}]);
    const until = new Date(world.now.getTime() + 5 * MINUTE).toISOString();
    await advance('email-1', world.deps());
    const batch = await world.tables.batches.read('email-1', '00000');
    if (batch !== undefined) await world.tables.batches.change(batch, { set: { not_before: until } });
    await advance('email-1', world.deps(), { slot: '0', batch_id: '00000' });
    expect(Object.keys((await world.email()).slots)).toEqual(['1']);
    await finish(world, 1, 'submitted', '1');
    expect(await world.email()).toMatchObject({ status: 'submitting', slots: {}, next_at: until });
    world.advance(10 * MINUTE);
    await runClock(world.deps());
    expect(sent(world).at(-1)).toEqual(['00000', '0']);
  });

  it('stay empty while the provider gives no allowance to anyone', async () => {
    const world = await sending([{}, {}, {}], {
      slots: { 0: { batch_id: '00000', since: '2026-03-01T10:00:00.000Z' } },
    });
    const until = new Date(world.now.getTime() + 600 * MINUTE).toISOString();
    const done = { slot: '0', batch_id: '00000', hold: { for: 'quota', until } } as const;
    await advance('email-1', world.deps(), done);
    expect(world.sends).toEqual([]);
    const ask_at = new Date(world.now.getTime() + 10_000).toISOString();
    const hold = { for: 'quota', until, ask_at, asked: 0, since: world.now.toISOString() };
    expect(await world.email()).toMatchObject({ slots: {}, next_at: ask_at, hold });
    await advance('email-1', world.deps(), done);
    expect((await world.email()).hold, 'a repeated report asks no later').toEqual(hold);
  });
});

describe('the end of an email', () => {
  it('is failed when batches failed: partially sent, with the counts and the cause', async () => {
    const world = await sending([{ status: 'submitted' }, {}]);
    await advance('email-1', world.deps());
    expect(await finish(world, 1, 'failed', '0')).toMatchObject({
      status: 'failed',
      error_code: 'BULK_EMAIL_SEND_FAILED',
      error:
        'The email was partially sent: 1 of 2 recipients in 1 batch were not sent. The provider refused it. ' +
        'Mend the cause, then retry the email: only what is missing is sent.',
    });
    expect(await world.email()).not.toHaveProperty('submitted_at');
    expect(world.counted).toEqual(['failed']);
    expect(world.errors).toEqual([
      [expect.stringMatching(/^Email email-1 failed: The email was partially/), { email_id: 'email-1' }],
    ]);
  });

  it('is submitted when the rest was sent by a retry, without the error', async () => {
    const world = await sending([{ status: 'submitted' }], { error: 'The email was partially sent', error_code: 'X' });
    expect(await advance('email-1', world.deps())).toMatchObject({
      status: 'submitted',
      submitted_at: world.now.toISOString(),
    });
    for (const column of ['error', 'error_code']) expect(await world.email()).not.toHaveProperty(column);
    expect(world.counted).toEqual([]);
  });

  it('rings once for recipients that the provider refused for good, not again after a decision about others', async () => {
    const counts = { pending: 0, submitted: 1, excluded: 0, failed: 1, uncertain: 0 };
    const world = await sending([{ status: 'submitted', counts }]);
    expect(await advance('email-1', world.deps())).toMatchObject({ status: 'submitted', failed_recipients: 1 });
    expect(world.counted).toEqual(['failed']);
    await reopen('email-1', world.deps());
    expect(await world.email()).toMatchObject({ status: 'submitted' });
    expect(world.counted).toEqual(['failed']);
  });

  it('does not say that nothing was sent where recipients are uncertain', async () => {
    const batch = batchFor([chunkState('.uuu')], { status: 'failed' });
    const email = emailRow({ prepared: { ...prepared(1), recipients: 4 } });
    expect(endOf(email, [batch], new Date()).set.error).toMatch(
      /^The email was partially sent: 1 of 4 recipients in 1 batch were not sent\./,
    );
  });

  it('is taken back when a batch has something to send again', async () => {
    const world = await sending([{ status: 'submitted' }], { status: 'submitted' });
    const batch = await world.tables.batches.read('email-1', '00000');
    if (batch !== undefined) await world.tables.batches.change(batch, { set: { status: 'pending' } });
    await reopen('email-1', world.deps());
    expect(await world.email()).toMatchObject({ status: 'submitting' });
    expect(sent(world)).toEqual([['00000', '0']]);
  });

  it('does not happen on an old reading of the batches', async () => {
    const world = await sending([{ status: 'submitted' }]);
    const deps = world.deps();
    const batches = {
      ...deps.batches,
      list: async (email_id: string) => {
        const read = await deps.batches.list(email_id);
        const [batch] = read;
        if (batch?.status === 'submitted') {
          // A late record finds something to send again just now.
          await deps.batches.change(batch, { set: { status: 'pending' } });
          await reopen(email_id, deps);
        }
        return read;
      },
    };
    await advance('email-1', { ...deps, batches });
    expect(await world.email()).toMatchObject({ status: 'submitting', slots: { 0: { batch_id: '00000' } } });
  });
});

describe('the delivery window', () => {
  it('spreads the batches over it, and what is left of them over what is left of it', async () => {
    const world = await JobWorld.of({ delivery_window_minutes: 60 });
    world.give(Array.from({ length: 24 }, (_, n) => candidate(n)));
    const begun = world.now.getTime();
    await startEmail('email-1', world.deps());
    const times = [0];
    for (let minute = 0; minute < 90 && times.length < 6; minute++) {
      const before = world.sends.length;
      if (minute === 21) await world.tables.emails.change(await world.email(), { set: { paused: true } });
      if (minute === 40) {
        await world.tables.emails.change(await world.email(), { set: { paused: false } });
        await reopen('email-1', world.deps());
      }
      await runClock(world.deps());
      times.push(...world.sends.slice(before).map(() => (world.now.getTime() - begun) / MINUTE));
      const last = world.sends.at(-1);
      if (last?.kind === 'batch') await finish(world, Number(last.batch_id), 'submitted', last.slot);
      world.advance(MINUTE);
    }
    // Six batches in an hour; a pause from minute 21 to 40 leaves 20 minutes for the last three.
    expect(times.map(Math.floor)).toEqual([0, 10, 20, 40, 47, 54]);
  });

  it('does not hold up batches after its end', async () => {
    const world = await sending([{}, {}], { delivery_deadline: '2026-03-01T09:00:00.000Z' });
    await advance('email-1', world.deps());
    expect(world.sends).toHaveLength(2);
  });
});

describe('the lock', () => {
  it('is taken by one of many starts', async () => {
    const world = await JobWorld.of();
    world.give([candidate(0)]);
    const reports = await Promise.all([1, 2, 3].map(() => startEmail('email-1', world.deps())));
    expect(reports.map(({ result }) => result).sort()).toEqual(['skipped', 'skipped', 'started']);
    expect(await world.batches()).toHaveLength(1);
  });

  it.each([
    ['pending', {}],
    ['submitting', { claim_id: 'dead', claim_until: '2026-03-01T09:00:00.000Z' }],
  ] as const)('is taken although the count is written at the same moment: %s', async (status, claim) => {
    const world = await JobWorld.of({ status, ...claim });
    world.give([candidate(0)]);
    const deps = world.deps();
    let counted = false;
    const change: typeof deps.emails.change = async (email, next) => {
      if (!counted) await deps.emails.change(email, { set: { email_count: 1 } });
      counted = true;
      return deps.emails.change(email, next);
    };
    const emails = { ...deps.emails, change };
    expect(await startEmail('email-1', { ...deps, emails })).toEqual({ result: 'started' });
    expect(world.sends).toHaveLength(1);
  });

  it('is not taken of an email that was paused at the same moment', async () => {
    const world = await JobWorld.of();
    world.give([candidate(0)]);
    const deps = world.deps();
    const change: typeof deps.emails.change = async (email, next) => {
      if (!email.paused) await deps.emails.change(email, { set: { paused: true } });
      return deps.emails.change(email, next);
    };
    const emails = { ...deps.emails, change };
    expect(await startEmail('email-1', { ...deps, emails })).toMatchObject({ result: 'skipped' });
    expect(await world.email()).toMatchObject({ status: 'pending', paused: true });
  });

  it('is not taken of an email that is being sent: its batches are used again', async () => {
    const world = await sending([{}]);
    const reason = 'The email is being sent already.';
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'skipped', reason });
    expect(await world.email()).toMatchObject({ slots: { 0: { batch_id: '00000' } } });
    expect(await world.email()).not.toHaveProperty('claim_id');
    expect(await world.batches()).toHaveLength(1);
  });

  it.each(['submitted', 'cancelled', 'failed'] as const)('is never taken of an email that is %s', async (status) => {
    const world = await JobWorld.of({ status });
    expect(await startEmail('email-1', world.deps())).toMatchObject({ result: 'skipped', reason: expect.any(String) });
    expect(await world.email()).toMatchObject({ status, version: 1 });
    // The source logs it before it looks at the lock.
    expect(world.log).toEqual(['Starting email job for email email-1']);
  });

  it('is taken over when its holder died in the preparation', async () => {
    const claim_until = '2026-03-01T10:02:00.000Z';
    const world = await JobWorld.of({
      status: 'submitting',
      claim_id: 'dead',
      claim_until,
      next_at: claim_until,
      active: 'active',
    });
    world.give([candidate(0)]);
    expect(await startEmail('email-1', world.deps())).toMatchObject({ result: 'skipped' });
    world.advance(2 * MINUTE);
    await runClock(world.deps());
    expect(world.prepares).toEqual([{ version: 1, kind: 'start', email_id: 'email-1' }]);
    expect(await startEmail('email-1', world.deps())).toMatchObject({ result: 'started' });
  });
});
