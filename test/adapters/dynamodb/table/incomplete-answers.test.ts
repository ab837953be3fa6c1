import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { GatheredError } from '../../../../src/adapters/batching/gather.ts';
import { getItem, getItems, itemReader, query, rowsById, scan } from '../../../../src/adapters/dynamodb/table/reads.ts';
import { executeStatements } from '../../../../src/adapters/dynamodb/table/statements.ts';
import { writeItems } from '../../../../src/adapters/dynamodb/table/writes.ts';

const answering = (...answers: readonly object[]) => {
  let calls = 0;
  return { send: async () => answers[Math.min(calls++, answers.length - 1)] } as unknown as DynamoDBClient;
};
const key = { log_id: { S: 'a' } };
const EMPTY = {};

it.each<[string, (client: DynamoDBClient) => Promise<unknown>]>([
  ['BatchGetItem', (client) => getItems(client, 't', [key], { consistent: true })],
  ['BatchGetItem of rows', (client) => rowsById(client, 't', ['a'])],
  ['BatchGetItem of content', (client) => itemReader(client, 't', { consistent: true })('a')],
  ['GetItem', (client) => getItem(client, 't', key)],
  ['BatchWriteItem', (client) => writeItems(client, 't', [{ PutRequest: { Item: key } }])],
  ['Query', (client) => query(client, { table: 't', key: { log_id: 'a' } })],
  ['Scan', (client) => scan(client, { TableName: 't' })],
])('an empty answer to %s is a failed call, and nothing that is absent or written', async (_, call) => {
  await expect(call(answering(EMPTY))).rejects.toThrow(/incomplete/);
});

it('an answer without an item, as DynamoDB gives it, is no item', async () => {
  expect(await getItem(answering({ ConsumedCapacity: { CapacityUnits: 0.5 } }), 't', key)).toBeUndefined();
  const none = { Responses: { t: [] }, UnprocessedKeys: {} };
  expect(await getItems(answering(none), 't', [key], { consistent: true })).toEqual([]);
  expect(await query(answering({ Items: [], Count: 0 }), { table: 't', key: { log_id: 'a' } })).toMatchObject({
    items: [],
  });
});

it.each([
  ['none', EMPTY],
  ['fewer results than statements', { Responses: [{}] }],
])('statements with %s are not taken for applied', async (_, answer) => {
  const statements = [{ Statement: 'UPDATE "t" SET a = 1' }, { Statement: 'UPDATE "t" SET a = 2' }];
  const results = await executeStatements(answering(answer), statements);
  expect(results).toEqual([expect.any(GatheredError), expect.any(GatheredError)]);
});
