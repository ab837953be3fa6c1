import type { Construct } from 'constructs';
import type { UnsubscribeEnv } from '../../../functions/shared/runtime/newsletter-env.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import { allow, openRecipients, readSecrets, useTableKey } from '../function/permissions.ts';
import { ServiceFunction } from '../function/service-function.ts';
import { API_TIMEOUT, type IntakeApiProps } from './intake-api-props.ts';

/** The function behind the unsubscribe links, which need no API key. */
export function unsubscribeFunction(
  scope: Construct,
  { config, tables, newsletterTables, encryption }: IntakeApiProps,
): ServiceFunction {
  const { emails, batches, recipients, members } = newsletterTables;
  const { recipientHashSecret, unsubscribeSecret } = encryption;
  return new ServiceFunction(scope, 'Unsubscribe', {
    config,
    name: 'unsubscribe',
    description: 'Unsubscribes members by the signed links of their mails',
    timeout: API_TIMEOUT,
    environment: {
      EMAILS_TABLE: emails.tableName,
      EMAIL_BATCHES_TABLE: batches.tableName,
      EMAIL_RECIPIENTS_TABLE: recipients.tableName,
      MEMBERS_TABLE: members.tableName,
      DATA_KEYS_TABLE: tables.dataKeys.tableName,
      RECIPIENT_KEY_ARN: encryption.recipientKey.keyArn,
      RECIPIENT_HASH_SECRET: recipientHashSecret.secretArn,
      UNSUBSCRIBE_SECRET: unsubscribeSecret.secretArn,
    } satisfies UnsubscribeEnv,
    permissions: [
      allow(['dynamodb:GetItem'], [emails.tableArn, recipients.tableArn]),
      allow(['dynamodb:GetItem', 'dynamodb:UpdateItem'], [batches.tableArn]),
      allow(['dynamodb:BatchGetItem', 'dynamodb:UpdateItem'], [members.tableArn]),
      useTableKey(encryption.dataKey),
      ...openRecipients(encryption, tables, SEALED.members),
      readSecrets(encryption),
      allow(['secretsmanager:GetSecretValue'], [recipientHashSecret.secretArn, unsubscribeSecret.secretArn]),
    ],
  });
}
