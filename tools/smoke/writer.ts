import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CfnOutput } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { NotificationRetryStack } from '../../lib/notification-retry-stack.ts';

/** The output with the name of the function that writes rows as a producer does. */
export const WRITER_OUTPUT = 'SmokeWriterFunction';

/** What the writer's function answers: whether IAM let it put the item. */
export type PutAnswer = { readonly put: true } | { readonly put: false; readonly message: string };

const PUT = `
const { DynamoDBClient, PutItemCommand } = require('@aws-sdk/client-dynamodb');
const dynamodb = new DynamoDBClient({});
exports.handler = async (Item) => {
  try {
    await dynamodb.send(new PutItemCommand({ TableName: process.env.TABLE_NAME, Item }));
    return { put: true };
  } catch (error) {
    if (error.name !== 'AccessDeniedException') throw error;
    return { put: false, message: error.message };
  }
};`;

/** A function that puts the item it is invoked with, and has exactly the rights that docs/reference/handing-over.md gives to writers. */
export function addWriter(stack: NotificationRetryStack): void {
  const { tables, encryption } = stack.notificationRetry;
  const writer = new LambdaFunction(stack, 'SmokeWriter', {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline(PUT),
    environment: { TABLE_NAME: tables.log.tableName },
  });
  writer.addToRolePolicy(PolicyStatement.fromJson({ ...writerPolicy(), Resource: tables.log.tableArn }));
  encryption.dataKey.grant(writer, 'kms:GenerateDataKey', 'kms:Decrypt');
  new CfnOutput(stack, WRITER_OUTPUT, { value: writer.functionName });
}

const HANDING_OVER = join(import.meta.dirname, '..', '..', 'docs', 'reference', 'handing-over.md');

/** The documented policy for writers of NotificationLog. */
export interface WriterPolicy {
  readonly Effect: string;
  readonly Action: readonly string[];
  readonly Condition: {
    readonly 'ForAllValues:StringEquals': { readonly 'dynamodb:Attributes': readonly string[] };
    readonly Null: Readonly<Record<string, string>>;
  };
}

/** The policy as an administrator copies it from docs/reference/handing-over.md, section "Rights of writers". */
export function writerPolicy(): WriterPolicy {
  const json = /### Rights of writers.*?```json\n(.*?)```/s.exec(readFileSync(HANDING_OVER, 'utf8'))?.[1] ?? '{}';
  const { Statement: [statement] = [] } = JSON.parse(json) as { readonly Statement?: readonly WriterPolicy[] };
  if (statement === undefined) throw new Error('docs/reference/handing-over.md, "Rights of writers", has no policy.');
  return statement;
}
