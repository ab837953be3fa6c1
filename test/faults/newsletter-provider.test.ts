import { describe, expect, it } from 'vitest';
import { countsOf } from '../../src/core/newsletter/accounting/counts.ts';
import { retryEmail } from '../../src/core/newsletter/lifecycle/operate.ts';
import { Auditor } from '../support/newsletter/faults/auditor.ts';
import { calmWorld, passMinutes } from '../support/newsletter/faults/calm-world.ts';
import type { Mood } from '../support/newsletter/faults/provider.ts';
import type { NewsletterWorld } from '../support/newsletter/faults/world.ts';

const MINUTE = 60_000;

/** Lets minutes pass, with the clock's run in each; ends when the email does, and says how it stands. */
async function pass(world: NewsletterWorld, minutes: number) {
  const { email, batches } = await passMinutes(world, minutes, true);
  return { email, counts: countsOf(email, batches) };
}

const published = { window_minutes: undefined, delay_s: undefined };

describe('a provider that refuses every entry for the time being', () => {
  it('makes the email fail after the tries of each recipient, and a retry sends all of them', async () => {
    const world = calmWorld(2_500, [
      [0, 'all_transient'],
      [3_600, 'accepts'],
    ]);
    await world.time.run(
      (async () => {
        await world.publish(published);
        const { email, counts } = await pass(world, 55);
        expect(counts).toMatchObject({ recipients: 2_500, pending: 2_500, submitted: 0, failed: 0 });
        expect(email).toMatchObject({
          status: 'failed',
          error: expect.stringMatching(/^The email was not sent: 2500 of 2500 recipients.* 1000 .*because_transient/),
        });
        expect(world.counted).toContain('failed');
        await world.time.pause(60 * MINUTE);
        await world.operate((deps) => retryEmail(world.email_id, deps));
        expect(await pass(world, 10)).toMatchObject({ email: { status: 'submitted' }, counts: { submitted: 2_500 } });
        await new Auditor(world).checkEnd();
      })(),
    );
  });

  it('is tried anew by each retry, as often as the first time', async () => {
    const world = calmWorld(10, [[0, 'all_transient']]);
    await world.time.run(
      (async () => {
        await world.publish(published);
        for (let retry = 1; retry <= 3; retry++) {
          expect(await pass(world, 20)).toMatchObject({ email: { status: 'failed' }, counts: { pending: 10 } });
          expect(world.provider.calls, 'a first try and six more, each time').toBe(7 * retry);
          expect(await world.operate((deps) => retryEmail(world.email_id, deps))).toMatchObject({
            status: 'submitting',
          });
        }
      })(),
    );
  });
});

describe('a provider that answers nothing', () => {
  it.each([2, 3])(
    'for an hour leaves few uncertain with %i batches at once, and is probed by single mails',
    async (concurrency) => {
      const world = calmWorld(5_000, [
        [0, 'silent'],
        [3_600, 'accepts'],
      ]);
      world.limits = { ...world.limits, concurrency };
      await world.time.run(
        (async () => {
          await world.publish(published);
          const silent = await pass(world, 60);
          expect(silent.counts.uncertain).toBeLessThanOrEqual(100 * concurrency + 20);
          expect(silent.counts.uncertain).toBeGreaterThan(100 * concurrency - 50);
          expect(silent.counts.submitted).toBe(0);
          const end = await pass(world, 20);
          expect(end.email.status).toBe('submitted');
          expect(end.counts.submitted + end.counts.uncertain).toBe(5_000);
          expect(end.counts.uncertain).toBeLessThanOrEqual(100 * concurrency + 20);
          expect(end.email).not.toHaveProperty('silence');
        })(),
      );
    },
  );

  it('in single calls holds nobody up', async () => {
    const lost = Array.from({ length: 300 }, (_, i): [number, Mood][] => [
      [i * 0.4, 'unknown_accepted'],
      [i * 0.4 + 0.1, 'accepts'],
    ]).flat();
    const world = calmWorld(5_000, lost);
    await world.time.run(
      (async () => {
        await world.publish(published);
        const { email, counts } = await pass(world, 5);
        expect(world.provider.unanswered, 'some calls were not answered').toBeGreaterThan(3);
        expect(email).toMatchObject({ status: 'submitted' });
        expect(counts.submitted + counts.uncertain).toBe(5_000);
      })(),
    );
  });
});
