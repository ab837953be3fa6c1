import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** The rights to list, read and change the bulk operations, and no other item of PipelineState. */
export function useOperations(pipelineState: Table, kinds: readonly string[]): PolicyStatement {
  return new PolicyStatement({
    actions: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
    resources: [pipelineState.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [...kinds] } },
  });
}
