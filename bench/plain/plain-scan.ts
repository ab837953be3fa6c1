import type { ScanCommandInput } from '@aws-sdk/client-dynamodb';

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
