import { describe, expect, it } from 'vitest';
import { refreshBatch } from '../../../../src/core/newsletter/accounting/counts.ts';
import { type ApplyDeps, applyEvents } from '../../../../src/core/newsletter/events/apply-events.ts';
import { continueResolve, resolveEmail } from '../../../../src/core/newsletter/lifecycle/resolve.ts';
import { batchId } from '../../../../src/core/newsletter/model/batch.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { batchFor, chunkOf, chunkState, lostAt } from '../../../support/newsletter/job-rows.ts';
import { JobWorld } from '../../../support/newsletter/job-world.ts';

const AT = '2026-03-01T09:00:00.000Z';

/** A submitted email whose calls were all not answered. */
async function uncertainWorld(batches: number, chunks: number, limits = {}) {
  const recipients = batches * chunks * 2;
  const world = await JobWorld.of(
    { status: 'submitted', prepared: { recipients, excluded: 0, excluded_by_reason: {}, batches, at: AT } },
    {},
    limits,
  );
  for (let i = 0; i < batches; i++) {
    const states = Array.from({ length: chunks }, (_, chunk) =>
      chunkState('uu', { batch_id: batchId(i), chunk, unanswered: { 0: 'a', 1: 'a' }, processed_at: AT }),
    );
    const put = states.map((state) => ({ chunk: chunkOf(2, { batch_id: batchId(i), chunk: state.chunk }), state }));
    await world.chunks.store.put(put);
    await world.tables.batches.put(batchFor(states, { batch_id: batchId(i), status: 'submitted' }));
  }
  return world;
}

/** Runs the messages that go on with the decision, each twice, as SQS may. */
async function runMessages(world: JobWorld): Promise<number> {
  let resolved = 0;
  for (let i = 0; i < world.sends.length; i++) {
    const message = world.sends[i];
    if (message?.kind !== 'resolve') continue;
    resolved += (await continueResolve(message, world.deps()))?.resolved ?? 0;
    resolved += (await continueResolve(message, world.deps()))?.resolved ?? 0;
  }
  return resolved;
}

describe('a decision about more uncertain recipients than a request can wait for', () => {
  it.each(['resend', 'leave'] as const)('%s: goes on by messages, and is taken once for each', async (action) => {
    const world = await uncertainWorld(5, 2, { resolve_ms: 0, resolve_group: 2 });
    const first = await resolveEmail('email-1', action, world.deps());
    expect(first).toMatchObject({ resolved: 8, busy: 0, continued: true });
    expect(await runMessages(world)).toBe(12);
    const batches = await world.batches();
    for (const { batch_id } of batches) {
      const [state] = await world.chunks.store.states('email-1', batch_id);
      expect(state).toMatchObject(action === 'resend' ? { states: '..' } : { reasons: { 0: 'left', 1: 'left' } });
    }
    expect(batches.map(({ status }) => status)).toEqual(
      Array.from({ length: 5 }, () => (action === 'resend' ? 'pending' : 'submitted')),
    );
    expect(await world.email()).toMatchObject({ status: action === 'resend' ? 'submitting' : 'submitted' });
  });

  it('does not concern who became uncertain after it', async () => {
    const world = await uncertainWorld(2, 1, { resolve_ms: 0, resolve_group: 1 });
    await resolveEmail('email-1', 'resend', world.deps());
    const [state] = await world.chunks.store.states('email-1', '00001');
    if (state === undefined) throw new Error('no state');
    world.advance(60_000);
    await world.chunks.store.change(state, { ...state, processed_at: world.now.toISOString() });
    expect(await runMessages(world)).toBe(0);
    expect(await world.states('00001')).toBe('uu');
  });

  /** Another call of the batch ends without an answer a minute after the decision. */
  async function endsUnanswered(world: JobWorld): Promise<void> {
    const [state] = await world.chunks.store.states('email-1', '00000');
    if (state === undefined) throw new Error('no state');
    world.advance(60_000);
    await world.chunks.store.change(state, { ...state, processed_at: world.now.toISOString() });
  }

  it.each([
    ['the email is read', 'emails', 'read'],
    ['the batches are read', 'batches', 'list'],
    ['a chunk is read', 'chunks', 'states'],
    ['a chunk is changed', 'chunks', 'change'],
  ] as const)('does not concern who becomes uncertain while %s', async (_, port, call) => {
    for (const action of ['resend', 'leave'] as const) {
      const world = await uncertainWorld(1, 1);
      const deps = world.deps();
      let calls = 0;
      const own = deps[port] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      const meanwhile = async (...args: unknown[]) => {
        if (calls++ === 0) await endsUnanswered(world);
        return own[call]?.(...args);
      };
      const answer = await resolveEmail('email-1', action, { ...deps, [port]: { ...own, [call]: meanwhile } });
      expect([answer.resolved, await world.states(), calls > 0]).toEqual([0, 'uu', true]);
      const [state] = await world.chunks.store.states('email-1', '00000');
      expect(state?.reasons).toEqual({});
    }
  });

  it('goes on to its end though some of each part are too young', async () => {
    const world = await uncertainWorld(4, 2, { resolve_ms: 0, resolve_group: 1 });
    for (const batch of ['00001', '00003']) await loseAt(world, '2026-03-01T09:50:00.000Z', batch);
    const first = await resolveEmail('email-1', 'resend', world.deps());
    expect(first).toMatchObject({ resolved: 4, waiting: 0, continued: true });
    expect(await runMessages(world)).toBe(8);
    expect(await Promise.all([0, 1, 2, 3].map((i) => world.states(batchId(i))))).toEqual([
      '....',
      'uu..',
      '....',
      'uu..',
    ]);
  });

  it('answers for 100,000 recipients within the time of a request, at 10 ms per call of storage', async () => {
    const world = await uncertainWorld(100, 20, { resolve_ms: DEFAULT_JOB_LIMITS.resolve_ms });
    const deps = world.deps();
    // What is asked at once is answered at once: the calls of a group take as long as those of one batch.
    const slow = <T extends object>(port: T): T =>
      Object.fromEntries(
        Object.entries(port).map(([name, run]) => [
          name,
          async (...args: unknown[]) => {
            world.advance(10 / DEFAULT_JOB_LIMITS.resolve_group);
            return (run as (...given: unknown[]) => unknown)(...args);
          },
        ]),
      ) as T;
    const begun = world.now.getTime();
    const answer = await resolveEmail('email-1', 'resend', {
      ...deps,
      batches: slow(deps.batches),
      chunks: slow(deps.chunks),
      events: slow(deps.events),
    });
    expect(world.now.getTime() - begun).toBeLessThan(10_000);
    expect(answer.resolved + (await runMessages(world))).toBe(4_000);
    expect(await world.email()).toMatchObject({ status: 'submitting' });
  });
});

/** The first chunk of a batch became uncertain at this time; others of it were sent later. */
async function loseAt(world: JobWorld, uncertain_at: string, batch_id = '00000'): Promise<void> {
  const [state] = await world.chunks.store.states('email-1', batch_id);
  if (state === undefined) throw new Error('no state');
  await world.chunks.store.change(state, { ...lostAt(state, uncertain_at), processed_at: world.now.toISOString() });
}

describe('a resend while events may still tell', () => {
  it.each([
    ['a second too young', '2026-03-01T09:45:01.000Z', 'uu', { resolved: 0, waiting: 2 }],
    ['old enough', '2026-03-01T09:45:00.000Z', '..', { resolved: 2, waiting: 0 }],
  ])('looks at how long they have been uncertain, 15 minutes by default: %s', async (_, at, states, answer) => {
    const world = await uncertainWorld(1, 1);
    await loseAt(world, at);
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject(answer);
    expect(await world.states()).toBe(states);
  });

  it('leaves the young alone, and says how many there are and until when they wait', async () => {
    const world = await uncertainWorld(2, 2);
    await loseAt(world, '2026-03-01T09:50:00.000Z');
    await loseAt(world, '2026-03-01T09:55:00.000Z', '00001');
    const answer = await resolveEmail('email-1', 'resend', world.deps());
    expect(answer).toMatchObject({ resolved: 4, waiting: 4, waiting_until: '2026-03-01T10:10:00.000Z' });
    expect(await world.states()).toBe('uu..');
    world.now = new Date('2026-03-01T10:10:00.000Z');
    const { resolved, waiting_until } = await resolveEmail('email-1', 'resend', world.deps());
    expect([resolved, waiting_until]).toEqual([4, undefined]);
    expect(await world.states()).toBe('....');
  });

  it('writes nothing where all are too young', async () => {
    const world = await uncertainWorld(2, 1);
    for (const batch of ['00000', '00001']) await loseAt(world, '2026-03-01T09:50:00.000Z', batch);
    const before = [await world.email(), ...(await world.batches())];
    const answer = await resolveEmail('email-1', 'resend', world.deps());
    expect(answer).toMatchObject({ resolved: 0, busy: 0, waiting: 4, email: { status: 'submitted' } });
    expect([await world.email(), ...(await world.batches())]).toEqual(before);
  });

  it('counts anew where an earlier one was interrupted before it did', async () => {
    const world = await uncertainWorld(1, 1);
    const [state] = await world.chunks.store.states('email-1', '00000');
    const email = await world.email();
    await world.tables.emails.change(email, { set: { status: 'failed' } });
    if (state !== undefined) await world.chunks.store.change(state, { ...lostAt(state, AT), states: '..' });
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({ resolved: 0, waiting: 0 });
    expect((await world.batches())[0]).toMatchObject({ status: 'failed', counts: { uncertain: 0, pending: 2 } });
  });

  it('takes them at once where the stage does not wait', async () => {
    const world = await uncertainWorld(1, 1, { uncertain_ms: 0 });
    await loseAt(world, world.now.toISOString());
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({ resolved: 2, waiting: 0 });
  });

  it('judges a state that was stored without the time by its last call', async () => {
    const world = await uncertainWorld(1, 2, { uncertain_ms: 60_000 });
    const [state] = await world.chunks.store.states('email-1', '00000');
    if (state === undefined) throw new Error('no state');
    await world.chunks.store.change(state, { ...state, processed_at: world.now.toISOString() });
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({ resolved: 2, waiting: 2 });
  });

  it('does not count those that an operator left', async () => {
    const world = await uncertainWorld(1, 1);
    await loseAt(world, '2026-03-01T09:50:00.000Z');
    expect(await resolveEmail('email-1', 'leave', world.deps())).toMatchObject({ resolved: 2, waiting: 0 });
    expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({ resolved: 0, waiting: 0 });
  });

  it('finds an event that came after `leave`, which does not wait', async () => {
    const world = await uncertainWorld(1, 1);
    await loseAt(world, world.now.toISOString());
    expect(await resolveEmail('email-1', 'leave', world.deps())).toMatchObject({ resolved: 2 });
    const event = { email_id: 'email-1', batch_id: '00000', chunk: 0, n: 1, kinds: ['accepted'] } as const;
    const deps = { ...world.deps(), members: {}, sealing: {}, warming: {} } as unknown as ApplyDeps;
    expect(await applyEvents('email-1', '00000', [event], deps)).toMatchObject({ reconciled: 1 });
    expect(await world.states()).toBe('us');
    expect((await world.batches())[0]).toMatchObject({ counts: { submitted: 1, uncertain: 1 }, uncertain_left: 1 });
  });

  const delivered = {
    email_id: 'email-1',
    batch_id: '00000',
    chunk: 0,
    n: 1,
    kinds: ['accepted', 'delivered'],
  } as const;
  const applyDeps = (world: JobWorld) =>
    ({ ...world.deps(), members: {}, sealing: {}, warming: {} }) as unknown as ApplyDeps;

  it('finds an event of the first mail while the second one waits', async () => {
    const world = await uncertainWorld(1, 1, { uncertain_ms: 0 });
    await resolveEmail('email-1', 'resend', world.deps());
    await applyEvents('email-1', '00000', [delivered], applyDeps(world));
    expect(await world.states()).toBe('.s');
    expect((await world.batches())[0]).toMatchObject({ counts: { submitted: 1, pending: 1 } });
  });

  it('finds it also where the `resend` was interrupted after it had changed the recipients', async () => {
    const world = await uncertainWorld(1, 1, { uncertain_ms: 0 });
    const deps = world.deps();
    let writes = 0;
    const change: typeof deps.batches.change = async (...args) => {
      writes += 1;
      if (writes > 1) throw new Error('interrupted');
      return deps.batches.change(...args);
    };
    const batches = { ...deps.batches, change };
    await expect(resolveEmail('email-1', 'resend', { ...deps, batches })).rejects.toThrow('interrupted');
    const [state] = await world.chunks.store.states('email-1', '00000');
    if (state === undefined) throw new Error('The chunk has no state.');
    await world.chunks.store.change(state, {
      ...state,
      states: 'xx',
      reasons: { 0: 'unsubscribed', 1: 'unsubscribed' },
    });
    const [batch] = await world.batches();
    if (batch === undefined) throw new Error('There is no batch.');
    await world.tables.batches.change(batch, { set: { status: 'submitted' }, remove: ['claim_id', 'claim_until'] });
    await refreshBatch('email-1', '00000', deps);
    await applyEvents('email-1', '00000', [delivered], applyDeps(world));
    expect(await world.states()).toBe('xs');
  });

  it.each([
    [
      'who was left out of the second mail, as it came after an unsubscription',
      'xx',
      'unsubscribed',
      ['accepted'],
      'xs',
    ],
    ['whose second mail was refused', 'ff', 'message_rejected', ['accepted', 'delivered'], 'fs'],
    ['but not for one that it had rejected', 'ff', 'rejected', ['accepted', 'rejected'], 'ff'],
  ] as const)(
    'finds an event of the first mail that came after `resend`, for one %s',
    async (_, codes, reason, kinds, is) => {
      const world = await uncertainWorld(1, 1, { uncertain_ms: 0 });
      expect(await resolveEmail('email-1', 'resend', world.deps())).toMatchObject({ resolved: 2 });
      const [state] = await world.chunks.store.states('email-1', '00000');
      if (state === undefined) throw new Error('The chunk has no state.');
      const { version: __, email_id: ___, batch_id: ____, chunk: _____, ...rest } = state;
      await world.chunks.store.change(state, { ...rest, states: codes, reasons: { 0: reason, 1: reason } });
      await refreshBatch('email-1', '00000', world.deps());
      const event = { email_id: 'email-1', batch_id: '00000', chunk: 0, n: 1, kinds } as const;
      const deps = { ...world.deps(), members: {}, sealing: {}, warming: {} } as unknown as ApplyDeps;
      await applyEvents('email-1', '00000', [event], deps);
      expect(await world.states()).toBe(is);
      const submitted = is.endsWith('s') ? 1 : 0;
      expect((await world.batches())[0]).toMatchObject({ counts: { submitted, pending: 0, uncertain: 0 } });
    },
  );
});

it.each([
  ['resend', '..'],
  ['leave', 'uu'],
] as const)(
  '%s: that SES accepted a mail which it refused late says nothing of the next one',
  async (action, expected) => {
    const world = await uncertainWorld(1, 1);
    const row = await world.tables.events.read('email-1', '00000');
    await world.tables.events.change(row, { bits: { accepted: new Uint8Array([1]), rejected: new Uint8Array([1]) } });
    await resolveEmail('email-1', action, world.deps());
    await runMessages(world);
    expect(await world.states('00000')).toBe(expected);
  },
);
