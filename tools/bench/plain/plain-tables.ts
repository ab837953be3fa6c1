import type { CreateTableCommandInput, ScanCommandInput } from '@aws-sdk/client-dynamodb';

/**
 * The plain reading of batch-952-notification-retry.md: one table whose rows hold content and state, and one table for
 * the retry log, each with the primary key of the document. The indexes of the table document are left out, which
 * favours the plain reading: each index would increase the cost of its writes.
 */
export const PLAIN_TABLES = { log: 'PlainNotificationLog', retry_log: 'PlainNotificationRetryLog' } as const;
export const PLAIN_QUEUE = 'plain-retry-queue';

export const PLAIN_TABLE_INPUTS: readonly CreateTableCommandInput[] = [
  tableWithKey(PLAIN_TABLES.log, 'log_id'),
  tableWithKey(PLAIN_TABLES.retry_log, 'retry_log_id'),
];

function tableWithKey(TableName: string, AttributeName: string): CreateTableCommandInput {
  return {
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName, AttributeType: 'S' }],
    KeySchema: [{ AttributeName, KeyType: 'HASH' }],
  };
}

/** §2 of the job's document, リトライ対象通知取得: every failed or pending row that is due. */
export function plainScan(TableName: string, now: Date): ScanCommandInput {
  return {
    TableName,
    FilterExpression:
      'send_status IN (:failed, :pending) AND (attribute_not_exists(next_retry_at) OR next_retry_at <= :now)',
    ExpressionAttributeValues: {
      ':failed': { S: 'FAILED' },
      ':pending': { S: 'PENDING' },
      ':now': { S: now.toISOString() },
    },
  };
}
