import type { Colors } from '../../src/terminal/colors.ts';
import { fields } from '../../src/terminal/table.ts';
import { STATES } from '../audit/newsletter-auditor.ts';
import { START } from '../engine/virtual-time.ts';
import { priceOf } from '../report/cost.ts';
import { costText, counts, judgement, rounded } from '../report/describe.ts';
import { atLeast, atMost, judge } from '../report/figures.ts';
import type { Plot } from '../report/plot.ts';
import type { FunctionUse } from './newsletter-functions.ts';
import type { NewsletterWorld } from './newsletter-world.ts';

/** Newsletters may use a part of the day's quota, so the last part waits for the next day: the rate is judged before. */
const JUDGED_SHARE = 0.8;

/** What the simulation of a newsletter showed (one object with --json). */
export type NewsletterFigures = ReturnType<typeof newsletterFigures>;

export function newsletterFigures(world: NewsletterWorld, sources: readonly FunctionUse[]) {
  const { scenario, auditor, provider, time, samples } = world;
  const sending = sendingOf(world);
  const figures = {
    scenario: scenario.name,
    seed: world.seed,
    notifications: scenario.notifications,
    simulated_seconds: Math.round((time.now - START.getTime()) / 1000),
    counts: samples.at(-1)?.counts ?? { pending: 0, submitted: 0, excluded: 0, failed: 0, uncertain: 0 },
    ...sending,
    ...auditor.result(),
    /** Calls refused for the rate, and recipients refused for the quota. */
    throttled_by_providers: provider.throttled,
    over_quota: provider.overQuota,
    events: world.counts,
    cost: costOf(world, sources),
    samples,
  };
  const budgets = judge(figures, [
    atLeast(0.95, "share of the account's rate", ({ share_of_rate }) => share_of_rate),
    atMost(0, 'recipients who got it twice', ({ duplicates }) => duplicates),
    atMost(0, 'calls refused for the rate', ({ throttled_by_providers }) => throttled_by_providers),
  ]);
  return { ...figures, budgets };
}

function sendingOf({ bySecond, scenario }: NewsletterWorld) {
  const first = bySecond.findIndex((count = 0) => count > 0);
  const total = bySecond.reduce((sum = 0, count = 0) => sum + count, 0);
  let accepted = 0;
  let second = Math.max(0, first);
  for (; second < bySecond.length && accepted < total * JUDGED_SHARE; second++) accepted += bySecond[second] ?? 0;
  const seconds_80_percent = second - Math.max(0, first);
  const per_second = seconds_80_percent === 0 ? 0 : accepted / seconds_80_percent;
  return {
    /** From the publication to the first mail; from there until 80 % of all, and until the last one. */
    preparation_seconds: Math.max(0, first),
    seconds_80_percent,
    seconds: bySecond.length - Math.max(0, first),
    per_second,
    allowed_per_second: scenario.provider.per_second,
    share_of_rate: per_second / scenario.provider.per_second,
  };
}

/** Half a gigabyte for preparation and sending, a quarter for the events' function. */
const JOB_GB = 0.5;
const EVENTS_GB = 0.25;

function costOf({ tables, prepares, sends, events, scenario }: NewsletterWorld, sources: readonly FunctionUse[]) {
  const [prepare, send, event] = sources;
  const busy = (source: FunctionUse | undefined, gb: number) => ((source?.busy_ms ?? 0) / 1000) * gb;
  return priceOf(
    {
      write_units: tables.units.write,
      read_units: tables.units.read,
      sqs_requests: [prepares, sends, events].reduce((sum, { requests }) => sum + requests, 0),
      lambda_requests: sources.reduce((sum, { invocations }) => sum + invocations, 0),
      lambda_gb_seconds: Math.ceil(busy(prepare, JOB_GB) + busy(send, JOB_GB) + busy(event, EVENTS_GB)),
    },
    scenario.notifications,
  );
}

/** The figures of a newsletter for a person. */
export function describeNewsletter(figures: NewsletterFigures, colors: Colors): string {
  const { per_second, allowed_per_second, budgets, examples, events } = figures;
  const summary: [string, unknown][] = [
    ['scenario', `${figures.scenario}, seed ${figures.seed}`],
    ['recipients', figures.notifications.toLocaleString('en')],
    ['ended as', counts(figures.counts)],
    ['prepared', `in ${figures.preparation_seconds} s`],
    ['sent', `80 % in ${figures.seconds_80_percent} s, all in ${figures.seconds} s`],
    ['rate', `${rounded(per_second)}/s of ${allowed_per_second}/s`],
    ['uncertain', figures.counts.uncertain],
    ['duplicates', figures.duplicates],
    ['refused for the rate', `${figures.throttled_by_providers} calls`],
    ['refused for the quota', `${figures.over_quota} recipients`],
    ['events', counts(events) || 'none'],
    ['cost', costText(figures.cost)],
    ['violations', figures.violations],
  ];
  return `${fields(summary)}\n${judgement(budgets, examples, colors)}`;
}

/** The recipients by state. */
export function newsletterPlot({ scenario, notifications, seed, samples }: NewsletterFigures): Plot {
  return {
    title: `${scenario}: recipients by state (${notifications.toLocaleString('en')} in all, seed ${seed})`,
    names: STATES,
    samples: samples.map(({ at, counts }) => ({ at, counts: STATES.map((name) => counts[name]) })),
  };
}
