import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';

const client = new DynamoDBClient({});

/** A single call of the SDK. Its CPU time tells how fast the machine is. */
export async function handler({ table, log_id }: { readonly table: string; readonly log_id: string }): Promise<void> {
  await client.send(new GetItemCommand({ TableName: table, Key: { log_id: { S: log_id } } }));
}
