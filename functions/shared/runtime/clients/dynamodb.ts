import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { limits, STORAGE_LIMITS } from './request-limits.ts';
import { withoutLog } from './without-log.ts';

/**
 * The client retries by itself: failing early gains nothing. Each call backs off for itself (`standard`): the adaptive
 * mode would slow all calls of the instance down because of one hot key (docs/decisions/0127).
 */
export function createDynamoDb(): DynamoDBClient {
  return lean(new DynamoDBClient({ retryMode: 'standard', maxAttempts: 5, requestHandler: STORAGE_LIMITS }));
}

/** For the API: its caller waits, and an early "try again later" is better for the caller than no answer. */
export function createApiDynamoDb(): DynamoDBClient {
  return lean(new DynamoDBClient({ maxAttempts: 3, requestHandler: limits(2_000) }));
}

/** Costs CPU at each call, for nothing here: the SDK's name, and the trace id by which Lambda, SQS and SNS notice loops. */
const NEEDLESS = ['getUserAgentMiddleware', 'recursionDetectionMiddleware'];

function lean(client: DynamoDBClient): DynamoDBClient {
  for (const name of NEEDLESS) client.middlewareStack.remove(name);
  return withoutLog(client);
}
