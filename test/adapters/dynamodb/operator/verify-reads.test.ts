import { DynamoDBClient, type QueryCommand } from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { createVerifyReads } from '../../../../src/adapters/dynamodb/operator/verify-reads.ts';
import { toItem } from '../../../../src/adapters/dynamodb/table/item.ts';

it('reads all records of a notification as they are now, however many pages they fill', async () => {
  const pages = [[0, 1], [2], [3]].map((numbers) => numbers.map((retry_attempt) => toItem({ retry_attempt })));
  const consistent: unknown[] = [];
  const client = new DynamoDBClient({ region: 'eu-west-1' });
  const send = async ({ input }: QueryCommand) => {
    consistent.push(input.ConsistentRead);
    const page = Number(input.ExclusiveStartKey?.['page']?.N ?? 0);
    const next = page + 1 < pages.length && { LastEvaluatedKey: toItem({ page: page + 1 }) };
    return { Items: pages[page], ConsumedCapacity: { CapacityUnits: 1 }, ...next };
  };
  Object.assign(client, { send });
  const tables = { notification_log: 'log', notification_content: 'content', notification_retry_log: 'records' };
  const { items, read_units } = await createVerifyReads(client, tables, async () => 8).records('n-1');
  expect(items.map(({ retry_attempt }) => retry_attempt)).toEqual([0, 1, 2, 3]);
  expect({ read_units, consistent }).toEqual({ read_units: 3, consistent: [true, true, true] });
});
