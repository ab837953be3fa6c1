import { describe, expect, it } from 'vitest';
import type { Mood } from '../../simulation/models/bulk-provider.ts';
import { EMAIL_ID, type NewsletterWorld } from '../../simulation/newsletter/newsletter-world.ts';
import { operate, publish } from '../../simulation/newsletter/operators.ts';
import { retryEmail } from '../../src/core/newsletter/lifecycle/operate.ts';
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
        expect(await operate(world, (deps) => retryEmail(EMAIL_ID, deps))).toMatchObject({
          status: 'submitting',
        });
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
