import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** The least that every function has to import (design §9). */
export const client = new DynamoDBClient({});
