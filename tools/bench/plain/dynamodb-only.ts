import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** The least that every function has to import (docs/architecture.md, budget). */
export const client = new DynamoDBClient({});
