import { Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { BUDGET_KIND, TENANT_EMAILS_INDEX } from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { CONFIGURATION_SETS } from '../../../src/core/newsletter/model/provider.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { WildcardPermission } from '../function/nag-acknowledgements.ts';
import {
  allow,
  countRequests,
  on,
  openRecipients,
  queryIndexes,
  readSecrets,
  useKinds,
} from '../function/permissions.ts';
import { asSent, senderAddressOf } from '../lanes/email-provider.ts';
import type { NewsletterRecipients } from './job-access.ts';

/**
 * The configuration set of newsletters that tracks opens and clicks, after which the others are named
 * (CONFIGURATION_SETS). They are apart from that of notifications: their events go to other functions.
 */
export function newsletterConfigurationSet({ stage }: Pick<StageConfig, 'stage'>): string {
  return `notification-retry-${stage}-newsletters`;
}

/** Patterns of the From addresses of newsletters: those of the configuration, or the domain of the stage's sender. */
function newsletterSenders(config: StageConfig): readonly string[] {
  const { senders } = config.newsletter;
  return senders.length > 0 ? senders.map(asSent) : [senderAddressOf(config).replace(/^.*@/, '*@')];
}

/**
 * The rights of a call of SES v2's SendBulkEmail. SES authorises it under two names, each of which needs identity,
 * configuration set and template (an inline one has no name). Only the older name knows a condition on the sender; a
 * condition that an action does not know allows nothing (docs/decisions/newsletters/on-aws.md#0107). Whether SES sets
 * the key when the call comes by v2 is not documented, so the condition holds where it does.
 */
export function allowBulk(scope: Construct, config: StageConfig): readonly WildcardPermission[] {
  const arn = (resource: string, resourceName: string) =>
    Stack.of(scope).formatArn({ service: 'ses', resource, resourceName });
  const [identities, templates] = [arn('identity', '*'), arn('template', '*')];
  const set = newsletterConfigurationSet(config);
  const sets = CONFIGURATION_SETS.map(({ suffix }) => arn('configuration-set', `${set}${suffix}`));
  const resources = [identities, templates, ...sets];
  return [
    {
      statement: allow(['ses:SendBulkEmail'], resources),
      resource: identities,
      reason:
        "SES authorises the recipient's identity too where it is verified in the account, as in the sandbox; " +
        'ses:SendBulkEmail has no condition on the sender.',
    },
    {
      statement: new PolicyStatement({
        actions: ['ses:SendBulkTemplatedEmail'],
        resources,
        conditions: { StringLikeIfExists: { 'ses:FromAddress': newsletterSenders(config) } },
      }),
      resource: templates,
      reason: 'SES requires a right to a template, and the template of a newsletter is inline: it has no name.',
    },
  ];
}

/**
 * What a function needs that publishes emails, says who would get one, sends tests and decides about recipients, whoever
 * asks for it. Beside it: which newsletters it reads, the key of the tables, the queues, and `allowBulk`.
 */
export function emailRights(
  scope: Construct,
  { encryption, tables, newsletterTables: { emails, batches, recipients, members } }: NewsletterRecipients,
) {
  const identities = Stack.of(scope).formatArn({ service: 'ses', resource: 'identity', resourceName: '*' });
  return [
    on(emails, 'GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'),
    queryIndexes(emails, TENANT_EMAILS_INDEX),
    allow(['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [batches.tableArn, recipients.tableArn]),
    // Who would get a draft, and whether an address of a test is suppressed.
    on(members, 'Query', 'BatchGetItem'),
    // Test mails are counted, and take from the rate.
    countRequests(tables.pipelineState),
    useKinds(tables.pipelineState, BUDGET_KIND),
    ...openRecipients(encryption, tables, SEALED.members),
    ...readSecrets(encryption, encryption.recipientHashSecret),
    allow(['ses:GetEmailIdentity'], [identities]),
  ];
}
