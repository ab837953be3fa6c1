import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';

const client = new DynamoDBClient({});

/** One call of the SDK and nothing else: what a figure of CPU is worth depends on the machine, and this tells how fast it is. */
export async function handler({ table, log_id }: { readonly table: string; readonly log_id: string }): Promise<void> {
  await client.send(new GetItemCommand({ TableName: table, Key: { log_id: { S: log_id } } }));
}
