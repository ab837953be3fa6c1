import { START } from '../engine/virtual-time.ts';
import { counts, type Line, rounded } from '../report/describe.ts';
import { rateUntil } from '../report/drain.ts';
import { atLeast, atMost, costOf, judge, shown } from '../report/figures.ts';
import type { NewsletterScenario } from '../scenarios/newsletter-scenario.ts';
import { connectFunctions } from './newsletter-functions.ts';
import { NewsletterWorld } from './newsletter-world.ts';
import { publish, runClockOnce } from './operators.ts';

const MINUTE = 60_000;
/** The quota of a day may hold up the rest of a newsletter; nothing holds it up for longer. */
const HORIZON_MS = 5 * 24 * 60 * MINUTE;

/**
 * Sends one newsletter. @param onProgress told now and then how many recipients have come to their end
 */
export async function runNewsletter(
  scenario: NewsletterScenario,
  seed: number,
  onProgress: (finished: number) => void = () => {},
) {
  const world = new NewsletterWorld(scenario, seed);
  connectFunctions(world);
  const { time } = world;
  let over = false;
  const everyMinute = async () => {
    time.at(time.now + MINUTE, () => void everyMinute());
    const isSent = await look(world, onProgress);
    over = (isSent && world.queued === 0) || time.now >= START.getTime() + HORIZON_MS;
    unsubscribe(world);
    await runClockOnce(world);
  };
  time.at(START.getTime(), () => {
    void publishSurely(world).then(everyMinute);
  });
  await time.runUntil(() => over);
  await world.auditEnd();
  return newsletterFigures(world);
}

/** An operator repeats what failed. */
async function publishSurely(world: NewsletterWorld): Promise<void> {
  do await publish(world);
  while ((await world.view()).email === undefined);
}

/** What an API's reader sees now. @returns whether the email has come to its end */
async function look(world: NewsletterWorld, onProgress: (finished: number) => void): Promise<boolean> {
  const { email, counts } = await world.audit();
  if (email?.prepared !== undefined) {
    onProgress(email.prepared.recipients - counts.pending);
    world.samples.push({ at: (world.time.now - START.getTime()) / 1000, counts });
  }
  return email?.status === 'submitted' || email?.status === 'failed';
}

/** Members unsubscribe while mails go out: who did so before the preparation would be no recipient. */
function unsubscribe(world: NewsletterWorld): void {
  const { scenario, draw, members, samples } = world;
  if ((samples.at(-1)?.counts.submitted ?? 0) === (samples.at(-2)?.counts.submitted ?? 0)) return;
  for (let i = 0; i < scenario.unsubscribe_per_minute; i++) world.unsubscribe(Math.floor(draw() * members.count));
}

/** Newsletters may use a part of the day's quota, so the last part waits for the next day: the rate is judged before. */
const JUDGED_SHARE = 0.8;

export function newsletterFigures(world: NewsletterWorld) {
  const { provider, samples, tables, scenario } = world;
  const units = { read: tables.units.read, write: tables.units.write + tables.state.units };
  const figures = {
    ...shown(world, provider.calls, provider.throttled),
    counts: samples.at(-1)?.counts ?? { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 },
    ...sendingOf(world),
    /** Recipients refused for the quota. */
    over_quota: provider.overQuota,
    cost: costOf(world, units, scenario.notifications),
    samples,
  };
  return judge(figures, [
    atLeast(0.95, "share of the account's rate", ({ share_of_rate }) => share_of_rate),
    atMost(0, 'recipients who got it twice', ({ duplicates }) => duplicates),
    atMost(0, 'calls refused for the rate', ({ throttled_by_providers }) => throttled_by_providers),
  ]);
}

function sendingOf({ bySecond, scenario }: NewsletterWorld) {
  const first = Math.max(
    0,
    bySecond.findIndex((count = 0) => count > 0),
  );
  const { seconds, per_second } = rateUntil(JUDGED_SHARE, bySecond.slice(first));
  return {
    /** From the publication to the first mail; from there until 80 % of all, and until the last one. */
    preparation_seconds: first,
    seconds_80_percent: seconds,
    seconds: bySecond.length - first,
    per_second,
    allowed_per_second: scenario.provider.per_second,
    share_of_rate: per_second / scenario.provider.per_second,
  };
}

/** What is shown of it for a person. */
export function newsletterLines(figures: ReturnType<typeof newsletterFigures>): readonly Line[] {
  return [
    ['ended as', counts(figures.counts)],
    ['prepared', `in ${figures.preparation_seconds} s`],
    ['sent', `80 % in ${figures.seconds_80_percent} s, all in ${figures.seconds} s`],
    ['rate', `${rounded(figures.per_second)}/s of ${figures.allowed_per_second}/s`],
    ['uncertain', figures.counts.uncertain],
    ['refused for the quota', `${figures.over_quota} recipients`],
  ];
}
