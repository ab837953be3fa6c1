import { describe, expect, it } from 'vitest';
import { cancelEmail, pauseEmail, resumeEmail } from '../../src/core/newsletter/lifecycle/operate.ts';
import { emailView } from '../../src/core/newsletter/views/email-view.ts';
import type { Mood } from '../../tools/simulation/models/bulk-provider.ts';
import { EMAIL_ID, type NewsletterWorld } from '../../tools/simulation/newsletter/newsletter-world.ts';
import { operate, publish } from '../../tools/simulation/newsletter/operators.ts';
import { calmWorld, passMinutes } from '../support/newsletter/calm-world.ts';

const MEMBERS = 5_000;
const CALM = {
  latency_ms: [20, 1_000],
  per_second: 10_000,
  per_day: 10_000_000,
  overloaded: 0,
  lost_answers: 0,
  transient: 0,
  refused: 0,
} as const;
/** The clock's minute included: nobody waits longer for what would be allowed. */
const WITHIN_MINUTES = 5;

const pass = (world: NewsletterWorld, minutes: number) => passMinutes(world, minutes, { clock: true });

/** What `emails status` says that the email waits for. */
async function waitsOf(world: NewsletterWorld) {
  const { email, batches } = await world.view();
  if (email === undefined) throw new Error('There is no email.');
  return emailView({ email, batches, events: [] }, world.time.clock(), undefined).waits;
}

/** The second in which a run of 5,000 mails is in the middle. */
const AFTER_SOME = 5;

describe('a provider that refuses everybody', () => {
  it.each<[Mood, string, number]>([
    ['refuses_entries', 'refused', 0],
    ['refuses_entries', 'refused', AFTER_SOME],
    ['refuses_calls', 'refused', 0],
    ['refuses_calls', 'refused', AFTER_SOME],
    ['unverified', 'sender', 0],
    ['unverified', 'sender', AFTER_SOME],
    ['account', 'account', 0],
    ['account', 'account', AFTER_SOME],
    ['settings', 'settings', AFTER_SOME],
  ])(
    '%s: the email holds for %s from second %i on, nobody fails, and it goes on by itself',
    async (mood, why, from) => {
      const world = calmWorld(MEMBERS, [
        [from, mood],
        [3_600, 'accepts'],
      ]);
      await world.time.run(async () => {
        await publish(world);
        const held = await pass(world, 60);
        expect(held.counts).toMatchObject({ failed: 0, uncertain: 0 });
        expect(held.counts.submitted > 0, 'some were accepted before').toBe(from > 0);
        expect(held.counts.pending).toBeGreaterThan(MEMBERS / 2);
        expect(await waitsOf(world)).toMatchObject({ for: why, message: expect.any(String) });
        const calls = world.provider.calls;
        expect(await pass(world, WITHIN_MINUTES + 1)).toMatchObject({
          email: { status: 'submitted' },
          counts: { submitted: MEMBERS, failed: 0 },
        });
        expect(world.provider.calls).toBeGreaterThan(calls);
        expect(world.counts['alarm failed'], 'it rings once').toBe(1);
        await world.auditEnd();
        expect(world.auditor.result().examples).toEqual([]);
      });
    },
  );

  it.each([0, AFTER_SOME])(
    'by events, after it has accepted the mails: likewise from second %i on, with few mails on the way',
    async (from) => {
      const events = { lost: 0, bounced: 0, complained: 0 };
      const world = calmWorld(
        MEMBERS,
        [
          [from, 'refuses_late'],
          [3_600, 'accepts'],
        ],
        {},
        { events },
      );
      await world.time.run(async () => {
        await publish(world);
        await pass(world, 3);
        const early = world.provider.accepted;
        await pass(world, 55);
        const { counts } = await world.view();
        expect(counts.failed + counts.submitted, 'who waits for an event').toBeLessThan(early);
        expect(counts.pending).toBeGreaterThan(MEMBERS / 2);
        expect(world.provider.accepted - early, 'those that ask').toBeLessThan(200);
        expect(await waitsOf(world)).toMatchObject({ for: 'refused', message: expect.stringContaining('by events') });
        const end = await pass(world, WITHIN_MINUTES + 4);
        expect(end).toMatchObject({ email: { status: 'submitted' }, counts: { submitted: MEMBERS, failed: 0 } });
        expect(world.counts['alarm failed'], 'it rings once').toBe(1);
        await world.auditEnd();
        expect(world.auditor.result().examples).toEqual([]);
      });
    },
  );

  it('asks few, and others each time, so that bad addresses in a row hold nobody up for long', async () => {
    const bad = 25;
    const world = calmWorld(400, [], {}, { given: (n) => ({ kind: n < bad ? 'refused' : 'ok', paid: false }) });
    await world.time.run(async () => {
      await publish(world);
      expect(await pass(world, 2)).toMatchObject({
        email: { status: 'submitted' },
        counts: { submitted: 400 - bad, failed: bad },
      });
    });
  });

  it.each(['refused', 'content', 'rejected'] as const)(
    '%s addresses of a small audience hold nothing: it ends with them',
    async (kind) => {
      const world = calmWorld(9, [], {}, { given: () => ({ kind, paid: false }) });
      await world.time.run(async () => {
        await publish(world);
        expect(await pass(world, 2)).toMatchObject({ email: { status: 'submitted' }, counts: { failed: 9 } });
        expect(world.counts['holds for refused']).toBeUndefined();
      });
    },
  );

  it('is found out over batches that are each too small to show it', async () => {
    const world = calmWorld(40, [[0, 'refuses_entries']], { batch_size: 4 });
    await world.time.run(async () => {
      await publish(world);
      const { counts } = await pass(world, 30);
      expect(counts).toMatchObject({ failed: 0, pending: 40 });
      world.provider.moods = [];
      expect(await pass(world, WITHIN_MINUTES + 1)).toMatchObject({ counts: { submitted: 40 } });
    });
  });
});

describe('a sender that an operator took from the tenant after the publication', () => {
  it.each([0, AFTER_SOME])(
    'holds, from second %i on, and goes on within five minutes of being allowed again',
    async (from) => {
      const limits = { batch_size: 50, sender_check_ms: 3_000 };
      const world = calmWorld(MEMBERS, [], limits, { provider: { ...CALM, per_second: 100 } });
      await world.time.run(async () => {
        await publish(world);
        await world.time.pause(from * 1_000);
        world.senders = ['*@another.test'];
        const { counts } = await pass(world, 30);
        expect(counts.submitted, 'those under way').toBeLessThan(from * 100 + 1_000);
        expect(await waitsOf(world)).toMatchObject({ for: 'sender', message: expect.stringContaining('ops senders') });
        expect(world.counts['alarm failed'], 'it rings once').toBe(1);
        world.senders = [];
        expect(await pass(world, WITHIN_MINUTES + 1)).toMatchObject({ counts: { submitted: MEMBERS } });
      });
    },
  );

  it('is noticed in the middle of a batch', async () => {
    const world = calmWorld(1_000, [], {}, { provider: { ...CALM, per_second: 2 } });
    await world.time.run(async () => {
      await publish(world);
      await pass(world, 1);
      world.senders = ['*@another.test'];
      expect((await pass(world, 10)).counts.submitted).toBeLessThan(300);
      await operate(world, (deps) => cancelEmail(EMAIL_ID, deps));
      expect((await pass(world, 3)).email.status, 'who asks for nothing may end').toBe('cancelled');
    });
  });
});

describe('a quota that is used up', () => {
  const PER_SECOND = 100;
  const limited = () => {
    const provider = { ...CALM, per_second: PER_SECOND, per_day: 1_000_000 };
    const world = calmWorld(MEMBERS, [], {}, { provider });
    world.provider.per_day = 2_000;
    return world;
  };

  it('is asked again within five minutes, and says when it expects room and when it asks', async () => {
    const world = limited();
    await world.time.run(async () => {
      await publish(world);
      const { counts } = await pass(world, 120);
      expect(counts.submitted).toBeGreaterThan(1_000);
      const waits = await waitsOf(world);
      const now = world.time.clock().getTime();
      expect(waits).toMatchObject({ for: 'allowance', message: expect.stringContaining('quota of 24 hours') });
      expect(Date.parse(waits?.until ?? '') - now, 'tomorrow').toBeGreaterThan(20 * 3_600_000);
      expect(Date.parse(waits?.asks_at ?? '') - now).toBeLessThanOrEqual(240_000);
      world.provider.per_day = 1_000_000;
      expect(await pass(world, WITHIN_MINUTES + 1)).toMatchObject({ counts: { submitted: MEMBERS } });
    });
  });

  it('is asked at once after a pause and a resumption', async () => {
    const world = limited();
    await world.time.run(async () => {
      await publish(world);
      await pass(world, 120);
      world.provider.per_day = 1_000_000;
      await operate(world, (deps) => pauseEmail(EMAIL_ID, deps));
      await operate(world, (deps) => resumeEmail(EMAIL_ID, deps));
      // The account is read again after a minute at the earliest, which the last question may have used up.
      expect(await passMinutes(world, 2)).toMatchObject({ counts: { submitted: MEMBERS } });
    });
  });

  it('is what a mailing with a window waits for, and not its window', async () => {
    const world = limited();
    await world.time.run(async () => {
      await publish(world, { window_minutes: 600 });
      await pass(world, 400);
      expect(await waitsOf(world)).toMatchObject({ for: 'allowance' });
      world.provider.per_day = 1_000_000;
      const before = (await world.view()).counts.submitted;
      const { counts } = await pass(world, WITHIN_MINUTES + 1);
      expect(counts.submitted, 'the batch whose turn had come').toBeGreaterThan(before);
    });
  });
});
