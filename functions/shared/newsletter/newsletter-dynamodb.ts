import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createDynamoDb } from '../runtime/clients/dynamodb.ts';
import { plainJson } from './plain-json.ts';

/** The operations of which a newsletter has many. TransactWriteItems has an idempotency token, so it is none of them. */
const PLAIN = ['GetItem', 'Query', 'UpdateItem', 'PutItem', 'BatchGetItem', 'BatchWriteItem'];

/** DynamoDB for functions that read and write much in each call: pages of members, chunks of recipients. */
export function createNewsletterDynamoDb(): DynamoDBClient {
  return plainJson(createDynamoDb(), PLAIN);
}
