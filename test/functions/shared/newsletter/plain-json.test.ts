import {
  type AttributeValue,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { SESv2Client, SendBulkEmailCommand } from '@aws-sdk/client-sesv2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { plainJson } from '../../../../functions/shared/newsletter/ses-access.ts';
import { type Loopback, replying, startLoopback } from '../../../support/loopback.ts';

const BYTES = new Uint8Array([0, 255, 7]);
const ITEM: Record<string, AttributeValue> = {
  id: { S: 'a "quoted" \\ text, 日本語, \u2028' },
  n: { N: '12345678901234567890.5' },
  map: { M: { list: { L: [{ BOOL: false }, { NULL: true }, { SS: ['x'] }] } } },
};
const BINARY_ITEM: Record<string, AttributeValue> = {
  ...ITEM,
  B: { B: BYTES },
  set: { M: { inner: { BS: [BYTES] } } },
};
const TableName = 'table';

let server: Loopback;
beforeEach(async () => {
  server = await startLoopback();
});
afterEach(() => server.close());

const options = () => ({
  endpoint: server.url,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  maxAttempts: 1,
});
const OPERATIONS = ['GetItem', 'Query', 'UpdateItem', 'PutItem', 'BatchGetItem', 'BatchWriteItem', 'SendBulkEmail'];
const DYNAMODB = [() => new DynamoDBClient(options()), () => plainJson(new DynamoDBClient(options()), OPERATIONS)];
const SES = [() => new SESv2Client(options()), () => plainJson(new SESv2Client(options()), OPERATIONS)];

/** What each of the two clients sends and gets. */
async function both(clients: readonly (() => object)[], command: object, status: number, answer: string) {
  server.answer = replying(status, answer, { 'content-type': 'application/json', 'x-amzn-requestid': 'request-1' });
  const seen: { sent: { path: string | undefined; type: unknown; target: unknown; body: object }; output: unknown }[] =
    [];
  for (const create of clients) {
    const client = create() as { send(command: object): Promise<object> };
    const output = await client.send(command).catch((error: unknown) => error);
    const { body = '', path, headers } = server.received.at(-1) ?? {};
    const { 'content-type': type, 'x-amz-target': target } = headers ?? {};
    seen.push({ sent: { path, type, target, body: JSON.parse(body) }, output });
  }
  return seen;
}

describe('a client that writes and reads plain JSON', () => {
  it.each([
    ['GetItem', new GetItemCommand({ TableName, Key: { id: { S: 'a' } } }), { Item: ITEM }],
    ['GetItem of nothing', new GetItemCommand({ TableName, Key: { id: { S: 'a' } } }), {}],
    [
      'GetItem of binary values',
      new GetItemCommand({ TableName, Key: { id: { S: 'a' } } }),
      { Item: { b: { B: 'AP8H' }, set: { BS: ['AP8H'] } } },
    ],
    ['PutItem of binary values', new PutItemCommand({ TableName, Item: BINARY_ITEM }), {}],
    [
      'Query',
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'a = :a',
        ExpressionAttributeValues: { ':a': { N: '1' } },
      }),
      { Items: [ITEM, ITEM], Count: 2, ScannedCount: 2, LastEvaluatedKey: { id: { S: 'a' } } },
    ],
    [
      'UpdateItem with undefined parts',
      new UpdateItemCommand({
        TableName,
        Key: { id: { S: 'a' } },
        UpdateExpression: undefined,
        ReturnValues: 'ALL_NEW',
      }),
      { Attributes: ITEM, ConsumedCapacity: { TableName, CapacityUnits: 1.5 } },
    ],
    [
      'BatchGetItem',
      new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: [{ id: { S: 'a' } }], ConsistentRead: true } } }),
      { Responses: { [TableName]: [ITEM] }, UnprocessedKeys: {} },
    ],
    [
      'BatchWriteItem',
      new BatchWriteItemCommand({ RequestItems: { [TableName]: [{ PutRequest: { Item: ITEM } }] } }),
      { UnprocessedItems: { [TableName]: [{ PutRequest: { Item: ITEM } }] } },
    ],
  ])('sends and gets what the SDK does: %s', async (_, command, answer) => {
    const [sdk, plain] = await both(DYNAMODB, command, 200, JSON.stringify(answer));
    expect(plain?.sent).toEqual(sdk?.sent);
    expect(plain?.output).toMatchObject({ $metadata: { httpStatusCode: 200, requestId: 'request-1' } });
    expect({ ...(plain?.output as object), $metadata: 0 }).toEqual({ ...(sdk?.output as object), $metadata: 0 });
  });

  it('sends a bulk mail as the SDK does', async () => {
    const command = new SendBulkEmailCommand({
      FromEmailAddress: 'News <news@example.com>',
      ReplyToAddresses: undefined,
      DefaultContent: {
        Template: { TemplateContent: { Subject: '件名', Html: '<p>"B":', Text: 't' }, TemplateData: '{}' },
      },
      BulkEmailEntries: [
        { Destination: { ToAddresses: ['a@example.com'] }, ReplacementTags: [{ Name: 'n', Value: '0' }] },
      ],
    });
    const answer = {
      BulkEmailEntryResults: [
        { Status: 'SUCCESS', MessageId: 'm' },
        { Status: 'FAILED', Error: 'no' },
      ],
    };
    const [sdk, plain] = await both(SES, command, 200, JSON.stringify(answer));
    expect(plain?.sent).toEqual(sdk?.sent);
    expect(plain?.output).toMatchObject(answer);
  });

  it('throws what the SDK throws', async () => {
    const error = {
      __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
      message: 'no',
      Item: ITEM,
    };
    const command = new UpdateItemCommand({ TableName, Key: { id: { S: 'a' } } });
    for (const { output } of await both(DYNAMODB, command, 400, JSON.stringify(error))) {
      expect(output).toBeInstanceOf(ConditionalCheckFailedException);
      expect(output).toMatchObject({ Item: ITEM, $metadata: { httpStatusCode: 400 } });
    }
  });

  it('leaves other operations to the SDK, which adds an idempotency token', async () => {
    const command = new TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName, Item: ITEM } }] });
    for (const { sent } of await both(DYNAMODB, command, 200, '{}')) {
      expect(sent.body).toMatchObject({ ClientRequestToken: expect.any(String) });
    }
  });

  it('fails for an answer that is no JSON', async () => {
    const command = new GetItemCommand({ TableName, Key: { id: { S: 'a' } } });
    for (const { output } of await both(DYNAMODB, command, 200, '{"Item":{"id"'))
      expect(output).toBeInstanceOf(SyntaxError);
  });
});
