import { describe, expect, it } from 'vitest';
import { pauseEmail, resumeEmail, retryEmail } from '../../src/core/newsletter/lifecycle/operate.ts';
import type { Mood } from '../../tools/simulation/models/bulk-provider.ts';
import { EMAIL_ID, type NewsletterWorld } from '../../tools/simulation/newsletter/newsletter-world.ts';
import { operate, publish, runClockOnce } from '../../tools/simulation/newsletter/operators.ts';
import { calmWorld, passMinutes } from '../support/newsletter/calm-world.ts';

const MINUTE = 60_000;

/** Lets minutes pass, with the clock's run in each; ends when the email does, and says how it stands. */
const pass = (world: NewsletterWorld, minutes: number) => passMinutes(world, minutes, { clock: true });

const recipientsOf = (counts: object) => Object.values(counts).reduce((sum, count) => sum + count, 0);

describe('a provider that refuses every entry for the time being', () => {
  it('makes the email fail after the tries of each recipient, and a retry sends all of them', async () => {
    const world = calmWorld(2_500, [
      [0, 'all_transient'],
      [3_600, 'accepts'],
    ]);
    await world.time.run(async () => {
      await publish(world);
      const { email, counts } = await pass(world, 55);
      expect(counts).toMatchObject({ pending: 2_500, submitted: 0, failed: 0 });
      expect(recipientsOf(counts)).toBe(2_500);
      expect(email).toMatchObject({
        status: 'failed',
        error: expect.stringMatching(/^The email was not sent: 2500 of 2500 recipients.* 1000 .*transient_failure/),
      });
      expect(world.counts).toHaveProperty('alarm failed');
      await world.time.pause(60 * MINUTE);
      await operate(world, (deps) => retryEmail(EMAIL_ID, deps));
      expect(await pass(world, 10)).toMatchObject({ email: { status: 'submitted' }, counts: { submitted: 2_500 } });
      await world.auditEnd();
      expect(world.auditor.result().examples).toEqual([]);
    });
  });

  it('is tried anew by each retry, as often as the first time', async () => {
    const world = calmWorld(10, [[0, 'all_transient']]);
    await world.time.run(async () => {
      await publish(world);
      for (let retry = 1; retry <= 3; retry++) {
        expect(await pass(world, 20)).toMatchObject({ email: { status: 'failed' }, counts: { pending: 10 } });
        expect(world.provider.calls, 'a first try and six more, each time').toBe(7 * retry);
        expect(await operate(world, (deps) => retryEmail(EMAIL_ID, deps))).toMatchObject({ status: 'submitting' });
      }
    });
  });
});

describe('a provider that answers nothing', () => {
  it.each([2, 3])(
    'for an hour leaves few uncertain with %i batches at once, and is probed by single mails',
    async (concurrency) => {
      const world = calmWorld(
        5_000,
        [
          [0, 'silent'],
          [3_600, 'accepts'],
        ],
        { concurrency },
      );
      await world.time.run(async () => {
        await publish(world);
        const silent = await pass(world, 60);
        expect(silent.counts.uncertain).toBeLessThanOrEqual(100 * concurrency + 20);
        expect(silent.counts.uncertain).toBeGreaterThan(100 * concurrency - 50);
        expect(silent.counts.submitted).toBe(0);
        const end = await pass(world, 20);
        expect(end.email.status).toBe('submitted');
        expect(end.counts.submitted + end.counts.uncertain).toBe(5_000);
        expect(end.counts.uncertain).toBeLessThanOrEqual(100 * concurrency + 20);
        expect(end.email).not.toHaveProperty('silence');
      });
    },
  );

  it('in single calls holds nobody up', async () => {
    const lost = Array.from({ length: 300 }, (_, i): [number, Mood][] => [
      [i * 0.4, 'unknown_accepted'],
      [i * 0.4 + 0.1, 'accepts'],
    ]).flat();
    const world = calmWorld(5_000, lost);
    await world.time.run(async () => {
      await publish(world);
      const { email, counts } = await pass(world, 5);
      expect(world.counts['answers lost'], 'some calls were not answered').toBeGreaterThan(3);
      expect(email).toMatchObject({ status: 'submitted' });
      expect(counts.submitted + counts.uncertain).toBe(5_000);
    });
  });
});

const MEMBERS = 2_000;
/** A newsletter whose sender or runtime was killed goes on within 90 s of the death. */
const WITHIN_MS = 90_000;

/** The clock's runs come each minute, at any time of it. */
function tickEachMinute(world: NewsletterWorld, first_ms: number): void {
  void world.time.pause(first_ms).then(() => {
    void runClockOnce(world);
    tickEachMinute(world, 60_000);
  });
}

async function until(world: NewsletterWorld, isTrue: () => boolean | Promise<boolean>): Promise<number> {
  const begun = world.time.now;
  while (!(await isTrue())) {
    await world.time.pause(100);
    if (world.time.now - begun > 600_000) throw new Error('It does not happen within ten minutes.');
  }
  return world.time.now - begun;
}

it.each([
  ['while it was prepared', 0, 1_000],
  ['while it was sent', 100, 0],
  ['while it was sent, just after the clock had run', 300, 59_000],
  ['while its calls hung', 150, 30_000],
])(
  'a newsletter whose processes were all killed goes on within 90 s %s, and reaches everybody else',
  async (when, received, first_ms) => {
    const world = calmWorld(MEMBERS, []);
    await world.time.run(async () => {
      tickEachMinute(world, first_ms);
      await publish(world);
      const { provider } = world;
      await until(world, async () => {
        const { email } = await world.view();
        return received === 0 ? email?.status === 'submitting' : provider.accepted >= received;
      });
      if (received === 0) await world.time.pause(2_000);
      if (when.includes('hung')) {
        world.provider.moods = [{ from_s: 0, mood: 'silent' }];
        await world.time.pause(2_000);
      }
      world.killAll();
      world.provider.moods = [];
      const claim = (await world.view()).email?.claim_id;
      const killed = world.time.now;
      // What was under way still arrives.
      await world.time.pause(10_000);
      const sent = provider.accepted;
      await until(world, async () => {
        const { email } = await world.view();
        return provider.accepted > sent || (received === 0 && email?.claim_id !== claim);
      });
      expect(world.time.now - killed, 'milliseconds').toBeLessThanOrEqual(WITHIN_MS);
      const { counts } = await passMinutes(world, 10);
      expect(counts.submitted + counts.uncertain).toBe(MEMBERS);
      expect(counts.uncertain).toBeLessThanOrEqual(2 * 50);
      await world.auditEnd();
      expect(world.auditor.result().examples).toEqual([]);
    });
  },
);

describe('a mailing that holds, once nothing is in its way any more', () => {
  const HELD_MS = 3_600_000;
  const block = (world: NewsletterWorld, mood: Mood | 'quota of a day' | 'sender taken away') => {
    if (mood === 'quota of a day') world.provider.per_day = 400;
    else if (mood === 'sender taken away') world.senders = ['*@another.test'];
    else world.provider.moods = [{ from_s: 0, mood }];
  };
  const free = (world: NewsletterWorld) => {
    world.provider.per_day = 10_000_000;
    world.senders = [];
    world.provider.moods = [];
  };
  const goesOn = async (world: NewsletterWorld) => {
    const { accepted } = world.provider;
    return until(world, () => world.provider.accepted > accepted);
  };
  const hold = async (world: NewsletterWorld, why: Parameters<typeof block>[1]) => {
    block(world, why);
    await world.time.pause(HELD_MS);
    const { email } = await world.view();
    expect(email?.hold ?? email?.silence?.until, 'it holds').toBeDefined();
  };
  const isAsked = async (world: NewsletterWorld) => {
    const { email, batches } = await world.view();
    const asking = Object.values(email?.slots ?? {}).map(({ batch_id }) => batch_id);
    return batches.some(({ batch_id, claim_until }) => asking.includes(batch_id) && claim_until !== undefined);
  };

  it.each([
    ...(['refuses_entries', 'refuses_calls', 'unverified', 'settings', 'account', 'silent'] as const),
    ...(['quota of a day', 'sender taken away'] as const),
  ])('%s: goes on within 90 s of the death of whoever asks, and at once when it is resumed', async (why) => {
    const world = calmWorld(MEMBERS, [], { sender_check_ms: 3_000 });
    await world.time.run(async () => {
      tickEachMinute(world, 1_000);
      await publish(world);
      await until(world, () => world.provider.accepted >= 100);
      // Who asks whether the sender is allowed claims no batch, and dies in moments or not at all.
      if (why !== 'sender taken away') {
        await hold(world, why);
        await until(world, () => isAsked(world));
        world.killAll();
        free(world);
        expect(await goesOn(world), 'milliseconds after the death').toBeLessThanOrEqual(WITHIN_MS);
      }
      await hold(world, why);
      await operate(world, (deps) => pauseEmail(EMAIL_ID, deps));
      free(world);
      await operate(world, (deps) => resumeEmail(EMAIL_ID, deps));
      expect(await goesOn(world), 'milliseconds after the resumption').toBeLessThanOrEqual(5_000);
    });
  });
});

it('a sender whose call hangs keeps its claim, and its slot serves another batch until the call ends', async () => {
  const world = calmWorld(MEMBERS, [], { batch_size: 200 });
  await world.time.run(async () => {
    tickEachMinute(world, 1_000);
    await publish(world);
    const { provider } = world;
    await until(world, () => provider.accepted >= 100);
    const first = (await world.view()).email?.slots['0']?.batch_id ?? '';
    provider.hangNext(first);
    await until(world, async () => {
      const { email } = await world.view();
      return !Object.values(email?.slots ?? {}).some(({ batch_id }) => batch_id === first);
    });
    const { email, batches } = await world.view();
    expect(Object.keys(email?.slots ?? {}), 'all slots are in use').toHaveLength(world.limits.concurrency);
    expect(batches.find(({ batch_id }) => batch_id === first)).toMatchObject({ status: 'submitting' });
    const end = await passMinutes(world, 10);
    expect(end.counts).toMatchObject({ uncertain: 50, submitted: MEMBERS - 50 });
    expect(end.email).toMatchObject({ status: 'submitted' });
    expect(Object.keys(world.counts).filter((name) => name.startsWith('alarm'))).toEqual([]);
    expect(world.auditor.result().examples).toEqual([]);
  });
});
