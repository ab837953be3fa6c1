import { type ClockDeps, runClock } from '../../src/core/newsletter/lifecycle/advance.ts';
import { bindNewsletter } from '../shared/newsletter/bind-newsletter.ts';
import { createDynamoDb } from '../shared/runtime/clients/dynamodb.ts';
import { parseEnv } from '../shared/runtime/env-values.ts';
import { newsletterClockEnv } from '../shared/runtime/newsletter-env.ts';
import { createObservability, type Observability, withObservability } from '../shared/runtime/observability.ts';

/** Moves on each email whose time has come: schedules, messages and workers that got lost are found by it. */
export function createHandler(deps: ClockDeps, { logger }: Pick<Observability, 'logger'>) {
  return async (): Promise<void> => {
    const { advanced, failed } = await runClock(deps);
    if (advanced + failed > 0) logger.info('newsletter clock', { advanced, failed });
    if (failed > 0) throw new Error(`${failed} emails could not be advanced; the next run tries again.`);
  };
}

function bind() {
  const env = parseEnv(newsletterClockEnv, process.env);
  const observability = createObservability();
  const deps = bindNewsletter(env, createDynamoDb(), observability);
  return withObservability(createHandler(deps, observability), observability);
}

export const handler = bind();
