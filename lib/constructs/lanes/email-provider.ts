import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Deployed, emailEnv, senderEnv } from '../../../functions/shared/runtime/env.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from '../function/nag-acknowledgements.ts';
import { presentPart } from '../storage/encryption.ts';

/** The configuration set of mails whose integration names none: that of the configuration, else the stack's own. */
export function configurationSetName({ configurationSet, stage }: StageConfig): string {
  return configurationSet ?? `notification-retry-${stage}`;
}

/** Mails are sent with the domain in lower case, and AWS compares `ses:FromAddress` case by case. */
export const asSent = (sender: string): string => sender.replace(/@.*$/, (domain) => domain.toLowerCase());

/** The From address, which the configuration requires with the channel. */
export function senderAddressOf({ senderAddress }: StageConfig): string {
  return asSent(presentPart(senderAddress, 'email'));
}

/** The variables of Deployed<typeof emailEnv> that other senders do not have. */
export function emailEnvironment(config: StageConfig) {
  return {
    EMAIL_SENDER: senderAddressOf(config),
    SES_CONFIGURATION_SET: configurationSetName(config),
  } satisfies Omit<Deployed<typeof emailEnv>, keyof Deployed<typeof senderEnv>>;
}

/** The right to ask SES what the account may send. It has no narrower resource than the account. */
export function accountPermission(): WildcardPermission {
  return {
    statement: new PolicyStatement({ actions: ['ses:GetAccount'], resources: ['*'] }),
    resource: '*',
    reason: 'ses:GetAccount has no resource type: it reads the limits of the account, which pacing needs.',
  };
}

/**
 * The right to send as the configured senders and as nobody else. The condition restricts the senders; the resource
 * cannot: if a recipient is verified in the account (in SES's sandbox, all are), SES requires the right to the
 * recipient's identity besides the sender's (docs/decisions/channels/senders-and-credentials.md#0030).
 */
export function emailPermission(scope: Construct, config: StageConfig): WildcardPermission {
  const arn = (resource: string, resourceName: string) =>
    Stack.of(scope).formatArn({ service: 'ses', resource, resourceName });
  const senders = [senderAddressOf(config), ...config.integrationSenders.map(asSent)];
  // SES requires the right to the configuration set besides the right to the identities.
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
