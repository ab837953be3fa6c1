import { describe, expect, it } from 'vitest';
import { createBatchStore } from '../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createChunkStore } from '../../src/adapters/dynamodb/newsletter/chunk-store.ts';
import { createEmailStore } from '../../src/adapters/dynamodb/newsletter/email-store.ts';
import { createEventStore } from '../../src/adapters/dynamodb/newsletter/event-store.ts';
import {
  type ChunkSealer,
  openRecipients,
  sealRecipients,
} from '../../src/adapters/dynamodb/newsletter/recipient-seal.ts';
import { MemoryChunks } from '../../src/adapters/memory/newsletter/memory-chunks.ts';
import { MemoryEmails } from '../../src/adapters/memory/newsletter/memory-emails.ts';
import { chunkOf, recipient } from '../support/newsletter/job-rows.ts';
import { newsletterJobSuite } from './newsletter-job-suite.ts';
import { describeOnDynamoDb } from './on-dynamodb.ts';

const clock = () => new Date();

/** Binds a text to its owner, without encrypting it. */
const sealer: ChunkSealer = {
  seal: async (owner, text) => JSON.stringify([owner, text]),
  async open(owner, sealed) {
    const [of, text] = JSON.parse(sealed);
    expect(of).toEqual(owner);
    return text;
  },
};

describe('storage of newsletters in memory', () => {
  const { emails, batches, events } = new MemoryEmails(clock);
  const { store: chunks } = new MemoryChunks();
  newsletterJobSuite(() => ({ emails, batches, events, chunks }));
});

describeOnDynamoDb(
  'storage of newsletters',
  ({ client, tables }) => ({
    emails: createEmailStore(client, tables.emails, clock),
    batches: createBatchStore(client, tables.email_batches, clock),
    chunks: createChunkStore(client, { table: tables.email_recipients, sealer, clock }),
    events: createEventStore(client, tables.email_batches, clock),
  }),
  newsletterJobSuite,
);

describe('sealed recipients', () => {
  it('open as they were, in less than 5 KB for a full chunk', async () => {
    const uuid = () => crypto.randomUUID();
    const recipients = Array.from({ length: 50 }, (_, n) =>
      recipient(n, {
        member_uuid: uuid(),
        member_email: `first.last${n}@example-${n % 9}.com`,
        ...(n % 2 === 0 && { member_name: `名前 ${n}` }),
      }),
    );
    const chunk = chunkOf(0, { recipients });
    const sealed = await sealRecipients(chunk, sealer);
    expect(await openRecipients(chunk, sealed, sealer)).toEqual(recipients);
    // Encryption adds a third (base64url), and about 200 bytes.
    expect((sealed.length * 4) / 3 + 200).toBeLessThan(5 * 1024);
  });
});
