import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { IGNORED_BY_DYNAMODB, lean, limits } from './lean.ts';

/** For the API: its caller waits, and an early "try again later" is better for the caller than no answer. */
export function createApiDynamoDb(): DynamoDBClient {
  return lean(new DynamoDBClient({ maxAttempts: 3, requestHandler: limits(2_000) }), IGNORED_BY_DYNAMODB);
}
