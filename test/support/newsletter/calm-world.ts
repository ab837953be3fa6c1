import { expect } from 'vitest';
import type { JobLimits } from '../../../src/core/newsletter/model/job-limits.ts';
import type { Mood } from '../../../tools/simulation/models/bulk-provider.ts';
import { connectFunctions } from '../../../tools/simulation/newsletter/newsletter-functions.ts';
import { NewsletterWorld } from '../../../tools/simulation/newsletter/newsletter-world.ts';
import { runClockOnce } from '../../../tools/simulation/newsletter/operators.ts';
import { type NewsletterScenario, NO_FAULTS } from '../../../tools/simulation/scenarios/newsletter-scenario.ts';

/** A world in which nothing breaks but the provider, and what a test breaks. Nobody hears of any event. */
export function calmWorld(
  members: number,
  moods: readonly (readonly [from_s: number, mood: Mood])[],
  limits: Partial<JobLimits> = {},
  more: Partial<NewsletterScenario> = {},
): NewsletterWorld {
  const world = new NewsletterWorld(
    {
      name: 'calm',
      describes: 'a newsletter without faults',
      notifications: members,
      faults: NO_FAULTS,
      limits,
      given: () => ({ kind: 'ok', paid: false }),
      provider: {
        latency_ms: [20, 1_000],
        per_second: 10_000,
        per_day: 10_000_000,
        overloaded: 0,
        lost_answers: 0,
        transient: 0,
        refused: 0,
      },
      events: { lost: 1, bounced: 0, complained: 0 },
      unsubscribe_per_minute: 0,
      ...more,
    },
    1,
  );
  world.heal();
  world.provider.moods = moods.map(([from_s, mood]) => ({ from_s, mood }));
  connectFunctions(world);
  return world;
}

/** Lets minutes pass until the email has ended; the auditor finds nothing in any of them. */
export async function passMinutes(world: NewsletterWorld, minutes: number, { clock = false } = {}) {
  for (let minute = 0; minute < minutes; minute++) {
    await world.time.pause(60_000);
    if (clock) await runClockOnce(world);
    const { email } = await world.audit();
    if (email?.status === 'submitted' || email?.status === 'failed') break;
  }
  expect(world.auditor.result().examples).toEqual([]);
  const { email, ...view } = await world.view();
  if (email === undefined) throw new Error('There is no email.');
  return { ...view, email };
}
