import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { limits, STORAGE_LIMITS } from './request-limits.ts';
import { withoutLog } from './without-log.ts';

/** The client retries by itself and slows down when DynamoDB throttles it: failing early gains nothing. */
export function createDynamoDb(): DynamoDBClient {
  return withoutLog(new DynamoDBClient({ retryMode: 'adaptive', maxAttempts: 5, requestHandler: STORAGE_LIMITS }));
}

/** For the API: its caller waits, and an early "try again later" is better for the caller than no answer. */
export function createApiDynamoDb(): DynamoDBClient {
  return withoutLog(new DynamoDBClient({ maxAttempts: 3, requestHandler: limits(2_000) }));
}
