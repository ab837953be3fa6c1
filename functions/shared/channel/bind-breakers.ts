import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createBreakerStore } from '../../../src/adapters/dynamodb/breaker/breaker-store.ts';
import { heldSince } from '../../../src/core/breaker/breaker.ts';
import { BreakerGate, type BreakerGateDeps } from '../../../src/core/breaker/breaker-gate.ts';
import type { BreakerPolicy } from '../../../src/core/breaker/breaker-policy.ts';
import { pipelineState } from '../runtime/clients/dynamodb.ts';
import { count } from '../runtime/metrics.ts';
import type { Observability } from '../runtime/observability.ts';

/** Milliseconds from a probe's admission to its send, beside what the send may take. */
const UNTIL_SEND_MS = 5_000;

interface BreakerEnv {
  readonly PIPELINE_STATE_TABLE: string;
  readonly BREAKER: BreakerPolicy;
  readonly SEND_TIMEOUT_SECONDS: number;
}

/** The breakers of one instance of a channel function, on the deployed table. */
export function bindBreakers(
  env: BreakerEnv,
  dynamodb: DynamoDBClient,
  provider: Required<Pick<BreakerGateDeps, 'budgetOf'>>,
  { logger, metrics }: Observability,
): BreakerGate {
  const clock = () => new Date();
  return new BreakerGate({
    store: createBreakerStore(pipelineState(dynamodb), env.PIPELINE_STATE_TABLE, clock),
    policy: env.BREAKER,
    clock,
    ...provider,
    // Unreferenced: a pause that nothing awaits any more must not keep the process alive.
    pause: (ms) => setTimeout(ms, undefined, { ref: false }),
    probe_ms: env.SEND_TIMEOUT_SECONDS * 1000 + UNTIL_SEND_MS,
    onTransition(to, breaker) {
      const { id, since, error_type, probe_at } = breaker;
      count(metrics, to === 'opened' ? 'BreakersOpened' : 'BreakersClosed');
      const line = { breaker: id, since, error_type, held: heldSince(breaker) };
      if (to === 'opened') logger.warn('breaker opened: its notifications are held', { ...line, probe_at });
      else logger.info('breaker closed', line);
    },
    onFault: (error) =>
      logger.warn('the state of the breakers could not be read or written', { error: error as Error }),
  });
}
