import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** What every function has to import at least (design §9). */
export const client = new DynamoDBClient({});
