import { describe, expect, it } from 'vitest';
import { CATALOGUE, newsletterOf } from '../../tools/simulation/catalogue.ts';
import { runNewsletter } from '../../tools/simulation/newsletter/run-newsletter.ts';
import { type NewsletterScenario, NO_FAULTS } from '../../tools/simulation/scenarios/newsletter-scenario.ts';

const MEMBERS = 3_000;

function small(changes: Partial<NewsletterScenario> = {}, members = MEMBERS): NewsletterScenario {
  const scenario = CATALOGUE.get('newsletter-million');
  if (scenario === undefined || !('newsletter' in scenario)) throw new Error('There is no newsletter-million.');
  return { ...newsletterOf(scenario, members), ...changes };
}

describe('a simulated newsletter', () => {
  it('keeps its promise while workers die, answers get lost, storage fails, members leave and the quota ends', async () => {
    const { provider, events } = small();
    const scenario = small({
      provider: { ...provider, overloaded: 0.05, lost_answers: 0.05, transient: 0.01, refused: 0.01 },
      events: { ...events, lost: 0.5 },
      faults: { ...NO_FAULTS, deaths: 0.9, failing: 0.01 },
    });
    const figures = await runNewsletter(scenario, 1);
    expect(figures).toMatchObject({ violations: 0, examples: [], duplicates: 0, counts: { pending: 0 } });
    // It says something only if all of this happened.
    const { counts, events: happened } = figures;
    for (const state of ['submitted', 'excluded', 'failed', 'uncertain'] as const) {
      expect(counts[state], state).toBeGreaterThan(0);
    }
    for (const what of ['workers killed', 'answers lost', 'reconciled by events', 'batches waiting']) {
      expect(happened[what], what).toBeGreaterThan(0);
    }
  }, 60_000);

  it('gives the same result for the same seed', async () => {
    const scenario = small({}, 500);
    expect(await runNewsletter(scenario, 3)).toEqual(await runNewsletter(scenario, 3));
  });
});
