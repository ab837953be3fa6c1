import { Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { BREAKER_KIND, BUDGET_KIND, RATE_PREFIX, SENDERS_PREFIX } from '../../../src/adapters/dynamodb/schema.ts';
import { SEALED } from '../../../src/core/model/notification.ts';
import type { StageConfig } from '../../config/stage-config.ts';
import type { Encryption } from '../storage/encryption.ts';
import type { NotificationTables } from '../storage/tables.ts';
import type { WildcardPermission } from './nag-acknowledgements.ts';

/** Allows exactly these actions on exactly these resources. */
export function allow(actions: readonly string[], resources: readonly string[]): PolicyStatement {
  return new PolicyStatement({ actions: [...actions], resources: [...resources] });
}

/** Allows exactly these actions of DynamoDB on a table. */
export function on({ tableArn }: Table, ...actions: readonly string[]): PolicyStatement {
  return allow(
    actions.map((action) => `dynamodb:${action}`),
    [tableArn],
  );
}

/** The right to read these columns of an item, its key among them, and no others. */
export function readColumns({ tableArn }: Table, columns: readonly string[]): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:GetItem'],
    resources: [tableArn],
    conditions: {
      'ForAllValues:StringEquals': { 'dynamodb:Attributes': [...columns] },
      StringEqualsIfExists: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
      // ForAllValues alone is true for a request that names no column.
      Null: { 'dynamodb:Attributes': 'false' },
    },
  });
}

/** The right to the key of the tables. DynamoDB uses the key in the caller's name, for reads and for writes. */
export function useTableKey(dataKey: IKey): PolicyStatement {
  return useKeyBy('dynamodb', dataKey, ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey']);
}

/**
 * The right to a key in a service's hands only: where a stage has one key for all (`encryptionKeyArn`), who reads its
 * tables or queues must not open recipients with it.
 */
export function useKeyBy(
  service: string,
  { keyArn, stack }: Pick<IKey, 'keyArn' | 'stack'>,
  actions: readonly string[],
): PolicyStatement {
  const conditions = { StringEquals: { 'kms:ViaService': viaService(service, stack) } };
  return new PolicyStatement({ actions: [...actions], resources: [keyArn], conditions });
}

/** Its names everywhere, and in China. */
export function viaService(service: string, { region }: Stack): string[] {
  return [`${service}.${region}.amazonaws.com`, `${service}.${region}.amazonaws.com.cn`];
}

/** What SQS and SNS need of their callers where a key of a team encrypts messages. */
export const SEND_ENCRYPTED = ['kms:Decrypt', 'kms:GenerateDataKey'] as const;

/** What a role needs beside its rights on a service's resources, where a team's key encrypts these. */
export function useKeyOf(service: string, scope: Construct, { encryptionKeyArn }: StageConfig): PolicyStatement[] {
  if (encryptionKeyArn === undefined) return [];
  return [useKeyBy(service, { keyArn: encryptionKeyArn, stack: Stack.of(scope) }, SEND_ENCRYPTED)];
}

type SealPurpose = (typeof SEALED)[keyof typeof SEALED];

/** The rights to open recipients: to read their data keys, and to have KMS unwrap these and no others. */
export function openRecipients(
  { recipientKey }: Encryption,
  { dataKeys }: NotificationTables,
  purpose: SealPurpose = SEALED.recipients,
): PolicyStatement[] {
  return [on(dataKeys, 'GetItem'), forPurpose(['kms:Decrypt'], recipientKey, purpose)];
}

/** To seal recipients, and to open them. The first who seals for a tenant in a month makes the data key. */
export function sealRecipients(
  { recipientKey }: Encryption,
  { dataKeys }: NotificationTables,
  purpose: SealPurpose = SEALED.recipients,
): PolicyStatement[] {
  return [
    on(dataKeys, 'GetItem', 'PutItem'),
    forPurpose(['kms:Decrypt', 'kms:GenerateDataKey'], recipientKey, purpose),
  ];
}

/** KMS takes the purpose from the encryption context, which is authenticated with the wrapped key. */
function forPurpose(actions: readonly string[], recipientKey: IKey, purpose: SealPurpose): PolicyStatement {
  return new PolicyStatement({
    actions: [...actions],
    resources: [recipientKey.keyArn],
    conditions: { StringEquals: { 'kms:EncryptionContext:purpose': purpose } },
  });
}

/** The right to decrypt secrets that are encrypted with the recipient key, by way of Secrets Manager only. */
export function decryptSecrets({ recipientKey }: Encryption): PolicyStatement {
  return useKeyBy('secretsmanager', recipientKey, ['kms:Decrypt']);
}

/** The rights to read these secrets, which are encrypted with the recipient key. */
export function readSecrets(encryption: Encryption, ...secrets: readonly Secret[]): PolicyStatement[] {
  const arns = secrets.map(({ secretArn }) => secretArn);
  return [decryptSecrets(encryption), allow(['secretsmanager:GetSecretValue'], arns)];
}

/** The rights to read and change the breakers and the budgets, and no other item of PipelineState. */
export function useBreakersAndBudgets(pipelineState: Table): PolicyStatement {
  const actions = ['dynamodb:Query', 'dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem'];
  return ofKinds(pipelineState, actions, [BREAKER_KIND, BUDGET_KIND]);
}

/** The right to read items of these kinds, and no other item of PipelineState. */
export function readKinds(pipelineState: Table, ...kinds: readonly string[]): PolicyStatement {
  return ofKinds(pipelineState, ['dynamodb:GetItem'], kinds);
}

/** The rights to read and change items of these kinds, and no other item of PipelineState. */
export function useKinds(pipelineState: Table, ...kinds: readonly string[]): PolicyStatement {
  return ofKinds(pipelineState, ['dynamodb:GetItem', 'dynamodb:UpdateItem'], kinds);
}

function ofKinds(pipelineState: Table, actions: readonly string[], kinds: readonly string[]): PolicyStatement {
  return new PolicyStatement({
    actions: [...actions],
    resources: [pipelineState.tableArn],
    conditions: onKeys('StringEquals', kinds),
  });
}

/** ForAllValues alone is true for a request that names no key. */
function onKeys(operator: 'StringEquals' | 'StringLike' | 'StringNotLike', keys: readonly string[]) {
  return {
    [`ForAllValues:${operator}`]: { 'dynamodb:LeadingKeys': [...keys] },
    Null: { 'dynamodb:LeadingKeys': 'false' },
  };
}

/** The right to hand a role to a service, and to no other. */
export function passRole(roleArn: string, service: string): PolicyStatement {
  const conditions = { StringEquals: { 'iam:PassedToService': service } };
  return new PolicyStatement({ actions: ['iam:PassRole'], resources: [roleArn], conditions });
}

/** The right to count requests per API key. It covers no other item of PipelineState. */
export function countRequests(pipelineState: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: onKeys('StringLike', [`${RATE_PREFIX}*`]),
  });
}

/**
 * The right to make and change newsletters, but not as whom tenants may write: only operators change those items, and a
 * function that somebody got hold of must not let itself write as anybody. Each UpdateItem names a key to look at.
 */
export function changeNewsletters(newsletters: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [newsletters.tableArn],
    conditions: onKeys('StringNotLike', [`${SENDERS_PREFIX}*`]),
  });
}

/** The rights to read and add records of the audit log, and to keep and let go the answers of requests: no record can be deleted. */
export function useAudit({ tableArn }: Table): PolicyStatement[] {
  return [
    allow(['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PutItem'], [tableArn]),
    new PolicyStatement({
      actions: ['dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
      resources: [tableArn],
      conditions: onKeys('StringLike', ['request#*']),
    }),
  ];
}

export function queryIndexes({ tableArn }: Table, ...indexes: readonly string[]): PolicyStatement {
  return allow(
    ['dynamodb:Query'],
    indexes.map((index) => `${tableArn}/index/${index}`),
  );
}

/** What Lambda does in the name of a function's role to put the function into a network. */
export const useInterfaces = () =>
  allow(
    [
      'ec2:AssignPrivateIpAddresses',
      'ec2:CreateNetworkInterface',
      'ec2:DeleteNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:UnassignPrivateIpAddresses',
    ],
    ['*'],
  );

export function networkRights({ vpc }: Pick<StageConfig, 'vpc'>): WildcardPermission[] {
  const reason = 'Lambda makes the network interfaces of a function, which have no names before.';
  return vpc === undefined ? [] : [{ statement: useInterfaces(), resource: '*', reason }];
}
