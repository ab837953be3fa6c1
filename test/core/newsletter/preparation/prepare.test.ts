import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { continueDryRun, type KeptDryRun } from '../../../../src/core/newsletter/lifecycle/dry-run.ts';
import { pauseEmail, retryEmail } from '../../../../src/core/newsletter/lifecycle/operate.ts';
import { startEmail } from '../../../../src/core/newsletter/lifecycle/start.ts';
import { EXCLUDED_BATCH } from '../../../../src/core/newsletter/model/batch.ts';
import type { Email } from '../../../../src/core/newsletter/model/email.ts';
import type { PrepareMessage } from '../../../../src/core/newsletter/model/email-message.ts';
import { DEFAULT_JOB_LIMITS } from '../../../../src/core/newsletter/model/job-limits.ts';
import { createWarming } from '../../../../src/core/newsletter/warming/domain-warming.ts';
import { START, VirtualTime } from '../../../../tools/simulation/engine/virtual-time.ts';
import { EventSource } from '../../../../tools/simulation/models/event-source.ts';
import { SimulatedQueue } from '../../../../tools/simulation/models/queue.ts';
import { createMemoryWarming, MemoryEmails } from '../../../../tools/simulation/twins/newsletter-items.ts';
import { batchRow, emailContent, emailRow } from '../../../support/newsletter/job-rows.ts';
import { candidate, JobWorld } from '../../../support/newsletter/job-world.ts';

const ten = Array.from({ length: 10 }, (_, n) => candidate(n));

describe('the preparation of an email', () => {
  it('freezes the recipients in batches and chunks, and starts two batches', async () => {
    const world = await JobWorld.of();
    world.give(ten.slice(0, 5), ten.slice(5));
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started' });
    const batches = await world.batches();
    expect(batches.map(({ batch_id, chunks, counts }) => [batch_id, chunks, counts.pending])).toEqual([
      ['00000', 2, 4],
      ['00001', 2, 4],
      ['00002', 1, 2],
    ]);
    expect(await world.addresses('00001')).toEqual([4, 5, 6, 7].map((n) => `m${n}@example.com`));
    expect(await world.email()).toMatchObject({
      status: 'submitting',
      email_count: 10,
      prepared: { recipients: 10, batches: 3, excluded: 0 },
      slots: { 0: { batch_id: '00000' }, 1: { batch_id: '00001' } },
    });
    expect(world.sends).toMatchObject([{ batch_id: '00000' }, { batch_id: '00001' }]);
    expect(world.log.slice(0, 2)).toEqual([
      'Starting email job for email email-1',
      'Creating batches for email email-1',
    ]);
  });

  it.each([
    ['is refused, and nobody gets it', {}, 'failed'],
    [
      'goes out where it says who sends it',
      { sender_name: 'K & Co', postal_address: '1-1 Chiyoda', contact: 'a@k.example' },
      'submitting',
    ],
  ])('that was scheduled before the stage required an address %s', async (_, says, status) => {
    const newsletter = { ...emailContent().newsletter, ...says };
    const world = await JobWorld.of({}, { newsletter });
    world.give(ten);
    const report = await startEmail('email-1', { ...world.deps(), require_address: true });
    expect(await world.email()).toMatchObject({ status });
    if (status === 'submitting') return;
    expect(report.reason).toMatch(
      /has no sender_name, no postal_address, no contact.*requireAddress.*Nothing was sent/,
    );
    expect([await world.batches(), world.sends]).toEqual([[], []]);
  });

  it('takes 1,000 recipients per batch and 50 per chunk by default', async () => {
    const { batch_size, chunk_size } = DEFAULT_JOB_LIMITS;
    const world = await JobWorld.of({}, {}, { batch_size, chunk_size });
    world.give(Array.from({ length: 1_001 }, (_, n) => candidate(n)));
    await startEmail('email-1', world.deps());
    expect((await world.batches()).map(({ chunks, counts }) => [chunks, counts.pending])).toEqual([
      [20, 1_000],
      [1, 1],
    ]);
  });

  it('is refused beyond the batches that have numbers in their order', async () => {
    const before = {
      next_excluded_chunk: 0,
      excluded: 0,
      excluded_by_reason: {},
      own_domain_used: 0,
      missing_fields: {},
    };
    const world = await JobWorld.of(
      { preparation: { ...before, next_batch: 19_999, recipients: 19_999 } },
      {},
      { batch_size: 1 },
    );
    world.give(ten.slice(0, 1), ten.slice(1, 3), ten.slice(3));
    const seen: number[] = [];
    world.onPage = (page) => void seen.push(page);
    const reason = expect.stringMatching(/more than 20,000 batches.* fewer parts/);
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'failed', reason });
    expect(seen, 'it reads no further').toEqual([0, 1]);
    expect(world.sends).toEqual([]);
  });

  it('keeps the row of a batch small, however long the segments of the post are', async () => {
    const world = await JobWorld.of();
    const segment = `label:${'x'.repeat(1_900)}`;
    world.parts = Array.from({ length: 30 }, () => ({ segment, matches: () => true, fields: new Set() }));
    world.give(ten);
    await startEmail('email-1', world.deps());
    const [batch] = await world.batches();
    expect(batch?.member_segment).toMatch(/^label:x+…$/);
    expect(JSON.stringify(batch).length).toBeLessThan(1_000);
  });

  it('leaves nothing of a batch whose recipients were not stored, and sends nothing', async () => {
    const world = await JobWorld.of();
    world.give(ten);
    const deps = world.deps();
    const put: typeof deps.chunks.put = async (chunks) => {
      if (chunks.some(({ chunk }) => chunk.batch_id === '00001')) throw new Error('down');
      return deps.chunks.put(chunks);
    };
    await startEmail('email-1', { ...deps, chunks: { ...deps.chunks, put } }).catch(() => undefined);
    expect((await world.batches()).map(({ batch_id }) => batch_id)).toEqual(['00000']);
    expect(await world.email()).not.toHaveProperty('prepared');
    expect(world.sends).toEqual([]);
    // Storage is back: the same batches are made again, under the same numbers.
    world.advance(world.limits.resolve_lease_ms + 1);
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started' });
    expect((await world.batches()).map(({ batch_id }) => batch_id)).toEqual(['00000', '00001', '00002']);
  });

  it('keeps its claim while it reads for minutes and finds nobody, so that no other start takes it over', async () => {
    const world = await JobWorld.of({}, {}, { slice_ms: 3_600_000 });
    world.give(...Array.from({ length: 20 }, () => []), ten);
    const others: unknown[] = [];
    world.onPage = async () => {
      world.advance(20_000);
      const { claim_until = '' } = await world.email();
      expect(claim_until > world.now.toISOString(), 'the claim has not ended').toBe(true);
      others.push((await startEmail('email-1', world.deps())).result);
    };
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started' });
    expect(new Set(others)).toEqual(new Set(['skipped']));
    expect(await world.email()).toMatchObject({ prepared: { recipients: 10 } });
  });

  it('goes on in another invocation after pages with nobody, from the place that it has reached', async () => {
    const world = await JobWorld.of();
    world.give([], [], [], ten);
    const read: number[] = [];
    world.onPage = (page) => {
      read.push(page);
      if (page === 1) world.remaining_ms = 30_000;
    };
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'continued' });
    world.remaining_ms = 900_000;
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started' });
    expect(read).toEqual([0, 1, 2, 3]);
  });

  it('freezes whom it excludes, with the reason, and counts whom it would send to apart', async () => {
    const world = await JobWorld.of({ email_count: 1 });
    world.give([
      candidate(0, { excluded: 'suppressed' }),
      candidate(1),
      candidate(2, { excluded: 'malformed_address' }),
      candidate(3, { excluded: 'suppressed' }),
    ]);
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started' });
    expect(await world.email()).toMatchObject({ email_count: 1, prepared: { recipients: 4, excluded: 3 } });
    expect((await world.batches()).at(-1)).toMatchObject({
      batch_id: EXCLUDED_BATCH,
      status: 'submitted',
      counts: { excluded: 3 },
      excluded_by_reason: { suppressed: 2, malformed_address: 1 },
    });
    expect(await world.addresses(EXCLUDED_BATCH)).toEqual([0, 2, 3].map((n) => `m${n}@example.com`));
    expect(await world.states(EXCLUDED_BATCH)).toBe('xxx');
  });

  it('makes a batch of its own for each combination of parts that members see', async () => {
    const world = await JobWorld.of();
    world.parts = [
      { segment: 'status:paid', matches: ({ status }) => status === 'paid', fields: new Set(['status']) },
      { segment: 'status:-paid', matches: ({ status }) => status !== 'paid', fields: new Set(['status']) },
    ];
    world.give([candidate(0), candidate(1, { paid: true }), candidate(2)]);
    await startEmail('email-1', world.deps());
    expect((await world.batches()).map((batch) => [batch.rendering, batch.member_segment])).toEqual([
      [2, 'status:-paid'],
      [1, 'status:paid'],
    ]);
    expect(await world.addresses('00000')).toEqual(['m0@example.com', 'm2@example.com']);
  });

  it('sends from the fallback domain what warming does not allow the own one', async () => {
    const newsletter = { ...emailContent().newsletter, fallback_domain: 'fallback.example.com' };
    const world = await JobWorld.of({}, { newsletter });
    world.allowed = 3;
    world.give(ten);
    await startEmail('email-1', world.deps());
    const batches = await world.batches();
    const mails = (fallback: boolean) =>
      batches
        .filter((batch) => batch.fallback_sending_domain === fallback)
        .reduce((sum, { counts }) => sum + counts.pending, 0);
    expect([mails(false), mails(true)]).toEqual([3, 7]);
  });

  it.each([
    [1_000, 1_011, true],
    [1_000, 1_010, true],
    [1_000, 1_005, false],
    [1_000, 990, true],
    [1_000, 1_000, false],
  ])(
    'reports a count that is off by one percent or more: %i counted, %i found',
    async (email_count, found, reported) => {
      const world = await JobWorld.of({ email_count }, {}, { batch_size: 1_000, chunk_size: 50 });
      world.give(Array.from({ length: found }, (_, n) => candidate(n)));
      const report = await startEmail('email-1', world.deps());
      expect(report.count_was).toBe(reported ? email_count : undefined);
      expect((await world.email()).email_count).toBe(found);
      expect(world.log.some((line) => line.includes('off by 1 %'))).toBe(reported);
      expect(world.counted).toEqual(reported ? ['count_off'] : []);
    },
  );

  it('fails without members, and says so', async () => {
    const world = await JobWorld.of();
    expect(await startEmail('email-1', world.deps())).toMatchObject({ result: 'failed' });
    const email = await world.email();
    expect(email).toMatchObject({ status: 'failed', error: expect.stringMatching(/^No member subscribes/) });
    expect(email).not.toHaveProperty('next_at');
    expect(world.counted).toEqual(['failed']);
    expect(world.errors).toEqual([[`Email email-1 failed: ${email.error}`, { email_id: 'email-1' }]]);
  });

  it('is not paused any more when it has failed, so that a retry sends it', async () => {
    const world = await JobWorld.of();
    const deps = world.deps();
    const content: typeof deps.emails.content = async (id) => {
      await pauseEmail(id, deps);
      return deps.emails.content(id);
    };
    await startEmail('email-1', { ...deps, emails: { ...deps.emails, content } });
    expect(await world.email()).toMatchObject({ status: 'failed', paused: false });
  });

  it('counts the times of segments from its retry, not from its first start', async () => {
    const world = await JobWorld.of();
    await startEmail('email-1', world.deps());
    world.advance(7 * 86_400_000);
    await retryEmail('email-1', world.deps());
    world.give(ten);
    await startEmail('email-1', world.deps());
    expect((await world.email()).submitting_at).toBe(world.now.toISOString());
  });

  it('fails when all members that match are excluded, and says why', async () => {
    const world = await JobWorld.of();
    world.give([0, 1, 2].map((n) => candidate(n, { excluded: n < 2 ? 'suppressed' : 'malformed_address' })));
    expect(await startEmail('email-1', world.deps())).toMatchObject({
      result: 'failed',
      reason: expect.stringMatching(/^Each of the 3 members .* is excluded: 2 suppressed, 1 malformed_address\./),
    });
    expect(await world.email()).toMatchObject({ status: 'failed' });
  });

  it.each([
    ['days before', '2026-02-26T10:00:00.000Z', undefined],
    ['just before', '2026-03-01T09:59:00.000Z', 5],
  ])('compares with a count from %s its start only where it is one', async (_, counted_at, count_was) => {
    const world = await JobWorld.of({ email_count: 5, counted_at });
    world.give(ten);
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started', ...(count_was && { count_was }) });
    // It is counted anew meanwhile.
    expect(world.prepares.map(({ kind }) => kind)).toEqual(count_was === undefined ? ['count'] : []);
    expect(await world.email()).toMatchObject({ email_count: 10 });
  });

  it('reserves nothing of a warmed domain, and plans with what others have left of the day', async () => {
    const newsletter = { ...emailContent().newsletter, from: 'news@Own.Example.com', fallback_domain: 'other.example' };
    const world = await JobWorld.of({}, { newsletter }, { batch_size: 1_000 });
    const store = createMemoryWarming();
    const warming = createWarming(store, () => world.now);
    await warming.reserve('own.example.com', 150, 'another');
    const before = await store.read('own.example.com');
    world.give(Array.from({ length: 100 }, (_, n) => candidate(n)));
    await startEmail('email-1', { ...world.deps(), warming });
    const own = (await world.batches()).filter(({ warmed_domain }) => warmed_domain === 'own.example.com');
    expect(own.map(({ counts: { pending } }) => pending)).toEqual([50]);
    expect(await store.read('own.example.com')).toEqual(before);
  });

  it('fails, too, when the count is written at the same moment', async () => {
    const world = await JobWorld.of();
    const deps = world.deps();
    const change: typeof deps.emails.change = async (email, next) => {
      if (next.set.status === 'failed' && email.email_count === undefined) {
        await deps.emails.change(email, { set: { email_count: 0 } });
      }
      return deps.emails.change(email, next);
    };
    expect(await startEmail('email-1', { ...deps, emails: { ...deps.emails, change } })).toMatchObject({
      result: 'failed',
    });
    expect(await world.email()).toMatchObject({ status: 'failed', error: expect.any(String), email_count: 0 });
    expect(await world.email()).not.toHaveProperty('claim_id');
  });

  it('fails before anything is sent when members lack the value of a merge field', async () => {
    const world = await JobWorld.of({}, { body: 'Dear {name}, {first_name, "you"}' });
    world.give([candidate(0, { name: 'Ada' }), candidate(1), candidate(2)]);
    const report = await startEmail('email-1', world.deps());
    expect(report.reason).toBe(
      'The merge field {name} is missing for 2 of 3 members. Nothing was sent. Give it a fallback, as in ' +
        '{name, "there"}, or complete the members.',
    );
    expect(world.sends).toEqual([]);
    // The members are completed, and the email is retried.
    world.give([candidate(0, { name: 'Ada' }), candidate(1, { name: 'Bo' })]);
    await retryEmail('email-1', world.deps());
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started' });
    expect((await world.email()).prepared?.recipients).toBe(2);
  });

  it('goes on in another invocation when its time ends', async () => {
    const world = await JobWorld.of();
    world.give(ten.slice(0, 3), ten.slice(3, 6), ten.slice(6));
    world.onPage = (page) => {
      world.remaining_ms = page === 0 ? 59_000 : 900_000;
    };
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'continued' });
    expect(world.prepares).toEqual([{ version: 1, kind: 'start', email_id: 'email-1' }]);
    expect(await startEmail('email-1', world.deps())).toEqual({ result: 'started' });
    const batches = await world.batches();
    expect(batches.map(({ counts }) => counts.pending)).toEqual([3, 4, 3]);
    const all = await Promise.all(batches.map(({ batch_id }) => world.addresses(batch_id)));
    expect(all.flat()).toEqual(ten.map((_, n) => `m${n}@example.com`));
  });

  it('removes what an earlier preparation left beyond its last batch', async () => {
    const world = await JobWorld.of();
    for (const batch_id of ['00001', '00002', EXCLUDED_BATCH]) await world.tables.batches.put(batchRow({ batch_id }));
    world.give([candidate(0)]);
    await startEmail('email-1', world.deps());
    expect((await world.batches()).map(({ batch_id }) => batch_id)).toEqual(['00000']);
  });

  it('writes nothing after another invocation took it over', async () => {
    const world = await JobWorld.of();
    world.give(ten.slice(0, 4), ten.slice(4));
    const stall = Promise.withResolvers<void>();
    world.onPage = (page) => (page === 1 ? stall.promise : undefined);
    const late = startEmail('email-1', world.deps());
    await new Promise((resolve) => setImmediate(resolve));
    // The first one stands still for longer than its claim lasts; the second one does all of the work.
    world.advance(world.limits.resolve_lease_ms + 1);
    world.onPage = () => {};
    await startEmail('email-1', world.deps());
    const before = await world.batches();
    expect(before).toHaveLength(3);
    stall.resolve();
    expect(await late).toMatchObject({ result: 'skipped' });
    expect(await world.batches()).toEqual(before);
  });

  it('freezes every member once, whatever the pages, the batches and the interruptions', async () => {
    const page = fc.array(fc.record({ paid: fc.boolean(), excluded: fc.boolean() }), { maxLength: 6 });
    let interrupted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(page, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 5 }),
        fc.uniqueArray(fc.nat({ max: 7 })),
        async (pages, batch_size, ends_at) => {
          const world = await JobWorld.of({}, {}, { batch_size, chunk_size: 2, cut_recipients: 7 });
          const fields = new Set(['status'] as const);
          world.parts = [{ segment: 'status:paid', matches: ({ status }) => status === 'paid', fields }];
          let n = 0;
          const given = pages.map((members) =>
            members.map(({ paid, excluded }) => candidate(n++, { paid, ...(excluded && { excluded: 'suppressed' }) })),
          );
          if (given.flat().every(({ excluded }) => excluded !== undefined)) return;
          world.give(...given);
          const ends = new Set(ends_at);
          world.onPage = (index) => {
            world.remaining_ms = ends.delete(index) ? 1 : 900_000;
          };
          while ((await startEmail('email-1', world.deps())).result === 'continued') interrupted += 1;
          const found = await Promise.all((await world.batches()).map(({ batch_id }) => world.addresses(batch_id)));
          expect(found.flat().sort()).toEqual(
            given
              .flat()
              .map(({ identity }) => identity.email)
              .sort(),
          );
          const { prepared } = await world.email();
          const counts = (await world.batches()).map(({ counts: { pending, excluded } }) => pending + excluded);
          expect(counts.reduce((sum, count) => sum + count, 0)).toBe(prepared?.recipients);
        },
      ),
      { numRuns: 100 },
    );
    expect(interrupted).toBeGreaterThan(0);
  });
});

describe('the two places of preparations', () => {
  /** A million members, as the simulated account reads and writes them: 74 s. */
  const LARGE = { pages: 1_000, page_ms: 74 };

  it.each(['start', 'dry-run'] as const)(
    'let a small email of one tenant in within seconds, behind six large ones of another (%s)',
    async (kind) => {
      const time = new VirtualTime(START);
      const tables = new MemoryEmails(time.clock);
      const places = { visibility_ms: 960_000, max_receives: 5, groupOf: () => '' };
      const queue = new SimulatedQueue<PrepareMessage>(time, places);
      const runs = new Map<string, KeptDryRun>();
      const read = new Map<string, number>();
      const ended = new Map<string, number>();
      async function* pages({ email_id, tenant_id }: Email, after = '0') {
        const last = tenant_id === 'noisy' ? LARGE.pages : 1;
        for (let page = Number(after) + 1; page <= last; page++) {
          await time.pause(LARGE.page_ms);
          read.set(email_id, (read.get(email_id) ?? 0) + 1);
          yield { position: String(page), members: 1_000, candidates: page === 1 ? ten : [] };
        }
      }
      const world = await JobWorld.of();
      const deps = {
        ...world.deps(),
        emails: tables.emails,
        batches: tables.batches,
        clock: time.clock,
        pause: time.pause,
        candidates: { pages, count: async () => 10 },
        queues: { prepare: async (message: PrepareMessage) => queue.send(message, 0), send: async () => {} },
        dry_runs: {
          read: async (id: string) => runs.get(id),
          put: async (run: KeptDryRun) => runs.set(run.email_id, run) !== undefined,
        },
      };
      const handle: ConstructorParameters<typeof EventSource>[2] = () => async (event, context) => {
        const { email_id }: PrepareMessage = JSON.parse(event.Records[0]?.body ?? '');
        const held = { ...deps, remaining_ms: () => context.getRemainingTimeInMillis() };
        const isDone =
          kind === 'start'
            ? (await startEmail(email_id, held)).result === 'started'
            : (await continueDryRun(email_id, held))?.result !== undefined;
        if (isDone) ended.set(email_id, time.now - START.getTime());
        return { batchItemFailures: [] };
      };
      const machine = { time, draw: () => 0.5, onDeath: () => expect.fail('died'), paused: () => false };
      const options = { concurrency: 2, batch: 1, window_ms: 0, timeout_ms: 900_000, memory_gb: 0.5, settle_ms: 5 };
      new EventSource(machine, queue, handle, { ...options, faults: () => ({ deaths: 0 }) });
      const larges = Array.from({ length: 6 }, (_, i) => `large-${i}`);
      await time.run(async () => {
        for (const email_id of [...larges, 'small']) {
          const tenant_id = email_id === 'small' ? 'quiet' : 'noisy';
          const content = emailContent();
          await tables.emails.create(emailRow({ email_id, tenant_id }), content);
          const publication = { email_id, tenant_id, content, request_hash: '' };
          const progress = {
            members: 0,
            recipients: 0,
            excluded: 0,
            excluded_by_reason: {},
            missing_fields: {},
            shown: {},
          };
          runs.set(email_id, { email_id, tenant_id, started_at: '', publication, progress } as unknown as KeptDryRun);
          queue.send({ version: 1, kind, email_id }, 0);
        }
        await time.pause(600_000);
      });
      // Three rounds of two slices.
      expect(ended.get('small')).toBeLessThan(50_000);
      expect(
        larges.map((id) => read.get(id)),
        'nothing is read twice',
      ).toEqual(larges.map(() => LARGE.pages));
      const all = (larges.length / 2) * LARGE.pages * LARGE.page_ms;
      expect(Math.max(...ended.values()), 'turns cost little').toBeLessThan(1.02 * all);
      expect(ended.size).toBe(7);
    },
  );
});
