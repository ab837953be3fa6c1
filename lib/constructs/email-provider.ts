import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { EmailEnv, SenderEnv } from '../../functions/shared/env.ts';
import type { StageConfig } from '../stage-config.ts';

/** EmailEnv beyond what every sender has; without a configuration set its variable is absent. */
type SesEnv = Omit<EmailEnv, keyof SenderEnv | 'SES_CONFIGURATION_SET'> & Partial<EmailEnv>;

export function emailEnvironment(config: StageConfig) {
  return {
    EMAIL_SENDER: config.senderAddress,
    ...(config.configurationSet === undefined ? {} : { SES_CONFIGURATION_SET: config.configurationSet }),
  } satisfies SesEnv;
}

/** Sending as the senders of the configuration and as nobody else. */
export function emailPermission(scope: Construct, config: StageConfig): PolicyStatement {
  const arn = (resource: string, resourceName: string) =>
    Stack.of(scope).formatArn({ service: 'ses', resource, resourceName });
  const senders = [config.senderAddress, ...config.integrationSenders];
  // SES asks for the right to a configuration set besides that to the identity.
  const sets = [...(config.configurationSet ? [config.configurationSet] : []), ...config.integrationConfigurationSets];
  return new PolicyStatement({
    actions: ['ses:SendEmail'],
    resources: [
      ...new Set(senders.flatMap(identities).map((identity) => arn('identity', identity))),
      ...new Set(sets.map((set) => arn('configuration-set', set))),
    ],
    conditions: { StringEquals: { 'ses:FromAddress': senders } },
  });
}

/** The address itself, its domain, or a domain above: whichever is verified in SES. */
function identities(address: string): string[] {
  const labels = address.slice(address.lastIndexOf('@') + 1).split('.');
  const domains = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
  return [address, ...domains];
}
