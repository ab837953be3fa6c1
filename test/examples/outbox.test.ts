import { CreateTableCommand, GetItemCommand, ScanCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toForeignRow, toItem } from '../../src/adapters/dynamodb/table/item.ts';
import { planIndex } from '../../src/core/indexing/index-plan.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/core/model/retry-policy.ts';
import { writerPolicy } from '../../tools/smoke/writer.ts';
import { availableEngines, startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { T0 } from '../support/rows.ts';

/** examples/outcomes/README.md: the order and its notification, both or none. */
const both = (order: object, row: object) =>
  new TransactWriteItemsCommand({
    TransactItems: [
      { Put: { TableName: 'orders', Item: toItem(order) } },
      { Put: { TableName: 'log', Item: toItem(row), ConditionExpression: 'attribute_not_exists(log_id)' } },
    ],
  });
const row = {
  log_id: 'order-7-ready',
  tenant_id: 'TENANT001',
  notification_type: 'WEBHOOK',
  recipient_address: 'https://a.example/hook',
  message_body: 'It is ready.',
  send_status: 'PENDING',
};

describe.skipIf(availableEngines().length === 0)('an outbox in one transaction', () => {
  let dynamodb: TestDynamoDb;
  beforeAll(async () => {
    dynamodb = await startTestDynamoDb();
    for (const [TableName, key] of [['orders', 'order_id'] as const, ['log', 'log_id'] as const]) {
      const AttributeDefinitions = [{ AttributeName: key, AttributeType: 'S' as const }];
      const KeySchema = [{ AttributeName: key, KeyType: 'HASH' as const }];
      await dynamodb.client.send(
        new CreateTableCommand({ TableName, AttributeDefinitions, KeySchema, BillingMode: 'PAY_PER_REQUEST' }),
      );
    }
  });
  afterAll(() => dynamodb?.stop());

  it('writes the order and a row that the pipeline takes in, with the rights of writers', async () => {
    await dynamodb.client.send(both({ order_id: '7', state: 'ready' }, row));
    const { Item = {} } = await dynamodb.client.send(
      new GetItemCommand({ TableName: 'log', Key: { log_id: { S: row.log_id } } }),
    );
    expect(planIndex(toForeignRow(Item), T0, DEFAULT_RETRY_POLICY)).toMatchObject({ do: 'index' });
    const allowed = writerPolicy().Condition['ForAllValues:StringEquals']['dynamodb:Attributes'];
    expect(Object.keys(row).filter((column) => !allowed.includes(column))).toEqual([]);
  });

  it('changes neither when it is repeated', async () => {
    const repeated = dynamodb.client.send(both({ order_id: '7', state: 'changed' }, { ...row, message_body: 'again' }));
    await expect(repeated).rejects.toMatchObject({ name: 'TransactionCanceledException' });
    const { Items = [] } = await dynamodb.client.send(new ScanCommand({ TableName: 'orders' }));
    expect(Items.map(toForeignRow)).toEqual([{ order_id: '7', state: 'ready' }]);
  });
});
