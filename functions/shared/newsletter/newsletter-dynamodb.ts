import { type DynamoDBClient, GetItemCommand, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { BATCHES, createDynamoDb } from '../runtime/clients/dynamodb.ts';

/**
 * What the newsletter functions do for each page of members and each call of 50 recipients. An update whose condition
 * fails is made again by the SDK, which gives it its typed error. That is rare: one sender at a time has a batch.
 */
export const NEWSLETTER_CALLS = {
  ...BATCHES,
  GetItem: GetItemCommand,
  Query: QueryCommand,
  UpdateItem: UpdateItemCommand,
};

export function createNewsletterDynamoDb(): DynamoDBClient {
  return createDynamoDb(NEWSLETTER_CALLS);
}
