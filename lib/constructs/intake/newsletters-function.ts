import type { Construct } from 'constructs';
import type { ApiNewslettersEnv } from '../../../functions/shared/runtime/newsletter-env.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { allow, countRequests, readSecrets, sealRecipients, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { API_TIMEOUT, type IntakeApiProps } from './intake-api-props.ts';

/** The function behind the routes of newsletters and members. */
export function newslettersFunction(
  scope: Construct,
  { config, tables, newsletterTables, encryption }: IntakeApiProps,
): ServiceFunction {
  return new ServiceFunction(scope, 'Newsletters', {
    config,
    name: 'api-newsletters',
    description: 'Keeps newsletters and their members',
    timeout: API_TIMEOUT,
    environment: {
      NEWSLETTERS_TABLE: newsletterTables.newsletters.tableName,
      MEMBERS_TABLE: newsletterTables.members.tableName,
      PIPELINE_STATE_TABLE: tables.pipelineState.tableName,
      DATA_KEYS_TABLE: tables.dataKeys.tableName,
      RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
      RECIPIENT_HASH_SECRET: encryption.recipientHashSecret.secretArn,
    } satisfies ApiNewslettersEnv,
    permissions: [
      allow(['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:UpdateItem'], [newsletterTables.newsletters.tableArn]),
      // No Scan, and no Delete: a member that was deleted leaves a mark.
      allow(
        [
          'dynamodb:BatchGetItem',
          'dynamodb:Query',
          'dynamodb:PutItem',
          'dynamodb:UpdateItem',
          'dynamodb:PartiQLInsert',
          'dynamodb:PartiQLUpdate',
        ],
        [newsletterTables.members.tableArn],
      ),
      countRequests(tables.pipelineState),
      useTableKey(encryption.dataKey),
      ...sealRecipients(encryption, tables, SEALED.members),
      readSecrets(encryption),
      allow(['secretsmanager:GetSecretValue'], [encryption.recipientHashSecret.secretArn]),
    ],
  });
}
