import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { PacingConfig } from '../../../src/adapters/deployment/settings-json.ts';
import { createPacingStore } from '../../../src/adapters/dynamodb/pacing/pacing-store.ts';
import type { Channel } from '../../../src/core/model/channels.ts';
import type { Clock } from '../../../src/core/model/time.ts';
import type { AccountLimits } from '../../../src/core/pacing/account.ts';
import { Pacer } from '../../../src/core/pacing/pacer.ts';
import { pipelineState } from './clients/dynamodb.ts';
import type { Observability } from './observability.ts';

const ALONE = 'the budget could not be read or written; this instance goes on slowly by itself';

export interface PacerEnv {
  readonly PIPELINE_STATE_TABLE: string;
  readonly PACING: PacingConfig;
}

export type PacerPorts = Pick<Observability, 'logger'> & { readonly clock: Clock };

/** Loads SES v2's client with the first reading: one instance reads every few minutes. */
export const readAccountLimits = async () =>
  (await import('../../../src/adapters/email/account-limits.ts')).readAccountLimits();

/** The account's budget as this instance uses it, on the deployed table. @param readLimits what the provider allows */
export function createPacer(
  channel: Channel,
  { PIPELINE_STATE_TABLE, PACING }: PacerEnv,
  dynamodb: DynamoDBClient,
  { logger, clock }: PacerPorts,
  readLimits?: () => Promise<AccountLimits>,
): Pacer {
  const { workers, ...policy } = PACING;
  return new Pacer({
    store: createPacingStore(pipelineState(dynamodb), PIPELINE_STATE_TABLE),
    channel,
    policy,
    clock,
    random: Math.random,
    workers,
    ...(readLimits && { readLimits }),
    onFault: (error) => logger.warn(ALONE, { error: error as Error }),
  });
}
