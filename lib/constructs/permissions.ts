import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Key } from 'aws-cdk-lib/aws-kms';

/** Allows exactly these actions on exactly these resources. */
export function allow(actions: readonly string[], resources: readonly string[]): PolicyStatement {
  return new PolicyStatement({ actions: [...actions], resources: [...resources] });
}

/** DynamoDB opens a table's key in the caller's name, for reads and for writes. */
export function useTables(dataKey: Key): PolicyStatement {
  return allow(['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'], [dataKey.keyArn]);
}

/** As useTables, for a function that only reads. */
export function readTables(dataKey: Key): PolicyStatement {
  return allow(['kms:Decrypt', 'kms:DescribeKey'], [dataKey.keyArn]);
}
