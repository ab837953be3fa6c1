import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand, SetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { QueuePlan } from '../emulator/template/plan.ts';
import { LOCAL_ACCOUNT } from '../emulator/template/references.ts';

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

/** Creates the missing queues. Existing queues get the template's attributes and keep their messages. */
export async function createQueues(client: SQSClient, endpoint: string, queues: readonly QueuePlan[]): Promise<void> {
  for (const queue of queues) {
    const attributes = { ...queue.attributes };
    try {
      await client.send(new CreateQueueCommand({ QueueName: queue.name, Attributes: attributes }));
    } catch (error) {
      // The stand-in puts the service's name before the error's name, so the SDK does not recognise its class.
      if (!(error instanceof Error && error.name.endsWith('QueueNameExists'))) throw error;
      const QueueUrl = queueUrl(endpoint, queue.name);
      await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: attributes }));
    }
  }
}

/**
 * A queue's URL. The URLs in the stand-in's answers have a host that few machines resolve (`sqs.us-east-1.localhost`)
 * and, with a data directory, the port of an earlier run. The stand-in accepts any host.
 */
export const queueUrl = (endpoint: string, name: string): string => `${endpoint}/${LOCAL_ACCOUNT}/${name}`;
