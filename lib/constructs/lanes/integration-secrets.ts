import { Stack } from 'aws-cdk-lib';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { CHANNELS, type Channel } from '../../../src/core/model/channels.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from '../function/nag-acknowledgements.ts';
import { allow } from '../function/permissions.ts';

/** The prefix of secrets from before each channel had its own: they may belong to any channel. */
export function oldIntegrationSecretPrefix(config: StageConfig): string {
  return `notification-retry/${config.stage}/integrations/`;
}

/** The name of an integration's secret is this prefix and the row's `integration_config_id`. */
export function integrationSecretPrefix(config: StageConfig, channel: Channel): string {
  return `${oldIntegrationSecretPrefix(config)}${channel}/`;
}

/**
 * The rights to read the secrets of a channel: those with its prefix and those with the old one, which includes every
 * channel's, and so the prefixes of the other channels are denied (docs/decisions/channels/outbound-http.md#0086).
 */
export function readIntegrationSecrets(scope: Construct, config: StageConfig, channel: Channel): WildcardPermission[] {
  const { partition, region, account } = Stack.of(scope);
  // Secrets Manager adds six characters to the end of each ARN.
  const arns = (prefix: string) => `arn:${partition}:secretsmanager:${region}:${account}:secret:${prefix}*`;
  const old = arns(oldIntegrationSecretPrefix(config));
  const others = CHANNELS.filter((other) => other !== channel).map((other) =>
    arns(integrationSecretPrefix(config, other)),
  );
  const actions = ['secretsmanager:GetSecretValue'];
  return [
    {
      statement: allow(actions, [old]),
      resource: old,
      reason: 'Integrations are added without a deployment; the prefix is the narrowest name their secrets share.',
    },
    ...others.map((resource) => ({
      statement: new PolicyStatement({ effect: Effect.DENY, actions, resources: [resource] }),
      resource,
      reason: 'It denies what belongs to another channel.',
    })),
  ];
}
