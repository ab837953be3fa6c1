import { runClock } from '../../src/core/newsletter/lifecycle/advance.ts';
import { bindNewsletter } from '../shared/newsletter/bind-newsletter.ts';
import { createDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { newsletterClockEnv } from '../shared/runtime/newsletter-env.ts';
import { bindFunction } from '../shared/runtime/observability.ts';

/** Moves on each email whose time has come: schedules, messages and workers that got lost are found by it. */
export const handler = bindFunction(newsletterClockEnv, (env, observability) => {
  const deps = bindNewsletter(env, createDynamoDb(), observability);
  return async (): Promise<void> => {
    const { advanced, failed } = await runClock(deps);
    if (advanced + failed > 0) observability.logger.info('newsletter clock', { advanced, failed });
    if (failed > 0) throw new Error(`${failed} emails could not be advanced; the next run tries again.`);
  };
});
