import { DynamoDBClient, GetItemCommand, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { expect, it, vi } from 'vitest';
import { createBatchStore } from '../../../../src/adapters/dynamodb/newsletter/batch-store.ts';
import { createEmailStore } from '../../../../src/adapters/dynamodb/newsletter/email-store.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';
import { emailContent, emailRow } from '../../../support/newsletter/job-rows.ts';

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

it.each([
  [1, 2, expect.objectContaining({ email_id: 'email-1' })],
  [4, 4, expect.objectContaining({ problem: 'unavailable' })],
])('a publication that meets %d transactions of its key is tried %d times', async (conflicts, tries, expected) => {
  const client = new DynamoDBClient({ region: 'us-east-1' });
  let sent = 0;
  vi.spyOn(client, 'send').mockImplementation(async (command: object) => {
    if (command instanceof GetItemCommand)
      return { ConsumedCapacity: {}, ...(sent > conflicts && { Item: toItem({ ...emailRow() }) }) };
    if (++sent > conflicts) return {};
    const CancellationReasons = [{ Code: 'TransactionConflict' }, { Code: 'None' }];
    throw new TransactionCanceledException({ message: 'conflict', $metadata: {}, CancellationReasons });
  });
  vi.useFakeTimers();
  const created = createEmailStore(client, 'emails', () => new Date())
    .create(emailRow(), emailContent())
    .catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await created).toEqual(expected);
  expect(sent).toBe(tries);
  vi.useRealTimers();
});
