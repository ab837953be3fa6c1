import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { limits, STORAGE_LIMITS } from './request-limits.ts';

/** Storage retries by itself, slowing down when it is throttled: nothing is gained by failing early. */
export function createDynamoDb(): DynamoDBClient {
  return new DynamoDBClient({ retryMode: 'adaptive', maxAttempts: 5, requestHandler: STORAGE_LIMITS });
}

/** For the API, whose caller waits: it would rather be told to come back than be left without an answer. */
export function createApiDynamoDb(): DynamoDBClient {
  return new DynamoDBClient({ maxAttempts: 3, requestHandler: limits(2_000) });
}
