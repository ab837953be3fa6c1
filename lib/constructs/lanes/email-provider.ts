import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { EmailEnv, SenderEnv } from '../../../functions/shared/runtime/env.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from '../function/nag-acknowledgements.ts';

/** The configuration set of mails whose integration names none: the one that the configuration names, else our own. */
export function configurationSetName({ configurationSet, stage }: StageConfig): string {
  return configurationSet ?? `notification-retry-${stage}`;
}

/** EmailEnv beyond what every sender has. */
export function emailEnvironment(config: StageConfig) {
  return {
    EMAIL_SENDER: config.senderAddress,
    SES_CONFIGURATION_SET: configurationSetName(config),
  } satisfies Omit<EmailEnv, keyof SenderEnv>;
}

/**
 * Sending as the senders of the configuration and as nobody else. The condition says so, not the resource: where a
 * recipient is itself verified in the account (in SES's sandbox, all of them are), SES wants the right to the
 * recipient's identity besides that to the sender's (docs/decisions/0030).
 */
export function emailPermission(scope: Construct, config: StageConfig): WildcardPermission {
  const arn = (resource: string, resourceName: string) =>
    Stack.of(scope).formatArn({ service: 'ses', resource, resourceName });
  const senders = [config.senderAddress, ...config.integrationSenders];
  // SES asks for the right to a configuration set besides that to the identities.
  const sets = [configurationSetName(config), ...config.integrationConfigurationSets];
  const identities = arn('identity', '*');
  return {
    statement: new PolicyStatement({
      actions: ['ses:SendEmail'],
      resources: [identities, ...new Set(sets.map((set) => arn('configuration-set', set)))],
      conditions: { StringEquals: { 'ses:FromAddress': senders } },
    }),
    resource: identities,
    reason:
      "SES authorises the recipient's identity too where it is verified in the account, as in the sandbox; " +
      'ses:FromAddress restricts whom it may send as.',
  };
}
