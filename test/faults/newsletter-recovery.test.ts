import { describe, expect, it } from 'vitest';
import type { NewsletterWorld } from '../../simulation/newsletter/newsletter-world.ts';
import { publish, runClockOnce } from '../../simulation/newsletter/operators.ts';
import { calmWorld, passMinutes } from '../support/newsletter/calm-world.ts';

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

describe('a newsletter whose processes were all killed', () => {
  it.each([
    ['while it was prepared', 0, 1_000],
    ['while it was sent', 100, 0],
    ['while it was sent, just after the clock had run', 300, 59_000],
    ['while its calls hung', 150, 30_000],
  ])('goes on within 90 s %s, and reaches everybody else', async (when, received, first_ms) => {
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
  });
});

describe('a sender whose call hangs', () => {
  it('keeps its claim, and its slot serves another batch until the call ends', async () => {
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
});
