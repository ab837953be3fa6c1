import type { Colors } from '../../src/terminal/colors.ts';
import { fields } from '../../src/terminal/table.ts';
import { STATES } from '../audit/newsletter-auditor.ts';
import { costText, counts, judgement, rounded } from '../report/describe.ts';
import type { Plot } from '../report/plot.ts';
import type { NewsletterFigures } from './newsletter-figures.ts';

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
  return `${fields(summary, colors)}\n${judgement(budgets, examples, colors)}`;
}

/** The recipients by state. */
export function newsletterPlot({ scenario, notifications, seed, samples }: NewsletterFigures): Plot {
  return {
    title: `${scenario}: recipients by state (${notifications.toLocaleString('en')} in all, seed ${seed})`,
    names: STATES,
    samples: samples.map(({ at, counts }) => ({ at, counts: STATES.map((name) => counts[name]) })),
  };
}
