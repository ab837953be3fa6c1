import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';

/** The name of an integration's secret is this prefix and the row's `integration_config_id`. */
export function integrationSecretPrefix(config: StageConfig): string {
  return `notification-retry/${config.stage}/integrations/`;
}

/** The ARN pattern of the stage's integration secrets. Secrets Manager adds six characters to the end of each ARN. */
export function integrationSecretArns(scope: Construct, config: StageConfig): string {
  const { partition, region, account } = Stack.of(scope);
  return `arn:${partition}:secretsmanager:${region}:${account}:secret:${integrationSecretPrefix(config)}*`;
}
