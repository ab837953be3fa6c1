import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from '../function/nag-acknowledgements.ts';

/** The configuration set of newsletters, apart from that of notifications: its events go to other functions. */
export function newsletterConfigurationSet({ stage }: Pick<StageConfig, 'stage'>): string {
  return `notification-retry-${stage}-newsletters`;
}

/** Patterns of the From addresses of newsletters: those of the configuration, or the domain of the stage's sender. */
export function newsletterSenders({ newsletter, senderAddress }: StageConfig): readonly string[] {
  return newsletter.senders.length > 0 ? newsletter.senders : [senderAddress.replace(/^.*@/, '*@')];
}

/**
 * The right to send newsletters as the configured senders. The resource restricts nobody, because SES requires the
 * right to a verified recipient's identity, too (docs/decisions/0030).
 */
export function bulkPermission(
  scope: Construct,
  config: StageConfig,
  actions: readonly string[] = ['ses:SendBulkEmail'],
): WildcardPermission {
  const arn = (resource: string, resourceName: string) =>
    Stack.of(scope).formatArn({ service: 'ses', resource, resourceName });
  const identities = arn('identity', '*');
  return {
    statement: new PolicyStatement({
      actions: [...actions],
      resources: [identities, arn('configuration-set', newsletterConfigurationSet(config))],
      conditions: { StringLike: { 'ses:FromAddress': newsletterSenders(config) } },
    }),
    resource: identities,
    reason:
      "SES authorises the recipient's identity too where it is verified in the account, as in the sandbox; " +
      'ses:FromAddress restricts whom it may send as.',
  };
}
