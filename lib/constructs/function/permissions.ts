import { Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';
import { BREAKER_KIND, BUDGET_KIND, RATE_KIND } from '../../../src/adapters/dynamodb/schema.ts';

/** Allows exactly these actions on exactly these resources. */
export function allow(actions: readonly string[], resources: readonly string[]): PolicyStatement {
  return new PolicyStatement({ actions: [...actions], resources: [...resources] });
}

/** The right to the key of the tables. DynamoDB uses the key in the caller's name, for reads and for writes. */
export function useTableKey(dataKey: Key): PolicyStatement {
  return allow(['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'], [dataKey.keyArn]);
}

/** The rights to encrypt recipients and to read the secret of their hash; they do not decrypt recipients. */
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

/** The rights to read and change the breakers and the budgets, and no other item of PipelineState. */
export function useBreakersAndBudgets(pipelineState: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [BREAKER_KIND, BUDGET_KIND] } },
  });
}

/** The right to count requests per API key. It covers no other item of PipelineState. */
export function countRequests(pipelineState: Table): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [RATE_KIND] } },
  });
}
