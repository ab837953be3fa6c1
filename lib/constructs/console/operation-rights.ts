import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { allow } from '../function/permissions.ts';

/** The rights to list, read and change the bulk operations, and no other item of PipelineState. */
export function useOperations(pipelineState: Table, kinds: readonly string[]): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [...kinds] } },
  });
}

/** The rights to read and add records, and to keep and let go the answers of requests: no record can be deleted. */
export function useAudit({ tableArn }: Table): PolicyStatement[] {
  return [
    allow(['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PutItem'], [tableArn]),
    new PolicyStatement({
      actions: ['dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
      resources: [tableArn],
      conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['request#*'] } },
    }),
  ];
}
