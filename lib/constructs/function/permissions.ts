import { Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import {
  BREAKER_KIND,
  BUDGET_KIND,
  RATE_PREFIX,
  SHARDS_KIND,
  WARMING_KIND,
} from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/notification-tables.ts';

/** Allows exactly these actions on exactly these resources. */
export function allow(actions: readonly string[], resources: readonly string[]): PolicyStatement {
  return new PolicyStatement({ actions: [...actions], resources: [...resources] });
}

/** The right to the key of the tables. DynamoDB uses the key in the caller's name, for reads and for writes. */
export function useTableKey(dataKey: Key): PolicyStatement {
  return allow(['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'], [dataKey.keyArn]);
}

type SealPurpose = (typeof SEALED)[keyof typeof SEALED];

/** The rights to open recipients: to read their data keys, and to have KMS unwrap these and no others. */
export function openRecipients(
  { recipientKey }: Encryption,
  { dataKeys }: NotificationTables,
  purpose: SealPurpose = SEALED.recipients,
): PolicyStatement[] {
  return [allow(['dynamodb:GetItem'], [dataKeys.tableArn]), forPurpose(['kms:Decrypt'], recipientKey, purpose)];
}

/**
 * The rights to seal recipients, and to open them. The first who seals for a tenant in a month makes the data key, the
 * others unwrap it.
 */
export function sealRecipients(
  { recipientKey }: Encryption,
  { dataKeys }: NotificationTables,
  purpose: SealPurpose = SEALED.recipients,
): PolicyStatement[] {
  return [
    allow(['dynamodb:GetItem', 'dynamodb:PutItem'], [dataKeys.tableArn]),
    forPurpose(['kms:Decrypt', 'kms:GenerateDataKey'], recipientKey, purpose),
  ];
}

/** KMS takes the purpose from the encryption context, which is authenticated with the wrapped key. */
function forPurpose(actions: readonly string[], recipientKey: Key, purpose: SealPurpose): PolicyStatement {
  return new PolicyStatement({
    actions: [...actions],
    resources: [recipientKey.keyArn],
    conditions: { StringEquals: { 'kms:EncryptionContext:purpose': purpose } },
  });
}

/** The right to decrypt secrets that are encrypted with the recipient key, by way of Secrets Manager only. */
export function readSecrets({ recipientKey }: Encryption): PolicyStatement {
  const { region } = Stack.of(recipientKey);
  return new PolicyStatement({
    actions: ['kms:Decrypt'],
    resources: [recipientKey.keyArn],
    conditions: { StringEquals: { 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` } },
  });
}

/** The rights to read and change the breakers and the budgets, and no other item of PipelineState. */
export function useBreakersAndBudgets(pipelineState: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:Query', 'dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [BREAKER_KIND, BUDGET_KIND] } },
  });
}

/** The right to read the budgets and the number of index shards, and no other item of PipelineState. */
export function readBudgetsAndShards(pipelineState: Table): PolicyStatement {
  return readKinds(pipelineState, [BUDGET_KIND, SHARDS_KIND]);
}

/** The rights to read and change the budgets, and no other item of PipelineState. */
export function useBudgets(pipelineState: Table): PolicyStatement {
  return useKind(pipelineState, BUDGET_KIND);
}

/** The rights to read and change the warming of sending domains, and no other item of PipelineState. */
export function useWarming(pipelineState: Table): PolicyStatement {
  return useKind(pipelineState, WARMING_KIND);
}

/** The rights to read and raise the number of index shards, and no other item of PipelineState. */
export function useShards(pipelineState: Table): PolicyStatement {
  return useKind(pipelineState, SHARDS_KIND);
}

/** The right to read the number of index shards, and no other item of PipelineState. */
export function readShards(pipelineState: Table): PolicyStatement {
  return readKinds(pipelineState, [SHARDS_KIND]);
}

function readKinds(pipelineState: Table, kinds: readonly string[]): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:GetItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': kinds } },
  });
}

/** The rights to read and change items of this kind, and no other item of PipelineState. */
export function useKind(pipelineState: Table, kind: string): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [kind] } },
  });
}

/** The right to count requests per API key. It covers no other item of PipelineState. */
export function countRequests(pipelineState: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [`${RATE_PREFIX}*`] } },
  });
}
