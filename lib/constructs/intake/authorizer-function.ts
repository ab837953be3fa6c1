import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { ApiAuthorizerEnv } from '../../../functions/shared/runtime/env.ts';
import { allow, readSecrets } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import type { IntakeApiProps } from './intake-api-props.ts';

/** The function that checks a request's API key, or the token of a web page. */
export function authorizerFunction(scope: Construct, { config, tables, encryption }: IntakeApiProps): ServiceFunction {
  return new ServiceFunction(scope, 'KeyCheck', {
    config,
    name: 'api-authorizer',
    description: "Says whose API key a request's is",
    timeout: Duration.seconds(10),
    environment: {
      API_KEYS_TABLE: tables.apiKeys.tableName,
      TOKEN_SECRET: encryption.tokenSecret.secretArn,
    } satisfies ApiAuthorizerEnv,
    permissions: [
      allow(['dynamodb:GetItem'], [tables.apiKeys.tableArn]),
      allow(['kms:Decrypt', 'kms:DescribeKey'], [encryption.dataKey.keyArn]),
      allow(['secretsmanager:GetSecretValue'], [encryption.tokenSecret.secretArn]),
      readSecrets(encryption),
    ],
  });
}
