import { Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { BREAKER_KIND, RATE_KIND } from '../../../src/adapters/dynamodb/schema.ts';

/** Allows exactly these actions on exactly these resources. */
export function allow(actions: readonly string[], resources: readonly string[]): PolicyStatement {
  return new PolicyStatement({ actions: [...actions], resources: [...resources] });
}

/** DynamoDB opens a table's key in the caller's name, for reads and for writes. */
export function useTables(dataKey: Key): PolicyStatement {
  return allow(['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'], [dataKey.keyArn]);
}

/** Encrypts recipients, and reads the secret of their hash, which the same key protects; decrypts no recipient. */
export function encryptRecipients(recipientKey: Key): PolicyStatement[] {
  const { region } = Stack.of(recipientKey);
  return [
    allow(['kms:GenerateDataKey'], [recipientKey.keyArn]),
    new PolicyStatement({
      actions: ['kms:Decrypt'],
      resources: [recipientKey.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` } },
    }),
  ];
}

/** Looks at the breakers and makes their transitions; the rest of the pipeline's state is others'. */
export function useBreakers(pipelineState: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:Query', 'dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [BREAKER_KIND] } },
  });
}

/** Adds to the requests counted by key; the rest of the pipeline's state is others'. */
export function countRequests(pipelineState: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [RATE_KIND] } },
  });
}
