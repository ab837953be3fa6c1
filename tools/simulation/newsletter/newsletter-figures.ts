import { costOf } from '../report/cost.ts';
import { counts, type Line, rounded } from '../report/describe.ts';
import { rateUntil } from '../report/drain.ts';
import { atLeast, atMost, judge, shown } from '../report/figures.ts';
import type { NewsletterWorld } from './newsletter-world.ts';

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
