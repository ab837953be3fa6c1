import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { describe } from 'vitest';
import { createBatchStore, createChunkStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../../src/adapters/dynamodb/newsletter/event-store.ts';
import { MemoryChunks, MemoryEmails } from '../../tools/simulation/twins/newsletter-items.ts';
import { newsletterJobSuite } from './newsletter-job-suite.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

const clock = () => new Date();

function crashingBeforeSecondWrite(client: DynamoDBClient): DynamoDBClient {
  let writes = 0;
  const send = async (command: Parameters<DynamoDBClient['send']>[0]) => {
    if (!(command instanceof GetItemCommand) && writes++ > 0) throw new Error('crashed');
    return client.send(command);
  };
  return { config: client.config, send } as unknown as DynamoDBClient;
}

describe('storage of newsletters in memory', () => {
  const { emails, batches, events } = new MemoryEmails(clock);
  const { store: chunks } = new MemoryChunks();
  newsletterJobSuite(() => ({ emails, batches, events, chunks }));
});

describeOnDynamoDb(
  'storage of newsletters',
  ({ client, tables, sealer }) => ({
    emails: createEmailStore(client, tables.emails, clock),
    batches: createBatchStore(client, tables.email_batches, clock),
    chunks: createChunkStore(client, { table: tables.email_recipients, sealer, clock }),
    events: createEventStore(client, tables.email_batches, clock),
    crashing: createEmailStore(crashingBeforeSecondWrite(client), tables.emails, clock),
  }),
  newsletterJobSuite,
);
