import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';

/** Creates the missing tables. With a data directory the tables of an earlier run exist. */
export async function createTables(client: DynamoDBClient, tables: readonly CreateTableCommandInput[]): Promise<void> {
  await Promise.all(
    tables.map(async (table) => {
      try {
        await client.send(new CreateTableCommand(table));
      } catch (error) {
        if (!(error instanceof ResourceInUseException)) throw error;
      }
      await waitUntilTableExists({ client, maxWaitTime: 20, minDelay: 1 }, { TableName: table.TableName });
    }),
  );
}
