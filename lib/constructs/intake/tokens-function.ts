import type { Construct } from 'constructs';
import type { ApiTokensEnv } from '../../../functions/shared/runtime/env.ts';
import { allow, countRequests, readSecrets, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { API_TIMEOUT, type IntakeApiProps } from './intake-api-props.ts';

/** The function that signs tokens for web pages. It reads no table of notifications. */
export function tokensFunction(scope: Construct, { config, tables, encryption }: IntakeApiProps): ServiceFunction {
  return new ServiceFunction(scope, 'Tokens', {
    config,
    name: 'api-tokens',
    description: 'Signs short-lived tokens for web pages of producers',
    timeout: API_TIMEOUT,
    environment: {
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      TOKEN_SECRET: encryption.tokenSecret.secretArn,
    } satisfies ApiTokensEnv,
    permissions: [
      countRequests(tables.pipelineState),
      useTableKey(encryption.dataKey),
      allow(['secretsmanager:GetSecretValue'], [encryption.tokenSecret.secretArn]),
      readSecrets(encryption),
    ],
  });
}
