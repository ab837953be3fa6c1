import { setTimeout } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { readAccountLimits } from '../../../src/adapters/email/account-limits.ts';
import { createSendPacing } from '../../../src/core/newsletter/sending/send-pacing.ts';
import type { Observability } from '../runtime/observability.ts';
import { createPacer, type PacerEnv } from '../runtime/pacer.ts';

/** The budget of e-mail, which newsletters share with single mails. */
export function bindSendPacing(env: PacerEnv, client: DynamoDBClient, observability: Pick<Observability, 'logger'>) {
  const pacer = createPacer('email', env, client, observability, readAccountLimits);
  return createSendPacing(pacer, { clock: () => new Date(), pause: (ms) => setTimeout(ms) });
}
