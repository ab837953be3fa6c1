import {
  type AttributeValue,
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
  GetItemCommand,
} from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BATCHES } from '../../../functions/shared/runtime/clients/dynamodb.ts';
import { withDirectCalls } from '../../../src/adapters/direct-calls/direct-calls.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { type Loopback, type Received, replying, startLoopback } from '../../support/loopback.ts';

const json = { 'content-type': 'application/x-amz-json-1.0' };
const KEYS = { accessKeyId: 'AKID', secretAccessKey: 'secret' };
const GET = new BatchGetItemCommand({ RequestItems: { t: { Keys: [{ log_id: { S: 'NL-1' } }] } } });
const FOUND = '{"Responses":{"t":[{"log_id":{"S":"NL-1"}}]},"UnprocessedKeys":{}}';

let server: Loopback;
const clients: DynamoDBClient[] = [];
beforeEach(async () => {
  server = await startLoopback();
  server.answer = replying(200, FOUND, json);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await server.close();
});

function sdkClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  const client = new DynamoDBClient({ endpoint: server.url, region: 'eu-west-1', credentials: KEYS, ...config });
  clients.push(client);
  return client;
}

/** A client that knows its route, and has nothing received yet. */
async function directClient(config?: DynamoDBClientConfig): Promise<DynamoDBClient> {
  const client = withDirectCalls(sdkClient(config), BATCHES);
  await client.send(GET);
  server.received.splice(0);
  return client;
}

const bySdk = ({ headers }: Received) => headers['amz-sdk-invocation-id'] !== undefined;

describe('a direct call', () => {
  it('follows a call of the SDK, and reaches the same service in the same way', async () => {
    const client = withDirectCalls(sdkClient(), BATCHES);
    expect(await client.send(GET)).toMatchObject(JSON.parse(FOUND));
    expect(await client.send(GET)).toMatchObject(JSON.parse(FOUND));
    expect(server.received.map(bySdk)).toEqual([true, false]);
    const [first, second] = server.received;
    for (const name of ['host', 'x-amz-target', 'content-type', 'content-length']) {
      expect(second?.headers[name]).toBe(first?.headers[name]);
    }
    expect(second).toMatchObject({ method: 'POST', path: '/', body: first?.body });
  });

  it('is made for batches alone, without options', async () => {
    const client = await directClient();
    await client.send(new GetItemCommand({ TableName: 't', Key: { log_id: { S: 'NL-1' } } }));
    await client.send(GET, { requestTimeout: 10_000 });
    await client.send(new BatchWriteItemCommand({ RequestItems: {} }));
    await client.send(new BatchExecuteStatementCommand({ Statements: [] }));
    expect(server.received.map(bySdk)).toEqual([true, true, false, false]);
  });

  it('is none where a callback waits for the answer', async () => {
    const client = await directClient();
    expect(await new Promise((resolve) => client.send(GET, (_, answer) => resolve(answer)))).toMatchObject(
      JSON.parse(FOUND),
    );
    expect(server.received.map(bySdk)).toEqual([true]);
  });

  it('ends with its signal', async () => {
    const client = await directClient();
    server.answer = () => {};
    await expect(client.send(GET, { abortSignal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(server.received.map(bySdk)).toEqual([false]);
  });

  it('is signed with the credentials of its moment, by the clock of the service', async () => {
    let credentials = { ...KEYS, sessionToken: 'first' };
    const client = await directClient({ credentials: async () => ({ ...credentials, expiration: new Date(0) }) });
    credentials = { ...KEYS, accessKeyId: 'AKID2', sessionToken: 'second' };
    client.config.systemClockOffset = 3_600_000;
    await client.send(GET);
    expect(server.received.map(bySdk)).toEqual([false]);
    const { headers } = server.received[0] as Received;
    expect(headers).toMatchObject({ 'x-amz-security-token': 'second' });
    expect(headers.authorization).toContain('Credential=AKID2/');
    const [, hour] = /T(\d\d)/.exec(String(headers['x-amz-date'])) ?? [];
    expect(new Date(Date.now() + 3_600_000).toISOString()).toContain(`T${hour}`);
  });
});

describe('a direct call that does not succeed', () => {
  const ok = replying(200, FOUND, json);
  const fault = (type: string, status = 400) => replying(status, JSON.stringify({ __type: type, message: 'no' }), json);
  it.each([
    ['throttled', fault('com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException')],
    ['answered with 500', fault('InternalServerError', 500)],
    ['refused for its signature', fault('com.amazon.coral.service#InvalidSignatureException', 403)],
    ['answered with what is no JSON', replying(200, '<html>', json)],
    ['cut off', ((response) => response.socket?.destroy()) as Loopback['answer']],
    [
      'cut off in its answer',
      ((response) => {
        response.writeHead(200, { ...json, 'content-length': '1000' });
        response.write('{"Responses":', () => response.destroy());
      }) as Loopback['answer'],
    ],
  ])('because it is %s is made again by the SDK', async (_, answer) => {
    const client = await directClient();
    server.answer = (response, request) => (server.received.length === 1 ? answer : ok)(response, request);
    expect(await client.send(GET)).toMatchObject(JSON.parse(FOUND));
    expect(server.received.map(bySdk)).toEqual([false, true]);
  });

  it("ends with the SDK's error, after the SDK's tries", async () => {
    const client = await directClient({ maxAttempts: 2 });
    server.answer = fault('ProvisionedThroughputExceededException');
    await expect(client.send(GET)).rejects.toMatchObject({ name: 'ProvisionedThroughputExceededException' });
    expect(server.received.map(bySdk)).toEqual([false, true, true]);
  });
});

describe('what is sent and received', () => {
  const bytes = fc.uint8Array({ maxLength: 5 });
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 5 }),
    fc.constantFrom('B', 'BS', '__proto__', '"\\'),
  );
  const name = fc.oneof(fc.string({ minLength: 1, maxLength: 4 }), fc.constantFrom('B', 'BS', 'S', 'Item')).filter(
    // The SDK cannot send it.
    (one) => one !== '__proto__',
  );
  const { value } = fc.letrec<{ value: AttributeValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.record({ S: text }),
      fc.record({ B: bytes }),
      fc.record({ BS: fc.array(bytes, { minLength: 1, maxLength: 2 }) }),
      fc.record({ SS: fc.array(text, { minLength: 1, maxLength: 2 }) }),
      fc.record({ N: fc.integer().map(String) }),
      fc.record({ BOOL: fc.boolean() }),
      fc.record({ NULL: fc.constant(true as const) }),
      fc.record({ L: fc.array(tie('value'), { maxLength: 2 }) }),
      fc.record({ M: fc.dictionary(name, tie('value'), { maxKeys: 2 }) }),
    ) as fc.Arbitrary<AttributeValue>,
  }));
  const item = fc.dictionary(name, value, { maxKeys: 3 });

  it('is the same as by the SDK', async () => {
    const [direct, sdk] = [await directClient(), sdkClient()];
    let binary = 0;
    await fc.assert(
      fc.asyncProperty(item, async (Item) => {
        const command = new BatchWriteItemCommand({ RequestItems: { t: [{ PutRequest: { Item } }] } });
        server.received.splice(0);
        server.answer = replying(200, '{}', json);
        await sdk.send(command);
        const sent = JSON.parse(server.received[0]?.body ?? '') as { RequestItems: { t: [{ PutRequest: unknown }] } };
        const { Item: encoded } = sent.RequestItems.t[0].PutRequest as { Item: object };
        const body = JSON.stringify({
          Responses: [
            { TableName: 't', Item: encoded },
            { Error: { Code: 'ConditionalCheckFailed', Item: encoded } },
            { Item: null },
          ],
        });
        server.answer = replying(200, body, json);
        await direct.send(command);
        expect(server.received.map(bySdk)).toEqual([true, false]);
        expect(JSON.parse(server.received[1]?.body ?? '')).toEqual(sent);
        if (JSON.stringify(encoded).includes('"B"')) binary += 1;

        const read = new BatchExecuteStatementCommand({ Statements: [] });
        const { $metadata: _, ...answer } = await direct.send(read);
        const { $metadata: __, ...expected } = await sdk.send(read);
        expect(plain(answer)).toEqual(plain(expected));
      }),
      { numRuns: Number(process.env['FAULT_RUNS'] ?? 200) },
    );
    expect(binary).toBeGreaterThan(0);
  }, 60_000);

  /** Bytes are the same whether they are a Buffer or not. */
  function plain(answer: unknown): unknown {
    return JSON.parse(
      JSON.stringify(answer, (_, one) =>
        one instanceof Uint8Array || one?.type === 'Buffer' ? { bytes: [...(one.data ?? one)] } : one,
      ),
    );
  }
});
