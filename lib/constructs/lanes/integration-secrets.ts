import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';

/** Credentials of integrations are secrets named this and the row's `integration_config_id`. */
export function integrationSecretPrefix(config: StageConfig): string {
  return `notification-retry/${config.stage}/integrations/`;
}

/** All integration secrets of the stage; Secrets Manager ends each ARN with six characters of its own. */
export function integrationSecretArns(scope: Construct, config: StageConfig): string {
  const { partition, region, account } = Stack.of(scope);
  return `arn:${partition}:secretsmanager:${region}:${account}:secret:${integrationSecretPrefix(config)}*`;
}
