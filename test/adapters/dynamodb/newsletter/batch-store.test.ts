import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { expect, it, vi } from 'vitest';
import { createBatchStore } from '../../../../src/adapters/dynamodb/newsletter/batch-store.ts';

it('tells its caller of a read that is refused while the query is under way, and ends no process', async () => {
  const client = new DynamoDBClient({ region: 'us-east-1' });
  const query = Promise.withResolvers<object>();
  vi.spyOn(client, 'send').mockImplementation(async (command: object) => {
    if (command instanceof GetItemCommand) throw new Error('refused');
    return query.promise;
  });
  const nobody = vi.fn();
  process.on('unhandledRejection', nobody);
  try {
    const listed = createBatchStore(client, 'email_batches', () => new Date()).list('email-1');
    const told = expect(listed).rejects.toThrow('refused');
    await new Promise(setImmediate);
    query.resolve({ Items: [] });
    await told;
    expect(nobody).not.toHaveBeenCalled();
  } finally {
    process.off('unhandledRejection', nobody);
  }
});
