import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DynamoDBClient,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Meter, startMeter, totalRequests } from '../../tools/bench/setup/meter.ts';
import { SERVICES_NOWHERE } from '../../tools/bench/setup/world.ts';
import { startTestDynamoDb, type TestDynamoDb } from '../support/dynamodb.ts';
import { itemSize } from '../support/item-size.ts';
import { createTables, type TableNames } from '../support/tables.ts';

const settings = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
const meters: (() => Promise<void>)[] = [];
const until = (_: string, stop: () => Promise<void>) => void meters.push(stop);
const stopMeters = () => Promise.all(meters.splice(0).map((stop) => stop()));
const due = (log_id: string, body = '') => ({
  log_id: { S: log_id },
  work_queue: { S: 'due#normal#1' },
  work_at: { S: '2026-03-01T10:30:00.000Z' },
  send_status: { S: 'FAILED' },
  ...(body !== '' && { message_body: { S: body } }),
});

describe('the meter in front of DynamoDB', () => {
  let db: TestDynamoDb;
  let meter: Meter;
  let client: DynamoDBClient;
  let tables: TableNames;

  beforeAll(async () => {
    db = await startTestDynamoDb();
    tables = await createTables(db.client, 'meter');
    meter = await startMeter({ services: { ...SERVICES_NOWHERE, dynamodb: db.endpoint }, until }, 'dynamodb');
    client = new DynamoDBClient({ ...settings, endpoint: meter.url });
  });
  afterAll(async () => {
    client.destroy();
    await stopMeters();
    await db.stop();
  });

  it('adds up the cost of batches of puts, per table and index', async () => {
    const puts = [due('a'), due('b', 'x'.repeat(1500))].map((Item) => ({ PutRequest: { Item } }));
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tables.notification_log]: puts } }));
    expect(meter.read()).toEqual({
      requests: { BatchWriteItem: 1 },
      write_units: 5,
      read_units: 0,
      written: { [tables.notification_log]: 3, work_index: 2 },
    });
  });

  it('counts PartiQL updates as writes, including the index that a row leaves', async () => {
    const Statement = `UPDATE "${tables.notification_log}" SET send_status='SUCCESS' REMOVE work_queue WHERE log_id='a'`;
    await client.send(new BatchExecuteStatementCommand({ Statements: [{ Statement }] }));
    expect(meter.read()).toMatchObject({ write_units: 2, read_units: 0, written: { work_index: 1 } });
  });

  it('counts queries and gets as reads', async () => {
    await client.send(
      new QueryCommand({
        TableName: tables.notification_log,
        IndexName: 'work_index',
        KeyConditionExpression: 'work_queue = :q',
        ExpressionAttributeValues: { ':q': { S: 'due#normal#7' } },
      }),
    );
    const Keys = [{ log_id: { S: 'a' } }, { log_id: { S: 'b' } }];
    await client.send(new BatchGetItemCommand({ RequestItems: { [tables.notification_log]: { Keys } } }));
    expect(meter.read()).toMatchObject({ write_units: 0, read_units: 1.5 });
  });

  it('starts at zero after each reading, and passes answers on unchanged', async () => {
    expect(meter.read()).toEqual({ requests: {}, write_units: 0, read_units: 0, written: {} });
    const Keys = [{ log_id: { S: 'b' } }];
    const { Responses } = await client.send(
      new BatchGetItemCommand({ RequestItems: { [tables.notification_log]: { Keys } } }),
    );
    expect(Responses?.[tables.notification_log]).toEqual([due('b', 'x'.repeat(1500))]);
  });
});

describe('the meter in front of SQS', () => {
  let server: FauxqsServer;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server.stop());

  it('counts requests by operation', async () => {
    const meter = await startMeter({ services: { ...SERVICES_NOWHERE, sqs: server.address }, until }, 'sqs');
    const client = new SQSClient({ ...settings, endpoint: meter.url, useQueueUrlAsEndpoint: false });
    server.createQueue('lane');
    const QueueUrl = `${meter.url}/000000000000/lane`;
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: '1' }));
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: '2' }));
    const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
    expect(Attributes?.['ApproximateNumberOfMessages']).toBe('2');
    const reading = meter.read();
    expect(reading.requests).toEqual({ SendMessage: 2, GetQueueAttributes: 1 });
    expect(totalRequests(reading)).toBe(3);
    client.destroy();
    await stopMeters();
  });
});

it.each([
  { item: { a: { S: 'xyz' } }, bytes: 4 },
  { item: { a: { S: '通知' } }, bytes: 7 },
  { item: { n: { N: '1' } }, bytes: 3 },
  { item: { expires_at: { N: '1858326836' } }, bytes: 16 },
  { item: { a: { NULL: true }, b: { BOOL: false } }, bytes: 4 },
  { item: { b: { B: new Uint8Array(5) } }, bytes: 6 },
])('the size of an item $item is $bytes bytes', ({ item, bytes }) => {
  expect(itemSize(item as unknown as Parameters<typeof itemSize>[0])).toBe(bytes);
});
