import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createPacingStore } from '../../../src/adapters/dynamodb/pacing/pacing-store.ts';
import { readAccountLimits } from '../../../src/adapters/email/account-limits.ts';
import { createSendPacing } from '../../../src/core/newsletter/sending/send-pacing.ts';
import { Pacer } from '../../../src/core/pacing/pacer.ts';
import type { PacingConfig } from '../runtime/env.ts';
import type { Observability } from '../runtime/observability.ts';

interface PacingEnv {
  readonly PIPELINE_STATE_TABLE: string;
  readonly PACING: PacingConfig;
}

/** The budget of e-mail, which newsletters share with single mails. */
export function bindSendPacing(env: PacingEnv, client: DynamoDBClient, { logger }: Observability) {
  const { workers, ...policy } = env.PACING;
  const clock = () => new Date();
  const pacer = new Pacer({
    store: createPacingStore(client, env.PIPELINE_STATE_TABLE),
    channel: 'email',
    policy,
    clock,
    random: Math.random,
    workers,
    readLimits: readAccountLimits,
    onFault: (error) =>
      logger.warn('the budget could not be read or written; this instance goes on slowly by itself', {
        error: error as Error,
      }),
  });
  return createSendPacing(pacer, { clock, pause: (ms) => setTimeout(ms) });
}
